// SPDX-License-Identifier: Apache-2.0
#include "golden/golden_cases.hpp"

#include "core/bytes.hpp"
#include "core/hash.hpp"
#include "golden/golden_codecs.hpp"
#include "unit/container/sample_archive.hpp"

#include <offramp/codec/codec.hpp>
#include <offramp/container/archive_writer.hpp>
#include <offramp/container/verify_archive.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace offramp::test {
namespace {

template <class Body>
Bytes archive(Body&& body) {
  Bytes bytes;
  ArchiveWriter writer(std::make_unique<MemoryByteSink>(bytes),
                       ArchiveWriter::Settings{.version = 1});
  body(writer);
  writer.finish();
  return bytes;
}

Bytes every_dtype() {
  return archive([](ArchiveWriter& writer) {
    for (std::uint8_t id = min_dtype; id <= max_dtype; ++id) {
      const TensorDesc desc{*dtype_from_id(id), Shape{2, 3}};
      append_noise(writer, std::string(name_of(desc.dtype)), desc, 0, desc.shape);
    }
  });
}

Bytes odd_names() {
  return archive([](ArchiveWriter& writer) {
    const TensorDesc desc{DType::u8, Shape{3}};
    for (const char* name :
         {"", "/etc/passwd", "../up", "line\nbreak", "snow ☃", "a", "a.b", "a."}) {
      append_noise(writer, name, desc, 0, desc.shape);
    }
  });
}

Bytes many_parts() {
  return archive([](ArchiveWriter& writer) {
    const TensorDesc desc{DType::bf16, Shape{3, 1, 16, 8}};
    append_noise(writer, "deep", desc, 256, Shape{16, 8});
    append_noise(writer, "deep", desc, 0, Shape{2, 1, 16, 8});
    const TensorDesc rank16{DType::u8, Shape{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2}};
    append_noise(writer, "rank16", rank16, 0, rank16.shape);
    writer.append_metadata({{"late", "after the parts"}});
  });
}

Bytes prefix(const Bytes& bytes, std::size_t size) {
  return Bytes(bytes.begin(), bytes.begin() + static_cast<long>(size));
}

Bytes flipped(Bytes bytes, std::size_t at) {
  bytes[at] ^= std::byte{0x20};
  return bytes;
}

// A field of the record at `record` set to a value, under a checksum that matches; no index.
template <class T>
Bytes lying(const SampleArchive& sample, std::size_t record, std::size_t field, T value) {
  Bytes bytes = prefix(sample.bytes, sample.parts.back().end);
  store(bytes.data() + record + field, value);
  mend_header(bytes, record);
  return bytes;
}

}  // namespace

std::vector<GoldenCase> golden_cases() {
  const SampleArchive sample = make_sample();
  const Bytes& good = sample.bytes;
  const std::size_t size = good.size();
  const std::size_t matrix = sample.parts[0].end;  // its first record
  const std::size_t second = sample.parts[1].end;  // and the one after
  Bytes newer = good;
  store(newer.data() + 8, std::uint32_t{99});
  // The second part of the matrix said to start inside the first.
  Bytes overlap = lying(sample, second, 56, std::uint64_t{8});
  // A name byte that is not UTF-8: the matrix' second record has two axes, one of its own, then it.
  Bytes bad_name = lying(sample, second, 76 + 3 * 8, std::uint8_t{0xff});

  std::vector<GoldenCase> cases;
  cases.push_back({"store.ofr", good});
  cases.push_back({"empty.ofr", archive([](ArchiveWriter&) {})});
  cases.push_back({"every_dtype.ofr", every_dtype()});
  cases.push_back({"odd_names.ofr", odd_names()});
  cases.push_back({"many_parts.ofr", many_parts()});
  cases.push_back({"no_footer.ofr", prefix(good, size - 32)});
  cases.push_back({"no_index.ofr", prefix(good, sample.parts.back().end)});
  cases.push_back({"cut_in_payload.ofr", prefix(good, second - 1)});
  cases.push_back({"cut_in_header.ofr", prefix(good, matrix + 50)});
  cases.push_back({"flip_in_payload.ofr", flipped(good, second - 1)});
  cases.push_back({"flip_in_record_header.ofr", flipped(good, matrix + 60)});
  cases.push_back({"flip_in_index.ofr", flipped(good, size - 40)});
  cases.push_back({"flip_in_footer.ofr", flipped(good, size - 20)});
  cases.push_back({"cut_in_file_header.ofr", prefix(good, 12)});
  cases.push_back({"other_magic.ofr", flipped(good, 1)});
  cases.push_back({"newer_version.ofr", newer});
  cases.push_back({"reserved_bytes.ofr", flipped(good, 13)});
  cases.push_back({"overlapping_parts.ofr", overlap});
  cases.push_back({"other_dtype.ofr", lying(sample, second, 64, std::uint8_t{2})});
  cases.push_back({"unknown_dtype.ofr", lying(sample, second, 64, std::uint8_t{77})});
  cases.push_back({"name_not_utf8.ofr", bad_name});
  cases.push_back({"huge_extent.ofr", lying(sample, matrix, 76, std::uint64_t{1} << 63)});
  cases.push_back({"wrong_raw_size.ofr", lying(sample, matrix, 48, std::uint64_t{1} << 62)});
  for (const std::string codec : {"exact", "exact-dense"}) {
    cases.push_back({codec + ".ofr", codec_archive(codec)});
    cases.push_back({codec + "_undecodable.ofr", undecodable_archive(codec)});
  }
  return cases;
}

std::string golden_verdict(const Result<ArchiveReader>& reader) {
  if (!reader) return fmt::format("refused {}", name_of(reader.error().code));
  Bytes content;
  const auto add = [&](std::string_view text) {
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    content.insert(content.end(), bytes, bytes + text.size());
    content.push_back({});
  };
  if (const auto metadata = reader->metadata()) {
    for (const auto& [key, value] : *metadata) add(key), add(value);
  } else {
    add(name_of(metadata.error().code));
  }
  Workers workers(1);
  std::string_view undecodable;
  for (const ArchiveTensor& tensor : reader->tensors()) {
    add(tensor.name);
    add(name_of(tensor.desc.dtype));
    add(tensor.desc.shape.to_string());
    for (const ArchivePart& part : tensor.parts) {
      add(std::to_string(part.first_elem));
      Bytes payload(part.payload_size);
      const auto read = reader->read_payload(tensor, part, payload);
      const auto codec = Codec::parse(reader->chain(part));
      if (!read || !codec) {
        add(name_of(read ? codec.error().code : read.error().code));
        continue;
      }
      const TensorDesc desc{tensor.desc.dtype, part.shape};
      Bytes raw(part.raw_size);
      Bytes scratch(codec->decode_scratch_size(desc, workers.size()));
      const auto decoded = codec->decode(payload, desc, 0, raw, scratch, workers);
      if (!decoded) {
        undecodable = name_of(decoded.error().code);
        add(undecodable);
        continue;
      }
      content.insert(content.end(), raw.begin(), raw.end());
    }
  }
  const std::uint64_t hash = xxh3_64(content);
  const auto report = verify_archive(*reader);
  if (!undecodable.empty()) return fmt::format("undecodable {} {:016x}", undecodable, hash);
  if (report.sound()) return fmt::format("sound {:016x}", hash);
  return fmt::format("damaged {} {:016x}", name_of(report.errors.front().code), hash);
}

}  // namespace offramp::test
