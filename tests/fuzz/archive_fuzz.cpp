// SPDX-License-Identifier: Apache-2.0
#include "container/layout.hpp"
#include "core/bytes.hpp"
#include "core/hash.hpp"

#include <offramp/container/recover_archive.hpp>
#include <offramp/container/verify_archive.hpp>

#include <cstdlib>
#include <memory>
#include <vector>

// Opens, lists, reads and recovers the input as it is, and again with all checksums made right, so
// that the fuzzer gets behind them.
namespace offramp {
namespace {

using Bytes = std::vector<std::byte>;

void expect(bool condition) {
  if (!condition) std::abort();
}

void use(const Bytes& bytes) {
  ReaderLimits limits;
  limits.max_memory = std::uint64_t{16} << 20;
  if (const auto reader = ArchiveReader::open(std::make_unique<MemoryAccess>(bytes), limits)) {
    Bytes payload;
    for (const auto& tensor : reader->tensors()) {
      expect(reader->find(tensor.name) == &tensor && !tensor.parts.empty());
      std::uint64_t next = 0;
      for (const auto& part : tensor.parts) {
        expect(part.first_elem >= next);
        next = part.first_elem + part.elems();
        expect(!reader->chain(part).empty());
        payload.resize(part.payload_size);
        (void)reader->read_payload(tensor, part, payload);
      }
      expect(next <= tensor.desc.shape.elems());
    }
    (void)reader->metadata();
    (void)verify_archive(*reader);
  }
  Bytes saved;
  ArchiveWriter writer(std::make_unique<MemoryByteSink>(saved));
  const auto report = recover_archive(MemoryAccess(bytes), writer);
  writer.finish();
  const auto reader = ArchiveReader::open(std::make_unique<MemoryAccess>(saved));
  expect(reader && reader->complete());
  // What was saved is sound, but for tensors that miss parts.
  if (report) expect(verify_archive(*reader).faults == report->incomplete.size());
}

void mend(Bytes& bytes) {
  if (bytes.size() < layout::file_header_size) return;
  store(bytes.data(), layout::file_magic);
  store(bytes.data() + 8, std::uint64_t{max_archive_version});
  std::uint64_t at = layout::file_header_size;
  std::uint64_t last = 0;
  while (bytes.size() - at >= layout::record_prefix_size) {
    std::byte* header = bytes.data() + at;
    const auto header_size = load<std::uint32_t>(header + 24);
    const std::uint64_t left = bytes.size() - at;
    if (header_size < layout::record_prefix_size || header_size > left) break;
    store(header, layout::record_magic);
    store(header + 16, at);
    const auto payload_size = load<std::uint64_t>(header + 32);
    const bool fits = payload_size <= left - header_size;
    if (fits) store(header + 40, xxh3_64({header + header_size, payload_size}));
    store(header + 8, xxh3_64({header + 16, header_size - 16}));
    if (!fits) break;
    last = at;
    at += header_size + payload_size;
  }
  if (bytes.size() - at == layout::footer_size) {
    std::byte* footer = bytes.data() + at;
    store(footer, last);
    store(footer + 8, std::uint64_t{bytes.size()});
    store(footer + 16, xxh3_64({footer, 16}));
    store(footer + 24, layout::footer_magic);
  }
}

}  // namespace
}  // namespace offramp

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* from = reinterpret_cast<const std::byte*>(data);
  offramp::Bytes bytes(from, from + size);
  offramp::use(bytes);
  offramp::mend(bytes);
  offramp::use(bytes);
  return 0;
}
