// SPDX-License-Identifier: Apache-2.0
#include "codec_stage_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const offramp::StageRow& row = *offramp::find_stage(offramp::StageId::exact);
  return offramp::fuzz::run_stage(row, std::as_bytes(std::span(data, size)));
}
