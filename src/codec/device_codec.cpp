// SPDX-License-Identifier: Apache-2.0
#include "codec/device_codec.hpp"

#include "core/bytes.hpp"
#include "core/checks.hpp"

#include <offramp/codec/stage.hpp>

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace offramp {
namespace {

constexpr std::uint32_t refused = 0xffffffffu;

Workers& one_worker() {
  static Workers worker(1);
  return worker;
}

// What the stream's thread does later. It lies in the call's host scratch, its chunks behind it.
struct Job {
  const StageRow* row{};
  std::size_t count{};
  std::span<std::byte> scratch{};
};

constexpr std::size_t job_size = round_up(sizeof(Job), 64);

template <class Chunk>
std::span<const Chunk> chunks_of(const Job* job) {
  static_assert(std::is_trivially_copyable_v<Chunk>);
  return {reinterpret_cast<const Chunk*>(reinterpret_cast<const std::byte*>(job) + job_size),
          job->count};
}

const StageRow& row_of(StageId stage) {
  const StageRow* const row = find_stage(stage);
  OFFRAMP_EXPECTS(row, "this build has no such stage");
  return *row;
}

template <class Chunk>
ScratchSize scratch_size(std::span<const TensorDesc> descs,
                         std::size_t (*need)(const TensorDesc&, std::size_t)) {
  ScratchSize size{.device = 0, .host = job_size + descs.size() * sizeof(Chunk)};
  for (const TensorDesc& desc : descs) size.device = std::max(size.device, need(desc, 1));
  return size;
}

template <class Chunk>
void enqueue(StreamRef stream, StageId stage, std::span<const Chunk> chunks, const Scratch& scratch,
             void (*run)(void*) noexcept) {
  if (chunks.empty()) return;
  const std::size_t list = chunks.size() * sizeof(Chunk);
  OFFRAMP_EXPECTS(scratch.host.size() >= job_size + list, "the host scratch is too small");
  auto* const job = new (scratch.host.data())
      Job{.row = &row_of(stage), .count = chunks.size(), .scratch = scratch.device};
  std::memcpy(scratch.host.data() + job_size, chunks.data(), list);
  dynamic_cast<Device&>(stream.driver()).call_async(stream, run, job);
}

void encode_now(void* arg) noexcept {
  const Job& job = *static_cast<const Job*>(arg);
  for (const EncodeChunk& chunk : chunks_of<EncodeChunk>(&job)) {
    *chunk.size =
        job.row->encode({.in = {.desc = chunk.desc, .bytes = {chunk.in, chunk.desc.size()}},
                         .params = {},
                         .out = {chunk.out, job.row->max_encoded_size(chunk.desc)},
                         .scratch = job.scratch,
                         .workers = &one_worker()});
  }
}

void decode_now(void* arg) noexcept {
  const Job& job = *static_cast<const Job*>(arg);
  for (const DecodeChunk& chunk : chunks_of<DecodeChunk>(&job)) {
    bool decoded = false;
    try {
      decoded = job.row
                    ->decode({.in = {chunk.in, static_cast<std::size_t>(chunk.in_size)},
                              .desc = chunk.desc,
                              .params = {},
                              .first_elem = 0,
                              .out = {chunk.out, chunk.desc.size()},
                              .scratch = job.scratch,
                              .workers = &one_worker()})
                    .has_value();
    } catch (const std::bad_alloc&) {  // for the words of a refusal
    }
    if (!decoded) *chunk.status = refused;
  }
}

constexpr DeviceCodec host_codec{
    .has_kernels = [](StageId stage, DType) noexcept { return find_stage(stage) != nullptr; },
    .encode_scratch_size =
        [](StageId stage, std::span<const TensorDesc> descs) {
          return scratch_size<EncodeChunk>(descs, row_of(stage).encode_scratch_size);
        },
    .decode_scratch_size =
        [](StageId stage, std::span<const TensorDesc> descs) {
          return scratch_size<DecodeChunk>(descs, row_of(stage).decode_scratch_size);
        },
    .encode_async =
        [](StreamRef stream, StageId stage, std::span<const EncodeChunk> chunks,
           const Scratch& scratch) { enqueue(stream, stage, chunks, scratch, encode_now); },
    .decode_async =
        [](StreamRef stream, StageId stage, std::span<const DecodeChunk> chunks,
           const Scratch& scratch) { enqueue(stream, stage, chunks, scratch, decode_now); },
    .check_status = [](std::uint32_t status) -> Result<void> {
      if (status == 0) return {};
      return Error{.code = ErrorCode::corrupt_payload,
                   .what = "a coded chunk does not decode",
                   .path = {},
                   .remedy = {}};
    },
    .load = [](Device&, StageId) {},
    .make_stream = [](Device& device, int) { return device.make_stream(); },
    .keep_in_cache = [](Device&, StreamRef, std::span<std::byte>, std::size_t) -> std::size_t {
      return 0;
    },
};

}  // namespace

const DeviceCodec& device_codec(const Device& device) noexcept {
#ifdef OFFRAMP_HAS_CUDA
  if (device.name().starts_with("cuda:")) return cuda_device_codec();
#else
  static_cast<void>(device);
#endif
  return host_codec;
}

}  // namespace offramp
