// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/result.hpp>
#include <offramp/transport/tensor_source.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace offramp {

/// The file in a folder that lists its tensors. Any JSON reader understands it.
inline constexpr std::string_view manifest_file = "offramp.json";

struct ManifestEntry {
  TensorInfo tensor{};
  std::string file{};  ///< a plain name, ending in .npy or .safetensors
};

struct Manifest {
  std::vector<ManifestEntry> entries{};
  Metadata metadata{};
};

/// Reads what `make_manifest` writes; refuses file names that lead out of the folder.
Result<Manifest> parse_manifest(std::span<const std::byte> bytes);

[[nodiscard]] std::string make_manifest(const Manifest& manifest);

}  // namespace offramp
