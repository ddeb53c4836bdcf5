// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/stream.hpp>

#include <cstdint>

namespace bench {

/// Kernels on every multiprocessor of the stream's GPU, without a gap between them, that take `ns`
/// in all.
void spin_async(offramp::StreamRef stream, std::uint64_t ns);

}  // namespace bench
