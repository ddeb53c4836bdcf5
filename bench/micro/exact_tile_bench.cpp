// SPDX-License-Identifier: Apache-2.0
// One core, full tiles of `exact`: GB/s of original data (bytes_per_second), ratio without the
// directory. The working set is 8 MiB of tiles, as a chunk in flight is. `reference` is the
// definition's plain loops; OFFRAMP_BENCH_TARGET=AVX2 (or any name Highway has) holds `fast` back.
#include "codec/exact/exact_tile.hpp"
#include "core/bytes.hpp"

#include <offramp/core/dtype.hpp>

#include <benchmark/benchmark.h>
#include <hwy/targets.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace offramp;
using exact::Kernels;
using Bytes = std::vector<std::byte>;

constexpr tiles::TileExtent extent{tiles::tile_rows, tiles::tile_width, tiles::tile_values};
constexpr std::size_t working_set = 8u << 20;

// What a tile holds: channels of own scale, Gaussian within; or the same with 80 % zeros.
enum class Kind { channels, sparse };

void fill(DType dtype, Kind kind, std::span<std::byte> values) {
  std::mt19937_64 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> scale(extent.width);
  for (float& s : scale) s = std::exp2(1.5f * normal(random));
  const std::size_t size = size_of(dtype);
  for (std::size_t k = 0; k < values.size() / size; ++k) {
    float x = normal(random) * scale[k % extent.width];
    if (kind == Kind::sparse && random() % 5 != 0) x = 0;
    const auto bits = std::bit_cast<std::uint32_t>(x);
    std::byte* to = values.data() + k * size;
    if (dtype == DType::bf16) {
      store(to, static_cast<std::uint16_t>(bits >> 16));
    } else if (dtype == DType::fp16) {
      store(to, std::bit_cast<std::uint16_t>(static_cast<_Float16>(x)));
    } else if (dtype == DType::fp32) {
      store(to, bits);
    } else {
      store(to, static_cast<double>(x) * (1 + 1e-12 * static_cast<double>(random() % 4096)));
    }
  }
}

struct Tile {
  tiles::TileMode mode{};
  Bytes body;
  Bytes heap;
};

struct Fixture {
  explicit Fixture(DType d, Kind kind, const Kernels& k)
      : dtype(d),
        kernels(k),
        tile_size(extent.values * size_of(d)),
        tiles(working_set / tile_size),
        values(working_set + tiles::read_slack),
        body(coder.max_body_size(d)),
        heap(coder.max_heap_size(d)),
        scratch_bytes(coder.scratch_size(d) + 64) {
    const auto at = reinterpret_cast<std::uintptr_t>(scratch_bytes.data());
    scratch = scratch_bytes.data() + (64 - at % 64) % 64;
    fill(dtype, kind, std::span(values).first(working_set));
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      const auto made = encode(i);
      tiles[i] = {made.mode, Bytes(body.begin(), body.begin() + made.body_size),
                  Bytes(heap.begin(), heap.begin() + made.heap_size)};
      coded_size += std::size_t{made.body_size} + made.heap_size;
    }
  }

  tiles::CodedTile encode(std::size_t i) {
    return exact::encode_tile(
        kernels, dtype, extent,
        tiles::ConstLines::without_gaps(values.data() + i * tile_size, size_of(dtype)), body.data(),
        heap.data(), scratch);
  }
  bool decode(std::size_t i, std::byte* to) {
    return exact::decode_tile(kernels, dtype, extent, tiles[i].mode, tiles[i].body, tiles[i].heap,
                              tiles::Lines::without_gaps(to, size_of(dtype)), scratch);
  }
  void report(benchmark::State& state) const {
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * working_set));
    state.counters["ratio"] = static_cast<double>(working_set) / static_cast<double>(coded_size);
  }

  const tiles::TileCoder& coder = tiles::exact_tile_coder();
  DType dtype;
  const Kernels& kernels;
  std::size_t tile_size;
  std::vector<Tile> tiles;
  Bytes values, body, heap, scratch_bytes;
  std::byte* scratch{};
  std::size_t coded_size{};
};

void bench_encode(benchmark::State& state, DType dtype, Kind kind, const Kernels& kernels) {
  Fixture fixture(dtype, kind, kernels);
  for (auto _ : state) {
    for (std::size_t i = 0; i < fixture.tiles.size(); ++i) {
      benchmark::DoNotOptimize(fixture.encode(i));
    }
  }
  fixture.report(state);
}

void bench_decode(benchmark::State& state, DType dtype, Kind kind, const Kernels& kernels) {
  Fixture fixture(dtype, kind, kernels);
  Bytes out(working_set);
  for (auto _ : state) {
    for (std::size_t i = 0; i < fixture.tiles.size(); ++i) {
      if (!fixture.decode(i, out.data() + i * fixture.tile_size)) {
        state.SkipWithError("a tile did not decode");
        return;
      }
    }
  }
  if (std::memcmp(out.data(), fixture.values.data(), working_set) != 0) {
    state.SkipWithError("the round trip is not exact");
    return;
  }
  fixture.report(state);
}

// Holds Highway back to one instruction set, by its name. False where this machine lacks it.
bool choose_target(const char* name) {
  for (auto left = static_cast<std::uint64_t>(hwy::SupportedTargets()); left != 0;
       left &= left - 1) {
    const auto target = static_cast<std::uint32_t>(left & -left);
    if (std::strcmp(hwy::TargetName(target), name) != 0) continue;
    hwy::SetSupportedTargetsForTest(target);
    return true;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  if (const char* target = std::getenv("OFFRAMP_BENCH_TARGET")) {
    if (!choose_target(target)) {
      std::printf("skipped: this processor or build has no %s\n", target);
      return 0;
    }
  }
  const auto add = [](DType dtype, Kind kind, const Kernels& kernels, const char* which) {
    const std::string name =
        std::string(name_of(dtype)) + (kind == Kind::sparse ? "/80%zeros/" : "/channels/") + which;
    benchmark::RegisterBenchmark(("encode/" + name).c_str(), bench_encode, dtype, kind, kernels);
    benchmark::RegisterBenchmark(("decode/" + name).c_str(), bench_decode, dtype, kind, kernels);
  };
  for (const DType dtype : {DType::bf16, DType::fp16, DType::fp32, DType::fp64}) {
    add(dtype, Kind::channels, exact::fast_kernels(), "fast");
  }
  add(DType::bf16, Kind::sparse, exact::fast_kernels(), "fast");
  add(DType::bf16, Kind::channels, exact::reference_kernels(), "reference");
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
