// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace offramp::test {

/// An archive coded by `codec` whose tensors bring out every tile mode and every dtype. Made with
/// integers alone, so that it is the same everywhere.
std::vector<std::byte> codec_archive(std::string_view codec);

/// The same with one byte of the first payload changed, under checksums that match: what only the
/// codec can refuse.
std::vector<std::byte> undecodable_archive(std::string_view codec);

}  // namespace offramp::test
