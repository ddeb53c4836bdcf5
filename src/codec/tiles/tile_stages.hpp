// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/codec/stage.hpp>

namespace offramp {

/// The rows of the stages made of tiles: `exact` (../exact/spec.md) and `exact-dense`
/// (../exact_dense/spec.md), in the frame of spec.md.
StageRow exact_stage() noexcept;
StageRow exact_dense_stage() noexcept;

}  // namespace offramp
