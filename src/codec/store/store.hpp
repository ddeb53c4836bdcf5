// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/codec/stage.hpp>

namespace offramp {

/// The row of stage `store` (spec.md).
StageRow store_stage() noexcept;

}  // namespace offramp
