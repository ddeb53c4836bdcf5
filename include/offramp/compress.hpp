// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/result.hpp>
#include <offramp/core/tensor_view.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace offramp {

/// How to code one tensor in one call.
struct CompressOptions {
  std::string_view codec{"exact"};  ///< "store", "exact" or "exact-dense"
  std::size_t threads{0};           ///< 0: one for each processor this process may run on
};

/// How to restore one tensor in one call.
struct DecompressOptions {
  std::size_t threads{0};                           ///< as above
  std::uint64_t max_size{std::uint64_t{64} << 30};  ///< refuse tensors above: sizes are untrusted
};

/// A tensor and its bytes.
struct OwnedTensor {
  TensorDesc desc{};
  std::vector<std::byte> bytes{};
  [[nodiscard]] TensorView view() const noexcept { return {desc, bytes}; }
};

/// Codes one host tensor. What comes back is a whole archive (docs/format.md) of that one tensor,
/// so dtype, shape and checksums travel with the bytes, and a file made of them opens anywhere. The
/// bytes depend on the tensor and the codec alone, never on `threads`.
/// @throws LogicError if the view contradicts itself, DataError if the codec's name is unknown,
///         OutOfMemory.
[[nodiscard]] std::vector<std::byte> compress(TensorView tensor,
                                              const CompressOptions& options = {});

/// Restores the tensor of an archive that holds exactly one. The bytes are untrusted; what is wrong
/// with them comes back as an Error. @throws OutOfMemory.
[[nodiscard]] Result<OwnedTensor> decompress(std::span<const std::byte> archive,
                                             const DecompressOptions& options = {});

}  // namespace offramp
