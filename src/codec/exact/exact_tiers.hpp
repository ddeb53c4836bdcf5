// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/exact/exact_kernels.hpp"
#include "codec/exact/exact_workspace.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace offramp::exact {

/// Codes a plane of n values: tier 1 to `tier1` (ceil(n / 4) bytes), the rest to `heap`
/// (`max_heap_size`); `starts[p]` for p > 0 is where a piece begins there, in units of 4 bytes.
/// Returns the heap's size, a multiple of 4.
std::size_t encode_tiers(const Kernels& kernels, const std::uint8_t* plane, std::size_t n,
                         const BaseCycle& bases, std::uint16_t* starts, std::uint8_t* tier1,
                         std::uint8_t* heap, const Workspace& work);

/// Restores such a plane piece by piece. `tier1` has ceil(n / 4) bytes; `starts` and `heap` are
/// untrusted. Holds all of them by reference.
class TierDecoder {
 public:
  TierDecoder(const Kernels& kernels, std::size_t n, const BaseCycle& bases,
              const std::uint8_t* starts, const std::uint8_t* tier1,
              std::span<const std::uint8_t> heap, const Workspace& work) noexcept
      : kernels_(kernels),
        n_(n),
        bases_(bases),
        starts_(starts),
        tier1_(tier1),
        heap_(heap),
        work_(work) {}

  /// Restores the piece that begins with value `first`, the next one, to scratch `piece`. False
  /// where starts and heap do not fit what the codes say.
  bool decode_piece(std::size_t first, std::uint8_t* piece);

  /// Whether the heap was used up, and nothing but its padding is left.
  [[nodiscard]] bool is_finished() const noexcept;

 private:
  const Kernels& kernels_;
  std::size_t n_;
  const BaseCycle& bases_;
  const std::uint8_t* starts_;
  const std::uint8_t* tier1_;
  std::span<const std::uint8_t> heap_;
  const Workspace& work_;
  std::size_t at_{};  // in the heap
};

}  // namespace offramp::exact
