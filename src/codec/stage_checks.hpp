// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/codec/stage.hpp>

#include <cstddef>

namespace offramp {

/// What every stage's encode owes its caller to check, before its loop: a sound view, room in `out`
/// and `scratch`, workers. @throws LogicError.
void check_encode(const StageRow& row, const EncodeArgs& args);

/// The same for decode. @throws LogicError where the range or the scratch, which the caller chose,
/// is wrong; returns an error where the description, which came with the bytes, is.
Result<void> check_decode(const StageRow& row, const DecodeArgs& args);

/// Refuses parameters for a stage that has none.
Result<void> check_no_params(const StageRow& row, std::span<const std::byte> params);

}  // namespace offramp
