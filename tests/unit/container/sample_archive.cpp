// SPDX-License-Identifier: Apache-2.0
#include "unit/container/sample_archive.hpp"

#include "core/bytes.hpp"
#include "core/hash.hpp"

#include <memory>

namespace offramp::test {

Bytes store_chain() {
  return {std::byte{1}, std::byte{1}, std::byte{0}, std::byte{0}, std::byte{0}};
}

Bytes noise(std::size_t size, std::uint32_t seed) {
  Bytes bytes(size);
  std::uint32_t state = seed * 2654435761u + 1;
  for (auto& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

WrittenPart append_noise(ArchiveWriter& writer, std::string name, const TensorDesc& tensor,
                         std::uint64_t first_elem, const Shape& part) {
  const auto seed = static_cast<std::uint32_t>(name.size() * 131 + first_elem + 7);
  WrittenPart written{std::move(name),
                      tensor,
                      first_elem,
                      part,
                      noise(TensorDesc{tensor.dtype, part}.size(), seed),
                      0};
  const Bytes chain = store_chain();
  writer.append({.name = written.name,
                 .tensor = tensor,
                 .first_elem = first_elem,
                 .part = part,
                 .chain = chain},
                written.payload);
  written.end = writer.size();
  return written;
}

SampleArchive make_sample() {
  SampleArchive sample;
  sample.metadata = {{"format", "pt"}, {"note", "snow ☃"}};
  ArchiveWriter writer(std::make_unique<MemoryByteSink>(sample.bytes));
  writer.append_metadata(sample.metadata);
  sample.metadata_end = writer.size();
  const TensorDesc bytes{DType::u8, Shape{5}};
  const TensorDesc matrix{DType::bf16, Shape{4, 3}};
  const TensorDesc empty{DType::fp32, Shape{0, 3}};
  const TensorDesc scalar{DType::fp64, Shape{}};
  sample.parts.push_back(append_noise(writer, "layers.0.bytes", bytes, 0, bytes.shape));
  sample.parts.push_back(append_noise(writer, "layers.0.matrix", matrix, 0, Shape{3, 3}));
  sample.parts.push_back(append_noise(writer, "layers.0.matrix", matrix, 9, Shape{3}));
  sample.parts.push_back(append_noise(writer, "empty", empty, 0, empty.shape));
  sample.parts.push_back(append_noise(writer, "scalar", scalar, 0, scalar.shape));
  writer.finish();
  return sample;
}

Result<ArchiveReader> open_bytes(const Bytes& bytes, const ReaderLimits& limits) {
  return ArchiveReader::open(std::make_unique<MemoryAccess>(bytes), limits);
}

std::map<std::pair<std::string, std::uint64_t>, Bytes> readable(const ArchiveReader& reader) {
  std::map<std::pair<std::string, std::uint64_t>, Bytes> all;
  for (const auto& tensor : reader.tensors()) {
    for (const auto& part : tensor.parts) {
      Bytes payload(part.payload_size);
      if (!reader.read_payload(tensor, part, payload)) continue;
      all.emplace(std::pair(tensor.name, part.first_elem), std::move(payload));
    }
  }
  return all;
}

std::map<std::pair<std::string, std::uint64_t>, Bytes> written(
    const std::vector<WrittenPart>& parts) {
  std::map<std::pair<std::string, std::uint64_t>, Bytes> all;
  for (const auto& part : parts) all.emplace(std::pair(part.name, part.first_elem), part.payload);
  return all;
}

void mend_header(Bytes& bytes, std::size_t record) {
  const auto header_size = load<std::uint32_t>(bytes.data() + record + 24);
  if (header_size < 16 || header_size > bytes.size() - record) return;
  store(bytes.data() + record + 8,
        xxh3_64(std::span(bytes).subspan(record + 16, header_size - 16)));
}

}  // namespace offramp::test
