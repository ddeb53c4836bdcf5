// SPDX-License-Identifier: Apache-2.0
#include <offramp/core/error.hpp>
#include <offramp/transport/frame_sink.hpp>

namespace offramp {

void FrameSink::encode(std::span<const std::byte>, std::vector<std::byte>&) const {
  throw LogicError("this sink takes frames as they are: codes_alone() is false");
}

}  // namespace offramp
