// SPDX-License-Identifier: Apache-2.0
#include "core/checks.hpp"
#include "engine/archive_checks.hpp"
#include "engine/work_buffer.hpp"

#include <offramp/container/archive_reader.hpp>
#include <offramp/core/error.hpp>
#include <offramp/engine/jobs.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace offramp {
namespace {

Error not_found(const ArchiveReader& reader, std::string what) {
  return {.code = ErrorCode::not_found,
          .what = std::move(what),
          .path = reader.name(),
          .remedy = "`offramp info` lists the tensors and their shapes"};
}

Error no_tensor(const ArchiveReader& reader, std::string_view name) {
  return not_found(reader, fmt::format("there is no tensor '{}'", name));
}

Result<void> read_elems_of(const ArchiveReader& reader, const ArchiveTensor& tensor,
                           std::uint64_t first, std::span<std::byte> out, Workers& workers) {
  const std::size_t elem_size = size_of(tensor.desc.dtype);
  const std::uint64_t end = first + out.size() / elem_size;
  WorkBuffer payload;
  WorkBuffer scratch;
  const auto ends_behind_first = [&](const ArchivePart& part) {
    return part.first_elem + part.elems() <= first;
  };
  auto part = std::ranges::partition_point(tensor.parts, ends_behind_first);
  for (; first < end; ++part) {
    if (part == tensor.parts.end() || part->first_elem > first) {
      const std::uint64_t next = part == tensor.parts.end() ? end : part->first_elem;
      return missing(reader, tensor, {.first = first, .count = std::min(next, end) - first});
    }
    payload.reserve(part->payload_size);
    const auto in = payload.bytes().first(part->payload_size);
    OFFRAMP_TRY_VOID(reader.read_payload(tensor, *part, in));
    OFFRAMP_TRY(codec, codec_of(reader, *part));
    const TensorDesc desc{.dtype = tensor.desc.dtype, .shape = part->shape};
    scratch.reserve(codec.decode_scratch_size(desc, workers.size()));
    const std::uint64_t elems = std::min(end, part->first_elem + part->elems()) - first;
    const auto piece = out.first(elems * elem_size);
    auto decoded =
        codec.decode(in, desc, first - part->first_elem, piece, scratch.bytes(), workers);
    if (!decoded) return in_part(reader, tensor, *part, std::move(decoded).error());
    out = out.subspan(piece.size());
    first += elems;
  }
  return {};
}

}  // namespace

Result<void> read_elems(const ArchiveReader& reader, const ElemRange& range,
                        std::span<std::byte> out, Workers& workers) {
  const ArchiveTensor* const tensor = reader.find(range.tensor);
  if (!tensor) return no_tensor(reader, range.tensor);
  const std::size_t elem_size = size_of(tensor->desc.dtype);
  OFFRAMP_EXPECTS(out.size() % elem_size == 0, "the output is not a whole number of elements");
  const std::uint64_t total = tensor->desc.shape.elems();
  const std::uint64_t wanted = out.size() / elem_size;
  if (range.first_elem > total || wanted > total - range.first_elem) {
    return not_found(reader, fmt::format("tensor '{}' has {} elements: there are no {} from {} on",
                                         tensor->name, total, wanted, range.first_elem));
  }
  return read_elems_of(reader, *tensor, range.first_elem, out, workers);
}

Result<void> read_rows(const ArchiveReader& reader, const RowRange& range, std::span<std::byte> out,
                       Workers& workers) {
  const ArchiveTensor* const tensor = reader.find(range.tensor);
  if (!tensor) return no_tensor(reader, range.tensor);
  const Shape& shape = tensor->desc.shape;
  const std::uint64_t elems = shape.elems();
  const std::uint64_t channels = shape.rank() == 0 ? 1 : shape[shape.rank() - 1];
  const std::uint64_t rows = elems == 0 ? 0 : elems / channels;
  if (range.first_row > rows || range.rows > rows - range.first_row) {
    return not_found(
        reader, fmt::format("tensor '{}' {} has {} rows: there are no {} from {} on", tensor->name,
                            shape.to_string(), rows, range.rows, range.first_row));
  }
  OFFRAMP_EXPECTS(out.size() == range.rows * channels * size_of(tensor->desc.dtype),
                  "the output does not hold exactly the rows");
  return read_elems_of(reader, *tensor, range.first_row * channels, out, workers);
}

}  // namespace offramp
