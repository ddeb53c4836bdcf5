// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/container/archive_reader.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace offramp::test {

/// An archive that is kept, as today's writer makes it.
struct GoldenCase {
  std::string file{};
  std::vector<std::byte> bytes{};
};

/// All cases. To add one, add it in golden_cases.cpp and run make_golden.
std::vector<GoldenCase> golden_cases();

/// What a reader must say of an archive, on one line: "refused ERROR", or "sound HASH", "damaged
/// ERROR HASH" or "undecodable ERROR HASH" with a hash over metadata, names, dtypes, shapes and
/// decoded bytes of all that reads.
std::string golden_verdict(const Result<ArchiveReader>& reader);

}  // namespace offramp::test
