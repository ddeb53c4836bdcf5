// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/exact_dense/dense_kernels.hpp"

namespace offramp::exact_dense {

/// spec.md, What the encoder chooses: Sample to Form. Plain loops, compiled once for each
/// instruction set.
void choose_plan(const std::uint16_t* words, TileExtent extent, TilePlan& plan);

}  // namespace offramp::exact_dense
