// SPDX-License-Identifier: Apache-2.0
#include <offramp/container/byte_sink.hpp>

namespace offramp {

void MemoryByteSink::append(std::span<const std::span<const std::byte>> pieces) {
  for (const auto piece : pieces) bytes_->insert(bytes_->end(), piece.begin(), piece.end());
}

}  // namespace offramp
