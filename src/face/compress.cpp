// SPDX-License-Identifier: Apache-2.0
#include "core/checks.hpp"

#include <offramp/codec/codec.hpp>
#include <offramp/compress.hpp>
#include <offramp/container/archive_reader.hpp>
#include <offramp/container/archive_writer.hpp>
#include <offramp/engine/jobs.hpp>
#include <offramp/engine/part.hpp>

#include <fmt/format.h>

#include <memory>
#include <new>

namespace offramp {
namespace {

// The tensor of a one-tensor archive has no name to be found by.
constexpr std::string_view tensor_name = "tensor";

}  // namespace

std::vector<std::byte> compress(TensorView tensor, const CompressOptions& options) {
  OFFRAMP_EXPECTS(tensor.desc.checked_size() == tensor.bytes.size(),
                  "a tensor's bytes must fit its dtype and shape");
  const Codec codec = Codec::from_name(options.codec).value();
  const std::vector<std::byte> chain = codec.serialize();
  const std::vector<std::byte> store_chain = Codec::from_name("store").value().serialize();
  // Cut as `pack` cuts, so that the same tensor gives the same records whichever way it went.
  const PartPlan plan(tensor.desc, JobSettings{}.chunk_size);

  Workers workers(options.threads);
  std::vector<std::byte> archive;
  std::vector<std::byte> payload;
  std::vector<std::byte> scratch;
  ArchiveWriter writer(std::make_unique<MemoryByteSink>(archive));
  const std::size_t elem_size = size_of(tensor.desc.dtype);
  for (std::uint64_t i = 0; i < plan.count(); ++i) {
    const Part part = plan[i];
    payload.resize(codec.max_encoded_size(part.desc));
    scratch.resize(codec.encode_scratch_size(part.desc, workers.size()));
    const TensorView view{
        .desc = part.desc,
        .bytes = tensor.bytes.subspan(part.first_elem * elem_size, part.desc.size())};
    const auto encoded = codec.encode(view, payload, scratch, workers);
    writer.append({.name = tensor_name,
                   .tensor = tensor.desc,
                   .first_elem = part.first_elem,
                   .part = part.desc.shape,
                   .chain = encoded.stored ? store_chain : chain},
                  std::span(payload).first(encoded.size));
  }
  writer.finish();
  return archive;
}

Result<OwnedTensor> decompress(std::span<const std::byte> archive,
                               const DecompressOptions& options) {
  OFFRAMP_TRY(reader, ArchiveReader::open(std::make_unique<MemoryAccess>(archive)));
  if (!reader.complete()) return Error(reader.damage());
  if (reader.tensors().size() != 1) {
    return Error{
        .code = ErrorCode::mismatch,
        .what = fmt::format("the archive holds {} tensors, not one", reader.tensors().size()),
        .path = reader.name(),
        .remedy = "read it with ArchiveReader"};
  }
  const ArchiveTensor& tensor = reader.tensors().front();
  if (const auto gap = tensor.first_gap()) {
    return Error{.code = ErrorCode::truncated,
                 .what = fmt::format("the tensor misses elements from {} on", gap->first),
                 .path = reader.name(),
                 .remedy = {}};
  }
  const std::size_t size = tensor.desc.size();
  if (size > options.max_size) {
    return Error{.code = ErrorCode::limit_exceeded,
                 .what = fmt::format("the tensor says it has {} bytes, over the limit of {}", size,
                                     options.max_size),
                 .path = reader.name(),
                 .remedy = "raise max_size if you trust the bytes"};
  }
  OwnedTensor restored{.desc = tensor.desc};
  try {
    restored.bytes.resize(size);
  } catch (const std::bad_alloc&) {
    throw OutOfMemory(size, "the restored tensor");
  }
  Workers workers(options.threads);
  OFFRAMP_TRY_VOID(
      read_elems(reader, {.tensor = tensor.name, .first_elem = 0}, restored.bytes, workers));
  return restored;
}

}  // namespace offramp
