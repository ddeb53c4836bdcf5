// SPDX-License-Identifier: Apache-2.0
// A whole .npy file of untrusted bytes: refused, or understood so that its header, written as NumPy
// would and read again, says the same.
#include "transport/npy/npy_header.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace offramp;

void expect(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  const auto header = parse_npy_header(file.first(std::min(size, max_npy_header_size)), size);
  if (!header) {
    expect(!header.error().what.empty());
    return 0;
  }
  expect(header->data + header->desc.size() == size);
  const std::string front = make_npy_header(header->desc);
  const std::uint64_t written_size = front.size() + header->desc.size();
  std::vector<std::byte> written(std::min<std::uint64_t>(written_size, max_npy_header_size));
  std::ranges::copy(std::as_bytes(std::span(front)), written.begin());
  const auto again = parse_npy_header(written, written_size);
  expect(again.has_value() && again->desc == header->desc && again->data == front.size());
  return 0;
}
