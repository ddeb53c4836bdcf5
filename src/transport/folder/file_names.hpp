// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/transport/tensor_source.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace offramp {

/// Longest file name without its extension that a tensor's name becomes.
inline constexpr std::size_t max_file_stem_size = 200;

/// A tensor's name as one that a file may have in any folder: letters, digits, '_', '-' and '.'
/// stay, all other bytes become %XX, and so does a '.' or '-' in front. The empty name becomes "%".
/// Different names become different stems.
[[nodiscard]] std::string escape_name(std::string_view name);

/// The name that `escape_name` made this stem of, or nothing where it made none so.
[[nodiscard]] std::optional<std::string> unescape_name(std::string_view stem);

/// One file name a tensor, unlike each other also where case does not count.
///
/// The extension is ".npy" where npy has the dtype, else ".safetensors". A stem that is too long or
/// taken is cut and gets "~" and a hash of the tensor's name.
/// @throws DataError where two names still meet.
[[nodiscard]] std::vector<std::string> file_names_of(std::span<const TensorInfo> tensors,
                                                     const std::string& folder);

}  // namespace offramp
