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

/// Restores it to a scratch plane. `tier1` has ceil(n / 4) bytes; `starts` and `heap` are
/// untrusted, and false is returned where they do not fit what the codes say.
bool decode_tiers(const Kernels& kernels, std::size_t n, const BaseCycle& bases,
                  const std::uint8_t* starts, const std::uint8_t* tier1,
                  std::span<const std::uint8_t> heap, std::uint8_t* plane, const Workspace& work);

}  // namespace offramp::exact
