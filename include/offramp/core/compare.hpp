// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/dtype.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace offramp {

/// How far a restored tensor is from the original, gathered chunk by chunk.
///
/// Values are read as double (integers and booleans too; 64-bit integers lose low bits there, but
/// not in `bit_equal`). A pair in which either value is NaN or infinite enters no sum: `nonfinite`
/// counts those whose bits differ.
class Comparison {
 public:
  explicit Comparison(DType dtype) noexcept : dtype_(dtype) {}

  /// Adds equally many elements of both. @throws LogicError if the sizes differ or hold half an
  /// element.
  void add(std::span<const std::byte> reference, std::span<const std::byte> restored);

  [[nodiscard]] std::uint64_t elems() const noexcept { return elems_; }
  [[nodiscard]] bool bit_equal() const noexcept { return differing_ == 0; }
  /// Elements whose bits differ.
  [[nodiscard]] std::uint64_t differing() const noexcept { return differing_; }
  /// Differing elements of which one is NaN or infinite.
  [[nodiscard]] std::uint64_t nonfinite() const noexcept { return nonfinite_; }
  /// Largest |reference - restored|.
  [[nodiscard]] double max_error() const noexcept { return max_error_; }
  /// Sum of squared errors over the sum of squared reference values; 0 if equal, infinite if the
  /// reference is all zero and the other is not.
  [[nodiscard]] double nmse() const noexcept;
  /// -10 log10(nmse) in dB; infinite if equal.
  [[nodiscard]] double snr_db() const noexcept;
  /// Cosine of the angle between the two as vectors; 1 where both are zero, 0 where one is.
  [[nodiscard]] double cosine() const noexcept;

 private:
  template <class Read>
  void add_values(const std::byte* reference, const std::byte* restored, std::size_t elems,
                  std::size_t elem_size, Read read);

  DType dtype_;
  std::uint64_t elems_{};
  std::uint64_t differing_{};
  std::uint64_t nonfinite_{};
  double max_error_{};
  double squared_error_{};
  double squared_reference_{};
  double squared_restored_{};
  double product_{};
};

}  // namespace offramp
