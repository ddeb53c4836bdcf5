// SPDX-License-Identifier: Apache-2.0
#include "codec/exact/cuda/launch.hpp"
#include "codec/exact_dense/cuda/dense_launch.hpp"
#include "codec/tiles/cuda/order.hpp"
#include "codec/tiles/cuda/plan.hpp"
#include "codec/tiles/frame.hpp"
#include "core/bytes.hpp"
#include "core/checks.hpp"
#include "device/cuda/cuda_device.hpp"
#include "device/cuda/cuda_error.hpp"

#include <offramp/cuda/codec.hpp>
#include <offramp/cuda/stream.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace offramp::cuda {
namespace {

using tiles::gpu::Batch;
using tiles::gpu::Chunk;
using tiles::gpu::Plan;

using Launch = cudaError_t (*)(const Batch& batch, cudaStream_t stream);

// The kernels of a stage, in the order in which a call launches them.
struct StageKernels {
  StageId stage{};
  tiles::gpu::Coding coding;
  Launch encode{};      // ordinary tiles of bf16; marks the others
  Launch mark_all{};    // instead, where there is no bf16
  Launch measure{};     // the marked tiles
  Launch place_rest{};  // these, once the chunks are in order
  Launch place{};       // ordinary tiles that could not be moved to their places
  Launch decode{};      // ordinary tiles
  Launch decode_rest{};
};

constexpr StageKernels all_kernels[] = {
    {.stage = StageId::exact,
     .coding = {.coder = tiles::exact_tile_coder,
                .nominal_mode = 1,
                .staging_size = tiles::gpu::staging_size,
                .block_scratch = exact::gpu::block_scratch_of},
     .encode = exact::gpu::launch_encode,
     .mark_all = exact::gpu::launch_mark_all,
     .measure = exact::gpu::launch_measure,
     .place_rest = exact::gpu::launch_place_rest,
     .place = exact::gpu::launch_place,
     .decode = exact::gpu::launch_decode,
     .decode_rest = exact::gpu::launch_decode_rest},
    {.stage = StageId::exact_dense,
     .coding = {.coder = tiles::exact_dense_tile_coder,
                .nominal_mode = 16,
                .other_mode = 1,
                .staging_size = exact_dense::gpu::dense_staging_size,
                .stages_full_tiles_only = true,
                .block_scratch = exact_dense::gpu::block_scratch_of},
     .encode = exact_dense::gpu::launch_encode,
     .mark_all = exact_dense::gpu::launch_mark_all,
     .measure = exact_dense::gpu::launch_measure,
     .place_rest = exact_dense::gpu::launch_place_rest,
     .place = exact_dense::gpu::launch_place,
     .decode = exact_dense::gpu::launch_decode,
     .decode_rest = exact_dense::gpu::launch_decode_rest},
};

const StageKernels* find_kernels(StageId stage) noexcept {
  const auto* const found = std::ranges::find(all_kernels, stage, &StageKernels::stage);
  return found != std::end(all_kernels) ? found : nullptr;
}

const StageKernels& kernels_of(StageId stage) {
  const StageKernels* const kernels = find_kernels(stage);
  OFFRAMP_EXPECTS(kernels != nullptr, "this stage has no CUDA kernels");
  return *kernels;
}

template <class Desc, class DescOf>
Plan plan_of(const StageKernels& kernels, std::span<const Desc> chunks, DescOf&& desc_of) {
  Plan plan(kernels.coding);
  for (const Desc& chunk : chunks) plan.count(desc_of(chunk));
  return plan;
}

bool is_aligned(const void* at, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(at) % alignment == 0;
}

// Fills the batch's chunks: with the launches, or by way of `scratch.host` in device memory.
template <class Desc, class Fill>
Batch fill_batch(Plan& plan, std::span<const Desc> chunks, const Scratch& scratch,
                 cudaStream_t stream, std::string_view device, Fill&& fill) {
  OFFRAMP_EXPECTS(scratch.device.size() >= plan.device_size(), "the device scratch is too small");
  OFFRAMP_EXPECTS(scratch.host.size() >= plan.host_size(), "the host scratch is too small");
  OFFRAMP_EXPECTS(is_aligned(scratch.device.data(), 256) && is_aligned(scratch.host.data(), 256),
                  "the scratch is not aligned to 256 bytes");
  Batch batch;
  batch.is_flat = true;
  auto* const table = reinterpret_cast<Chunk*>(scratch.host.data());
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    Chunk chunk = plan.fill(chunks[i].desc);
    fill(chunks[i], chunk);
    const std::byte* const values = chunk.coded_size != nullptr ? chunk.in : chunk.out;
    batch.is_flat = batch.is_flat && plan.is_flat(chunk) && is_aligned(values, 16);
    if (plan.chunks() <= tiles::gpu::inline_chunks) {
      batch.few[i] = chunk;
    } else {
      std::memcpy(table + i, &chunk, sizeof chunk);
    }
  }
  plan.complete(scratch.device.data(), batch);
  if (batch.table != nullptr) {
    check_cuda(cudaMemcpyAsync(plan.table_in(scratch.device.data()), table,
                               plan.chunks() * sizeof(Chunk), cudaMemcpyHostToDevice, stream),
               {.action = "copy the list of chunks", .device = device});
  }
  return batch;
}

