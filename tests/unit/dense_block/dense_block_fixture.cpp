// SPDX-License-Identifier: Apache-2.0
#include "dense_block_fixture.hpp"

#include "codec/exact_dense/dense_tile.hpp"
#include "codec/tiles/tile.hpp"

#include <cstring>
#include <vector>

namespace offramp::exact_dense::block {
namespace {

constexpr DecodeTable decode_table = tables::make_decode_table();
constexpr EncodeTables encode_tables = tables::make_encode_tables();
constexpr CostTable cost_table = tables::make_cost_table();
constexpr Tables all_tables{&decode_table, &encode_tables, &cost_table};

std::byte* aligned(std::vector<std::byte>& bytes, std::size_t size) {
  bytes.resize(size + 64);
  return bytes.data() + (64 - reinterpret_cast<std::uintptr_t>(bytes.data()) % 64) % 64;
}

}  // namespace

const Tables& host_tables() { return all_tables; }

Coded dense_encode_on_host(const TileSample& sample) {
  const auto& coder = tiles::exact_dense_tile_coder();
  std::vector<std::byte> scratch;
  ByteVector values = sample.values;
  values.resize(values.size() + tiles::read_slack);
  Coded coded{0, ByteVector(coder.max_body_size(sample.dtype)),
              ByteVector(coder.max_heap_size(sample.dtype))};
  const CodedTile tile = exact_dense::encode_tile(
      reference_kernels(), sample.dtype, sample.extent,
      tiles::Lines::without_gaps(values.data(), size_of(sample.dtype)), coded.body.data(),
      coded.heap.data(), aligned(scratch, coder.scratch_size(sample.dtype)));
  coded.mode = tile.mode;
  coded.body.resize(tile.body_size);
  coded.heap.resize(tile.heap_size);
  return coded;
}

bool dense_decode_on_host(DType dtype, TileExtent extent, const Coded& coded, ByteVector& values) {
  std::vector<std::byte> scratch;
  values.assign(extent.values * size_of(dtype), std::byte{});
  return exact_dense::decode_tile(
      reference_kernels(), dtype, extent, coded.mode, coded.body, coded.heap,
      tiles::Lines::without_gaps(values.data(), size_of(dtype)),
      aligned(scratch, tiles::exact_dense_tile_coder().scratch_size(dtype)));
}

DenseMemory::DenseMemory(DType dtype)
    : bytes_(static_cast<std::byte*>(
          ::operator new (dense_scratch_size(dtype), std::align_val_t{64}))) {
  std::memset(bytes_.get(), 0x5b, dense_scratch_size(dtype));
  std::memset(static_cast<void*>(shared_.get()), 0x5b, sizeof *shared_);
  std::memset(static_cast<void*>(exact_.get()), 0x5b, sizeof *exact_);
}

DenseScratch DenseMemory::view() const {
  return {bytes_.get(), shared_.get(), exact_.get(), host_tables()};
}

Coded dense_encode_by_block(CpuBlock& block, const TileSample& sample, Place place) {
  const DenseMemory memory(sample.dtype);
  return exact::block::encode_with(
      [&](const EncodeCall& call) { return encode_by(block, call, memory.view()); }, sample, place);
}

bool dense_decode_by_block(CpuBlock& block, DType dtype, TileExtent extent, const Coded& coded,
                           Place place, ByteVector& values) {
  const DenseMemory memory(dtype);
  return exact::block::decode_with(
      [&](const DecodeCall& call) { return decode_by(block, call, memory.view()); }, dtype, extent,
      coded, place, values);
}

}  // namespace offramp::exact_dense::block
