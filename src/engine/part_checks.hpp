// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/engine/part.hpp>

namespace offramp {

/// What every submit asks of a part. @throws LogicError where it contradicts itself.
void expect_sound(const TensorPart& what);

}  // namespace offramp
