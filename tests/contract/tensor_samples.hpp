// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/tensor_view.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace offramp::testing_samples {

/// What a sample tensor holds. Values are a function of dtype, shape, kind and seed.
enum class Kind { zeros, constant, noise, gaussian, channels, sparse, ramp, mixed };

inline constexpr std::array all_kinds{Kind::zeros,    Kind::constant, Kind::noise, Kind::gaussian,
                                      Kind::channels, Kind::sparse,   Kind::ramp,  Kind::mixed};

[[nodiscard]] std::string_view name_of(Kind kind) noexcept;

/// The bytes of a tensor of that kind:
/// `gaussian` N(0, 1); `channels` Gaussian with a scale for each position of the last axis;
/// `sparse` Gaussian, nine of ten values zero; `ramp` small integers (in float dtypes: their
/// values); `mixed` each 16,384 values of another kind; `noise` random bits.
[[nodiscard]] std::vector<std::byte> sample(const TensorDesc& desc, Kind kind, std::uint64_t seed);

/// All dtypes, by number.
[[nodiscard]] std::vector<DType> all_dtypes();

/// A tensor of one of the real captures in data/.
struct RealTensor {
  std::string name;
  TensorDesc desc;
  std::vector<std::byte> bytes;
};

/// Up to `limit` tensors of data/`file`.safetensors.
[[nodiscard]] std::vector<RealTensor> real_tensors(const std::string& file, std::size_t limit);

}  // namespace offramp::testing_samples