struct Place {
  CudaDevice* device;
  cudaStream_t stream;
};

Place place_of(StreamRef stream) {
  const cudaStream_t native_stream = native(stream);  // refuses other devices' streams
  return {&dynamic_cast<CudaDevice&>(stream.driver()), native_stream};
}

ScratchSize scratch_size(StageId stage, std::span<const TensorDesc> descs) {
  if (descs.empty()) return {};
  const Plan plan = plan_of(kernels_of(stage), descs,
                            [](const TensorDesc& desc) -> const TensorDesc& { return desc; });
  return {.device = plan.device_size(), .host = plan.host_size()};
}

}  // namespace

bool has_kernels(StageId stage, DType) noexcept { return find_kernels(stage) != nullptr; }

ScratchSize encode_scratch_size(StageId stage, std::span<const TensorDesc> descs) {
  return scratch_size(stage, descs);
}
ScratchSize decode_scratch_size(StageId stage, std::span<const TensorDesc> descs) {
  return scratch_size(stage, descs);
}

void encode_async(StreamRef stream, StageId stage, std::span<const EncodeChunk> chunks,
                  const Scratch& scratch) {
  if (chunks.empty()) return;
  const Place at = place_of(stream);
  const StageKernels& kernels = kernels_of(stage);
  Plan plan =
      plan_of(kernels, chunks, [](const EncodeChunk& c) -> const TensorDesc& { return c.desc; });
  const ContextGuard guard(at.device->known_context());
  const Batch batch = fill_batch(
      plan, chunks, scratch, at.stream, at.device->name(), [](const EncodeChunk& from, Chunk& to) {
        OFFRAMP_EXPECTS(is_aligned(from.out, tiles::bodies_alignment),
                        "the place for the coded bytes is not aligned to 128 bytes");
        OFFRAMP_EXPECTS(is_aligned(from.size, 8), "the place for the size is not aligned to 8");
        to.in = from.in;
        to.out = from.out;
        to.coded_size = from.size;
      });
  const auto launched = [&](cudaError_t status) {
    check_cuda(status, {.action = "launch the encoder", .device = at.device->name()});
  };
  const bool any_bf16 = std::ranges::any_of(
      chunks, [](const EncodeChunk& chunk) { return chunk.desc.dtype == DType::bf16; });
  launched((any_bf16 ? kernels.encode : kernels.mark_all)(batch, at.stream));
  launched(kernels.measure(batch, at.stream));
  launched(tiles::gpu::launch_order(batch, at.stream));
  launched(kernels.place_rest(batch, at.stream));
  if (any_bf16) launched(kernels.place(batch, at.stream));
}

void decode_async(StreamRef stream, StageId stage, std::span<const DecodeChunk> chunks,
                  const Scratch& scratch) {
  if (chunks.empty()) return;
  const Place at = place_of(stream);
  const StageKernels& kernels = kernels_of(stage);
  Plan plan =
      plan_of(kernels, chunks, [](const DecodeChunk& c) -> const TensorDesc& { return c.desc; });
  const ContextGuard guard(at.device->known_context());
  const Batch batch = fill_batch(
      plan, chunks, scratch, at.stream, at.device->name(), [](const DecodeChunk& from, Chunk& to) {
        OFFRAMP_EXPECTS(is_aligned(from.in, tiles::bodies_alignment),
                        "the coded bytes are not aligned to 128 bytes");
        OFFRAMP_EXPECTS(from.status != nullptr, "a chunk has no place for its status");
        to.in = from.in;
        to.in_size = from.in_size;
        to.out = from.out;
        to.status = from.status;
      });
  const auto launched = [&](cudaError_t status) {
    check_cuda(status, {.action = "launch the decoder", .device = at.device->name()});
  };
  launched(kernels.decode(batch, at.stream));
  launched(kernels.decode_rest(batch, at.stream));
}

Result<void> check_status(std::uint32_t status) {
  if (status == 0) return {};
  Error error{.code = ErrorCode::corrupt_payload,
              .what = "the frame of a coded chunk contradicts itself or its tensor",
              .path = {},
              .remedy = {}};
  if (status != 0xffffffffu) {
    error.what = fmt::format("tile {} of a coded chunk does not decode", 0xfffffffeu - status);
  }
  return error;
}

}  // namespace offramp::cuda
