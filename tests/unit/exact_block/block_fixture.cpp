// SPDX-License-Identifier: Apache-2.0
#include "block_fixture.hpp"

#include "codec/exact/exact_tile.hpp"
#include "codec/tiles/tiling.hpp"
#include "contract/guarded_bytes.hpp"
#include "contract/tensor_samples.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <span>

namespace offramp::exact::block {
namespace {

constexpr std::byte guard{0xa5};
constexpr std::size_t guard_size = 64;

template <class F>
void each_value(TileSample& sample, F&& f) {
  const std::size_t size = size_of(sample.dtype);
  for (std::uint32_t k = 0; k < sample.extent.values; ++k) f(k, sample.values.data() + k * size);
}

// Keeps about one value in `one_in`, and of the rows those that `keeps_row` says.
template <class F>
void thin(TileSample& sample, unsigned one_in, std::mt19937_64& random, F&& keeps_row) {
  each_value(sample, [&](std::uint32_t k, std::byte* value) {
    if (random() % one_in == 0 && keeps_row(k / sample.extent.width)) return;
    std::memset(value, 0, size_of(sample.dtype));
  });
}

// Bits of any value of 1 to all bits, as small numbers have them.
void fill_magnitudes(TileSample& sample, std::mt19937_64& random) {
  const std::size_t size = size_of(sample.dtype);
  each_value(sample, [&](std::uint32_t, std::byte* value) {
    const std::uint64_t word = random() >> (64 - 8 * size) >> (random() % (8 * size));
    std::memcpy(value, &word, size);
  });
}

// Channels whose scales lie `spread` powers of 2 apart, and values whose own do within a channel;
// in the floats that have such exponents.
void fill_scaled(TileSample& sample, double spread, double within, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::vector<double> scale(sample.extent.width);
  for (double& s : scale) s = std::exp2(spread * normal(random));
  const std::size_t size = size_of(sample.dtype);
  each_value(sample, [&](std::uint32_t k, std::byte* value) {
    const double wide =
        normal(random) * std::exp2(within * normal(random)) * scale[k % sample.extent.width];
    const auto bits64 = std::bit_cast<std::uint64_t>(wide);
    const auto bits32 = std::bit_cast<std::uint32_t>(static_cast<float>(wide));
    const std::uint64_t word = size == 8 ? bits64 : std::uint64_t{bits32} >> (32 - 8 * size);
    std::memcpy(value, &word, size);
  });
}

// A buffer of exactly that size at a multiple of 64, with rubbish in it.
class Scratch {
 public:
  explicit Scratch(std::size_t size) : bytes_(size) { std::memset(bytes_.data(), 0x5b, size); }
  [[nodiscard]] std::byte* data() const { return bytes_.data(); }

 private:
  testing_samples::KeptBlock bytes_;
};

struct Memory {
  explicit Memory(DType dtype) : scratch(block_scratch_size(dtype)) {
    std::memset(shared.get(), 0x5b, sizeof *shared);
  }
  [[nodiscard]] BlockScratch view() const { return {scratch.data(), shared.get()}; }

