// SPDX-License-Identifier: Apache-2.0
// One core, full tiles of `exact-dense`: GB/s of original data (bytes_per_second, CPU time) and the
// ratio without the directory. OFFRAMP_BENCH_TARGET=AVX2 (or any name Highway has) holds the
// kernels back; OFFRAMP_BENCH_TENSORS=FILE takes the bf16 tensors of a safetensors file, read as
// rows of 64 channels, in place of synthetic ones.
#include "codec/exact_dense/dense_tile.hpp"
#include "core/bytes.hpp"

#include <offramp/core/dtype.hpp>

#include <benchmark/benchmark.h>
#include <hwy/targets.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace offramp;
using exact_dense::Kernels;
using Bytes = std::vector<std::byte>;

constexpr tiles::TileExtent extent{tiles::tile_rows, tiles::tile_width, tiles::tile_values};
constexpr std::size_t working_set = 8U << 20;

/// Channels of own scale and mean, as keys have: the classes all come in use.
Bytes synthetic(DType dtype) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  const std::size_t size = size_of(dtype);
  Bytes values(working_set);
  float scale[tiles::tile_width], mean[tiles::tile_width];
  for (std::size_t i = 0; i < values.size() / size; ++i) {
    const std::size_t c = i % tiles::tile_width;
    if (i % tiles::tile_values < tiles::tile_width) {
      scale[c] = std::exp2(1.5F * normal(random));
      mean[c] = random() % 3 == 0 ? 2 * normal(random) : 0.0F;
    }
    const float x = (normal(random) + mean[c]) * scale[c];
    if (dtype == DType::bf16) {
      store(values.data() + i * size,
            static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16));
    } else {
      store(values.data() + i * size, x);
    }
  }
  return values;
}

Bytes from_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  Bytes all;
  std::vector<char> chars((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (chars.size() > 8) {
    const auto header = load<std::uint64_t>(chars.data());
    if (header < chars.size() - 8) {
      const auto* first = reinterpret_cast<const std::byte*>(chars.data()) + 8 + header;
      all.assign(first, reinterpret_cast<const std::byte*>(chars.data()) + chars.size());
    }
  }
  return all;
}

struct Tile {
  tiles::TileMode mode{};
  Bytes body, heap;
};

struct Fixture {
  Fixture(DType d, const Kernels& k) : dtype(d), kernels(k) {
    const char* path = std::getenv("OFFRAMP_BENCH_TENSORS");
    values = path != nullptr && d == DType::bf16 ? from_file(path) : synthetic(d);
    tiles.resize(values.size() / tile_size());
    values.resize(tiles.size() * tile_size() + tiles::read_slack);
    const tiles::TileCoder& coder = tiles::exact_dense_tile_coder();
    body.resize(coder.max_body_size(d));
    heap.resize(coder.max_heap_size(d));
    scratch_bytes.resize(coder.scratch_size(d) + 64);
    const auto at = reinterpret_cast<std::uintptr_t>(scratch_bytes.data());
    scratch = scratch_bytes.data() + (64 - at % 64) % 64;
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      const auto made = encode(i);
      coded += made.body_size + made.heap_size;
      tiles[i] = {made.mode, Bytes(body.begin(), body.begin() + made.body_size),
                  Bytes(heap.begin(), heap.begin() + made.heap_size)};
    }
  }

  [[nodiscard]] std::size_t tile_size() const { return tiles::tile_values * size_of(dtype); }
  [[nodiscard]] std::size_t bytes() const { return tiles.size() * tile_size(); }

  tiles::CodedTile encode(std::size_t i) {
    return exact_dense::encode_tile(
        kernels, dtype, extent,
        tiles::ConstLines::without_gaps(values.data() + i * tile_size(), size_of(dtype)),
        body.data(), heap.data(), scratch);
  }

  DType dtype;
  const Kernels& kernels;
  Bytes values, body, heap, scratch_bytes;
  std::byte* scratch{};
  std::vector<Tile> tiles;
  std::size_t coded{};
};

void report(benchmark::State& state, const Fixture& fixture) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(fixture.bytes()));
  state.counters["ratio"] =
      static_cast<double>(fixture.bytes()) / static_cast<double>(fixture.coded);
  state.SetLabel(fixture.kernels.name);
}

void encode(benchmark::State& state, DType dtype, const Kernels& kernels) {
  Fixture fixture(dtype, kernels);
  if (fixture.tiles.empty()) return state.SkipWithError("no whole tile in the file");
  for (auto _ : state) {
    for (std::size_t i = 0; i < fixture.tiles.size(); ++i) {
      benchmark::DoNotOptimize(fixture.encode(i));
    }
  }
  report(state, fixture);
}

void decode(benchmark::State& state, DType dtype, const Kernels& kernels) {
  Fixture fixture(dtype, kernels);
  if (fixture.tiles.empty()) return state.SkipWithError("no whole tile in the file");
  Bytes out(fixture.tile_size());
  const auto to = tiles::Lines::without_gaps(out.data(), size_of(dtype));
  for (std::size_t i = 0; i < fixture.tiles.size(); ++i) {
    const Tile& tile = fixture.tiles[i];
    if (!exact_dense::decode_tile(kernels, dtype, extent, tile.mode, tile.body, tile.heap, to,
                                  fixture.scratch) ||
        std::memcmp(out.data(), fixture.values.data() + i * out.size(), out.size()) != 0) {
      return state.SkipWithError("the round trip is not bit-exact");
    }
  }
  for (auto _ : state) {
    for (const Tile& tile : fixture.tiles) {
      benchmark::DoNotOptimize(exact_dense::decode_tile(kernels, dtype, extent, tile.mode,
                                                        tile.body, tile.heap, to, fixture.scratch));
    }
  }
  report(state, fixture);
}

void hold_back(const char* name) {
  for (auto left = static_cast<std::uint64_t>(hwy::SupportedTargets()); left != 0;
       left &= left - 1) {
    const auto target = static_cast<std::int64_t>(left & (~left + 1));
    if (std::string(name) == hwy::TargetName(target)) hwy::SetSupportedTargetsForTest(target);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (const char* name = std::getenv("OFFRAMP_BENCH_TARGET")) hold_back(name);
  for (const DType dtype : {DType::bf16, DType::fp32}) {
    for (const Kernels* kernels : {&exact_dense::kernels(), &exact_dense::reference_kernels()}) {
      const bool fast = kernels == &exact_dense::kernels();
      const std::string name = std::string(name_of(dtype)) + (fast ? "/fast" : "/reference");
      benchmark::RegisterBenchmark(("dense_encode/" + name).c_str(), encode, dtype, *kernels);
      benchmark::RegisterBenchmark(("dense_decode/" + name).c_str(), decode, dtype, *kernels);
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