  Scratch scratch;
  std::unique_ptr<BlockShared> shared = std::make_unique<BlockShared>();
};

// Elements from the first row's first to behind the last row's last.
std::size_t elems_with_gaps(TileExtent extent, std::uint64_t pitch) {
  return (extent.rows - 1) * pitch + extent.values - (extent.rows - 1) * extent.width;
}

// Calls f(place in rows at a pitch, place without gaps, size) for each row, in bytes.
template <class F>
void each_row(TileExtent extent, std::uint64_t pitch, std::size_t elem_size, F&& f) {
  for (std::uint32_t r = 0; r < extent.rows; ++r) {
    const std::uint32_t first = r * extent.width;
    f(r * pitch * elem_size, first * elem_size,
      std::min(extent.width, extent.values - first) * elem_size);
  }
}

// Takes what was written off the front; all behind must be as it was.
ByteVector written_part(const ByteVector& bytes, std::size_t skew, std::size_t size) {
  EXPECT_TRUE(std::all_of(bytes.begin(), bytes.begin() + static_cast<long>(skew),
                          [](std::byte b) { return b == guard; }));
  EXPECT_LE(skew + size, bytes.size());
  const auto end = bytes.begin() + static_cast<long>(std::min(skew + size, bytes.size()));
  EXPECT_TRUE(std::all_of(end, bytes.end(), [](std::byte b) { return b == guard; }));
  return {bytes.begin() + static_cast<long>(skew), end};
}

ByteVector skewed(const ByteVector& bytes, std::size_t skew) {
  ByteVector out(skew, guard);
  out.insert(out.end(), bytes.begin(), bytes.end());
  out.shrink_to_fit();
  return out;
}

}  // namespace

std::string TileSample::name() const {
  return std::string(name_of(dtype)) + " " + std::to_string(extent.rows) + "x" +
         std::to_string(extent.width) + " of " + std::to_string(extent.values);
}

TileExtent extent_of(std::uint32_t rows, std::uint32_t width) {
  return {rows, width, rows * width};
}
TileExtent ragged(std::uint32_t values, std::uint32_t width) {
  return {div_up(values, width), width, values};
}

TileSample make_sample(DType dtype, TileExtent extent, unsigned kind, unsigned seed) {
  namespace samples = testing_samples;
  const Shape shape{extent.rows, extent.width};
  const auto base =
      kind < samples::all_kinds.size() ? samples::all_kinds[kind] : samples::Kind::channels;
  TileSample sample{dtype, extent, samples::sample({dtype, shape}, base, seed)};
  sample.values.resize(extent.values * size_of(dtype));
  std::mt19937_64 random(seed);
  const auto all_rows = [](std::uint32_t) { return true; };
  switch (kind) {
    case 8:
      thin(sample, 2, random, all_rows);
      break;
    case 9:
      thin(sample, 60, random, all_rows);
      break;
    case 10:  // whole rows of zeros, and no other zeros
      thin(sample, 1, random, [](std::uint32_t r) { return r % 5 < 2; });
      break;
    case 11:
      thin(sample, 3, random, [](std::uint32_t r) { return r % 3 != 1; });
      break;
    case 12:
      fill_magnitudes(sample, random);
      break;
    case 13:
      fill_scaled(sample, seed % 2 == 0 ? 10 : 0.3, 0, random);
      break;
    case 14:
      fill_scaled(sample, 1, seed % 2 == 0 ? 5 : 1.5, random);
      break;
    default:
      break;
  }
  return sample;
}

std::vector<TileSample> tiles_of(DType dtype, const Shape& shape, const ByteVector& tensor,
                                 std::size_t limit) {
  const tiles::Tiling tiling(shape);
  const std::size_t size = size_of(dtype);
  std::vector<TileSample> samples;
  for (std::uint64_t t = 0; t < tiling.tiles() && samples.size() < limit; ++t) {
    const tiles::Tile tile = tiling.tile(t);
    TileSample sample{dtype, tile.extent, ByteVector(tile.extent.values * size)};
    each_row(tile.extent, tile.pitch, size,
             [&](std::size_t from, std::size_t to, std::size_t bytes) {
               std::memcpy(sample.values.data() + to, tensor.data() + tile.first_elem * size + from,
                           bytes);
             });
    samples.push_back(std::move(sample));
  }
  return samples;
}

Coded encode_on_host(const TileSample& sample) {
  const auto& coder = tiles::exact_tile_coder();
  const Scratch scratch(coder.scratch_size(sample.dtype));
  ByteVector values = sample.values;
  values.resize(values.size() + tiles::read_slack);
  Coded coded{0, ByteVector(coder.max_body_size(sample.dtype)),
              ByteVector(coder.max_heap_size(sample.dtype))};
  const CodedTile tile =
      exact::encode_tile(reference_kernels(), sample.dtype, sample.extent,
                         tiles::Lines::without_gaps(values.data(), size_of(sample.dtype)),
                         coded.body.data(), coded.heap.data(), scratch.data());
  coded.mode = tile.mode;
  coded.body.resize(tile.body_size);
  coded.heap.resize(tile.heap_size);
  return coded;
}

bool decode_on_host(DType dtype, TileExtent extent, const Coded& coded, ByteVector& values) {
  const Scratch scratch(tiles::exact_tile_coder().scratch_size(dtype));
  values.assign(extent.values * size_of(dtype), std::byte{});
  return exact::decode_tile(reference_kernels(), dtype, extent, coded.mode, coded.body, coded.heap,
                            tiles::Lines::without_gaps(values.data(), size_of(dtype)),
                            scratch.data());
}

Coded encode_with(const std::function<CodedTile(const EncodeCall&)>& encode,
                  const TileSample& sample, Place place) {
  const std::size_t size = size_of(sample.dtype);
  const std::uint64_t pitch = sample.extent.width + place.gap;
  ByteVector values(place.skew + elems_with_gaps(sample.extent, pitch) * size, std::byte{0xff});
  values.shrink_to_fit();
  each_row(sample.extent, pitch, size, [&](std::size_t to, std::size_t from, std::size_t bytes) {
    std::memcpy(values.data() + place.skew + to, sample.values.data() + from, bytes);
  });
  const Memory memory(sample.dtype);
  const std::size_t room = place.skew + padded(sample.values.size()) + guard_size;
  ByteVector body(room, guard), heap(room, guard);
  const CodedTile tile =
      encode({sample.dtype, sample.extent, values.data() + place.skew, pitch,
              body.data() + place.skew, heap.data() + place.skew, memory.view()});
  return {tile.mode, written_part(body, place.skew, tile.body_size),
          written_part(heap, place.skew, tile.heap_size)};
}

bool decode_with(const std::function<bool(const DecodeCall&)>& decode, DType dtype,
                 TileExtent extent, const Coded& coded, Place place, ByteVector& values) {
  const std::size_t size = size_of(dtype);
  const std::uint64_t pitch = extent.width + place.gap;
  const std::size_t front = guard_size + place.skew;
  ByteVector room(front + elems_with_gaps(extent, pitch) * size + guard_size, guard);
  const ByteVector body = skewed(coded.body, place.skew), heap = skewed(coded.heap, place.skew);
  const Memory memory(dtype);
  const bool ok =
      decode({dtype, extent, coded.mode, std::span(body).subspan(place.skew),
              std::span(heap).subspan(place.skew), room.data() + front, pitch, memory.view()});
  values.resize(extent.values * size);
  each_row(extent, pitch, size, [&](std::size_t from, std::size_t to, std::size_t bytes) {
    std::memcpy(values.data() + to, room.data() + front + from, bytes);
    std::memset(room.data() + front + from, static_cast<int>(guard), bytes);
  });
  EXPECT_TRUE(std::all_of(room.begin(), room.end(), [](std::byte b) { return b == guard; }))
      << "written between or around the rows";
  return ok;
}

}  // namespace offramp::exact::block
