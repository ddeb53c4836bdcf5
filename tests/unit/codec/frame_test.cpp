// SPDX-License-Identifier: Apache-2.0
#include "codec/tiles/frame.hpp"

#include "contract/stage_contract.hpp"
#include "core/bytes.hpp"
#include "toy_tile_coder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace offramp {

// The frame owes what every stage does, whatever the tile code.
INSTANTIATE_TEST_SUITE_P(Toy, StageContract, testing::Values(tiles::toy_stage()));

namespace tiles {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::size_t tile_size = tile_values * 2;

Bytes encode(const TensorDesc& desc, const Bytes& in) {
  Workers workers(2);
  Bytes out(max_encoded_size(desc));
  Bytes scratch(encode_scratch_size(toy_tile_coder(), desc, 2));
  out.resize(encode_chunk(
      toy_tile_coder(),
      {.in = {.desc = desc, .bytes = in}, .out = out, .scratch = scratch, .workers = &workers}));
  return out;
}

Result<Bytes> decode(const TensorDesc& desc, const Bytes& coded) {
  Workers workers(2);
  Bytes out(desc.size());
  Bytes scratch(decode_scratch_size(toy_tile_coder(), desc, 2));
  const auto result = decode_chunk(
      toy_tile_coder(),
      {.in = coded, .desc = desc, .out = out, .scratch = scratch, .workers = &workers});
  if (!result) return result.error();
  return out;
}

// Two tiles a head, whose last bytes are 0: mode 1 with a short heap piece everywhere.
struct Sample {
  TensorDesc desc{DType::bf16, {5, 512, 64}};
  Bytes in{desc.size()};

  Sample() {
    for (std::size_t i = 0; i < in.size(); i += 2) in[i] = static_cast<std::byte>(i * 7 + i / 512);
  }
  // Makes the tile one of mode 3, or one that is raw, or one of equal values.
  void make_long(std::size_t tile) { in[tile * tile_size] = std::byte{0x77}; }
  void make_raw(std::size_t tile) {
    for (std::size_t i = 1; i < tile_size; i += 2) {
      in[tile * tile_size + i] = static_cast<std::byte>(i / 2);
    }
  }
  void make_constant(std::size_t tile) {
    std::fill_n(in.begin() + static_cast<std::ptrdiff_t>(tile * tile_size), tile_size,
                std::byte{9});
  }
  void expect_round_trip() const {
    const auto back = decode(desc, encode(desc, in));
    ASSERT_TRUE(back) << back.error().message();
    EXPECT_TRUE(*back == in);
  }
};

constexpr std::uint64_t nominal = tile_values + 16;

TEST(Frame, AUniformChunkIsLaidOutAsTheSpecSays) {
  const Sample sample;
  const Bytes coded = encode(sample.desc, sample.in);
  EXPECT_EQ(load<std::uint32_t>(coded.data()), 10u);
  EXPECT_EQ(load<std::uint32_t>(coded.data() + 4), uniform_flag);
  EXPECT_EQ(load<std::uint64_t>(coded.data() + 8), 10 * nominal);
  const auto heap_size = load<std::uint64_t>(coded.data() + 16);
  EXPECT_EQ(load<std::uint64_t>(coded.data() + 24), toy_runs);
  const std::size_t bodies = 128;  // the header and ten ends, padded
  EXPECT_EQ(coded.size(), bodies + 10 * nominal + heap_size);
  // 64 runs of 255 and one of 64 for each tile.
  EXPECT_EQ(heap_size, 10 * 144u);
  for (std::size_t tile = 0; tile < 10; ++tile) {
    EXPECT_EQ(load<std::uint32_t>(coded.data() + 32 + tile * 4), (tile + 1) * 9);
    EXPECT_EQ(coded[bodies + tile * nominal], sample.in[tile * tile_size]);
    EXPECT_EQ(coded[bodies + 10 * nominal + tile * 144], std::byte{255});
  }
  sample.expect_round_trip();
}

TEST(Frame, OneTileThatDiffersAddsTheTwoSections) {
  for (std::size_t tile = 0; tile < 10; ++tile) {
    Sample sample;
    sample.make_long(tile);
    const Bytes coded = encode(sample.desc, sample.in);
    EXPECT_EQ(load<std::uint32_t>(coded.data() + 4), 0u);
    EXPECT_EQ(load<std::uint64_t>(coded.data() + 8), 10 * nominal + 16);
    const std::size_t body_ends = 128 + 10 * nominal + 16 + 10 * 144;
    const std::size_t modes = body_ends + 48;
    ASSERT_EQ(coded.size(), modes + 16);
    std::uint64_t end = 0;
    for (std::size_t i = 0; i < 10; ++i) {
      end += nominal + (i == tile ? 16 : 0);
      EXPECT_EQ(load<std::uint32_t>(coded.data() + body_ends + i * 4), end / 16);
      EXPECT_EQ(coded[modes + i], std::byte{i == tile ? toy_long : toy_runs});
    }
    sample.expect_round_trip();
  }
}

// The mode that the coder calls usual is only where bodies are put at first.
TEST(Frame, AChunkInAnotherModeThanTheUsualIsUniformToo) {
  Sample sample;
  for (std::size_t tile = 0; tile < 10; ++tile) sample.make_raw(tile);
  const Bytes coded = encode(sample.desc, sample.in);
  EXPECT_EQ(load<std::uint32_t>(coded.data() + 4), uniform_flag);
  EXPECT_EQ(load<std::uint64_t>(coded.data() + 24), raw_mode);
  ASSERT_EQ(coded.size(), 128 + 10 * tile_size);
  EXPECT_TRUE(std::equal(sample.in.begin(), sample.in.end(), coded.begin() + 128));
  sample.expect_round_trip();
}

// Bodies that must move up, move down, and both, in one chunk.
TEST(Frame, EveryMixOfModesSurvives) {
  for (unsigned pattern = 0; pattern < 1u << 10; pattern += 7) {
    Sample sample;
    for (std::size_t tile = 0; tile < 10; ++tile) {
      if ((pattern >> tile & 1) == 0) continue;
      if ((pattern + tile) % 3 == 0) sample.make_long(tile);
      if ((pattern + tile) % 3 == 1) sample.make_raw(tile);
      if ((pattern + tile) % 3 == 2) sample.make_constant(tile);
    }
    sample.expect_round_trip();
    if (testing::Test::HasFailure()) FAIL() << pattern;
  }
}

TEST(Frame, ManyGroupsOfTilesMoveWithoutLoss) {
  // 200 tiles in groups of up to 25; a raw tile early pushes all later bodies up, constant ones
  // pull them down.
  const TensorDesc desc{DType::bf16, {100, 512, 64}};
  for (const bool up_first : {true, false}) {
    Sample sample;
    sample.desc = desc;
    sample.in.resize(desc.size());
    for (std::size_t i = 0; i < sample.in.size(); i += 2) {
      sample.in[i] = static_cast<std::byte>(i * 5 + i / 768);
    }
    for (std::size_t tile = 1; tile < 200; ++tile) {
      if (tile % 10 != 9) continue;
      if ((tile < 100) == up_first) {
        sample.make_raw(tile);
        sample.make_raw(tile - 1);
      } else {
        sample.make_constant(tile);
      }
    }
    sample.expect_round_trip();
  }
}

TEST(Frame, AChunkOfNoElementsIsAllZeros) {
  EXPECT_EQ(encode({DType::fp32, {3, 0}}, {}), Bytes(bodies_alignment));
}

TEST(Frame, AChunkTooLargeForTheDirectoryIsRefused) {
  const TensorDesc desc{DType::fp64, {std::uint64_t{1} << 33}};
  EXPECT_THROW((void)max_encoded_size(desc), LogicError);
  EXPECT_THROW((void)encode_scratch_size(toy_tile_coder(), desc, 1), LogicError);
}

struct Damage {
  const char* name;
  std::size_t at;
  std::uint64_t value;
  std::size_t size;
  const char* message;
};

TEST(Frame, ADirectoryThatContradictsItselfIsRefused) {
  Sample sample;
  sample.make_long(4);
  const Bytes good = encode(sample.desc, sample.in);
  const auto body_ends = static_cast<std::size_t>(good.size() - 64);
  const std::size_t modes = good.size() - 16;
  const std::vector<Damage> damages{
      {"tiles", 0, 9, 4, "has 9 tiles where shape [5, 512, 64] has 10"},
      {"flags", 4, 2, 4, "unknown flags"},
      {"uniform", 4, 1, 4, "header says"},
      {"bodies", 8, ~std::uint64_t{0}, 8, "sizes that no tiles have"},
      {"bodies too large", 8, 1 << 30, 8, "header says"},
      {"heap", 16, std::uint64_t{1} << 63, 8, "sizes that no tiles have"},
      {"reserved", 31, 1, 1, "unknown flags"},
      {"mode though not uniform", 24, 1, 1, "unknown flags"},
      {"last heap end", 32 + 36, 89, 4, "contradicts itself"},
      {"heap padding", 32 + 40, 1, 1, "contradicts itself"},
      {"last body end", body_ends + 36, 1, 4, "contradicts itself"},
      {"body padding", body_ends + 47, 1, 1, "contradicts itself"},
      {"mode padding", modes + 10, 1, 1, "contradicts itself"},
      {"heap end falls", 32 + 12, 1, 4, "tile 3 of 10"},
      {"heap end beyond", 32 + 12, 1u << 31, 4, "tile 3 of 10"},
      {"body end falls", body_ends + 8, 0, 4, "tile 2 of 10"},
      {"unknown mode", modes + 7, 99, 1, "tile 7 of 10"},
      {"other mode", modes + 8, raw_mode, 1, "tile 8 of 10"},
  };
  for (const Damage& damage : damages) {
    Bytes bad = good;
    std::memcpy(bad.data() + damage.at, &damage.value, damage.size);
    const auto result = decode(sample.desc, bad);
    ASSERT_FALSE(result) << damage.name;
    EXPECT_THAT(result.error().message(), testing::HasSubstr(damage.message)) << damage.name;
  }
  EXPECT_TRUE(decode(sample.desc, good));
}

TEST(Frame, AUniformHeaderIsHeldAgainstTheNominalSizes) {
  const Sample sample;
  const Bytes good = encode(sample.desc, sample.in);
  for (const TileMode mode : {raw_mode, toy_constant, toy_long, TileMode{200}}) {
    Bytes bad = good;
    bad[24] = static_cast<std::byte>(mode);
    const auto result = decode(sample.desc, bad);
    ASSERT_FALSE(result) << int{mode};
    EXPECT_THAT(result.error().what, testing::HasSubstr("contradicts itself"));
  }
}

// Tile 4 is the first bad one; tile 5, where the other thread's share begins, is at work by then
// and found bad later.
TEST(Frame, TheFirstBadTileIsNamedWhateverTheThreads) {
  Sample sample;
  sample.make_long(0);
  Bytes bad = encode(sample.desc, sample.in);
  for (const std::size_t tile : {5, 4}) bad[bad.size() - 16 + tile] = std::byte{77};
  TileCoder slow = toy_tile_coder();
  slow.decode = [](DType, TileExtent, TileMode mode, std::span<const std::byte> body,
                   std::span<const std::byte>, Lines, std::byte*) {
    static std::atomic<int> at_work{0};  // bad tiles that a thread has begun
    if (mode != 77) return true;
    ++at_work;
    const bool is_tile_4 = body[0] == std::byte{4 * 64 % 256};
    while (at_work % 2 != 0 && is_tile_4) std::this_thread::yield();
    if (!is_tile_4) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return false;
  };
  Workers workers(2);
  Bytes out(sample.desc.size());
  Bytes scratch(decode_scratch_size(slow, sample.desc, 2));
  for (int round = 0; round < 5; ++round) {
    const auto result = decode_chunk(
        slow,
        {.in = bad, .desc = sample.desc, .out = out, .scratch = scratch, .workers = &workers});
    ASSERT_FALSE(result);
    EXPECT_THAT(result.error().what, testing::HasSubstr("tile 4 of 10"));
  }
}

// What the frame gave the tile code: the pitch of each tile's lines, in the order of tiles.
std::vector<std::size_t> seen_pitches;

// 300 rows of two full tiles and a narrow one: six tiles.
TEST(Frame, FullWidthTilesAreCodedWhereTheyStand) {
  const TensorDesc desc{DType::bf16, {300, 129}};
  Bytes in(desc.size());
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::byte>(i * 7 + i / 512);
  const std::size_t own = 64 * 2, wide = 129 * 2;
  TileCoder watched = toy_tile_coder();
  watched.encode = [](DType dtype, TileExtent extent, ConstLines values, std::byte* body,
                      std::byte* heap, std::byte* scratch) {
    seen_pitches.push_back(values.pitch);
    return toy_tile_coder().encode(dtype, extent, values, body, heap, scratch);
  };
  watched.decode = [](DType dtype, TileExtent extent, TileMode mode,
                      std::span<const std::byte> body, std::span<const std::byte> heap,
                      Lines values, std::byte* scratch) {
    seen_pitches.push_back(values.pitch);
    return toy_tile_coder().decode(dtype, extent, mode, body, heap, values, scratch);
  };
  Workers workers(1);
  Bytes coded(max_encoded_size(desc)), scratch(encode_scratch_size(watched, desc, 1));
  seen_pitches.clear();
  coded.resize(encode_chunk(
      watched,
      {.in = {.desc = desc, .bytes = in}, .out = coded, .scratch = scratch, .workers = &workers}));
  // Behind tile 4's last value there are two bytes: too few to read on, so it is gathered.
  EXPECT_EQ(seen_pitches, (std::vector<std::size_t>{wide, wide, own, wide, own, own}));

  scratch.assign(decode_scratch_size(watched, desc, 1), std::byte{0});
  const auto decode_range = [&](std::size_t first, std::size_t count) {
    Bytes out(count * 2);
    seen_pitches.clear();
    const auto result = decode_chunk(watched, {.in = coded,
                                               .desc = desc,
                                               .first_elem = first,
                                               .out = out,
                                               .scratch = scratch,
                                               .workers = &workers});
    EXPECT_TRUE(result.has_value());
    EXPECT_TRUE(std::equal(out.begin(), out.end(), in.begin() + static_cast<long>(first * 2)));
    return seen_pitches;
  };
  EXPECT_EQ(decode_range(0, 300 * 129),
            (std::vector<std::size_t>{wide, wide, own, wide, wide, own}));
  // Without the first value, or the last of tile 4, these tiles are decoded apart and copied.
  EXPECT_EQ(decode_range(1, 300 * 129 - 3),
            (std::vector<std::size_t>{own, wide, own, wide, own, own}));
}

TEST(Frame, ARangeDoesNotReadTilesOutsideIt) {
  Sample sample;
  sample.make_long(0);
  Bytes bad = encode(sample.desc, sample.in);
  for (std::size_t tile = 0; tile < 10; ++tile) {
    if (tile != 4 && tile != 5) bad[bad.size() - 16 + tile] = std::byte{77};
  }
  Workers workers(1);
  Bytes scratch(decode_scratch_size(toy_tile_coder(), sample.desc, 1));
  Bytes out(2 * tile_size);
  const auto decode_from = [&](std::uint64_t first) {
    return decode_chunk(toy_tile_coder(), {.in = bad,
                                           .desc = sample.desc,
                                           .first_elem = first,
                                           .out = out,
                                           .scratch = scratch,
                                           .workers = &workers});
  };
  EXPECT_TRUE(decode_from(4 * tile_values));
  EXPECT_TRUE(std::equal(out.begin(), out.end(), sample.in.begin() + 4 * tile_size));
  EXPECT_FALSE(decode_from(4 * tile_values - 1));
  EXPECT_FALSE(decode_from(4 * tile_values + 1));
}

// Of a chunk of three tiles side by side, only the middle one is sound.
TEST(Frame, ARangeDoesNotReadTheColumnsBesideIt) {
  const TensorDesc desc{DType::bf16, {20, 192}};
  const Bytes in = testing_samples::sample(desc, testing_samples::Kind::noise, 3);
  Bytes bad = encode(desc, in);
  Header header = *read_header(bad.data());
  ASSERT_TRUE(header.uniform);
  // The frame of mixed modes around the same bodies: the unsound ones get a mode that is not.
  header.uniform = false;
  const Layout at = Layout::of(header);
  bad.resize(at.size);
  write_header(header, bad.data());
  for (std::uint32_t tile = 0; tile < 3; ++tile) {
    store(bad.data() + at.body_ends + tile * 4, (tile + 1) * (20 * 64 * 2 / 16));
    store(bad.data() + at.modes + tile, tile == 1 ? raw_mode : TileMode{77});
  }
  Workers workers(1);
  Bytes scratch(decode_scratch_size(toy_tile_coder(), desc, 1));
  for (std::uint64_t first = 0; first < 600; first += 3) {
    for (std::uint64_t count = 1; count < 300; count += 7) {
      Bytes out(count * 2);
      const auto result = decode_chunk(toy_tile_coder(), {.in = bad,
                                                          .desc = desc,
                                                          .first_elem = first,
                                                          .out = out,
                                                          .scratch = scratch,
                                                          .workers = &workers});
      bool sound = true;
      for (std::uint64_t elem = first; elem < first + count; ++elem) {
        sound = sound && elem % 192 / 64 == 1;
      }
      ASSERT_EQ(result.has_value(), sound) << first << " + " << count;
      if (sound) {
        ASSERT_TRUE(std::equal(out.begin(), out.end(), in.begin() + first * 2));
      }
    }
  }
}

// A tile code that takes all it is given, so that only the frame can refuse.
TEST(Frame, EndsThatFallAreRefusedBeforeTheTileCodeSeesThem) {
  TileCoder trusting = toy_tile_coder();
  trusting.decode = [](DType, TileExtent, TileMode, std::span<const std::byte>,
                       std::span<const std::byte>, Lines, std::byte*) { return true; };
  Sample sample;
  sample.make_long(4);
  const Bytes good = encode(sample.desc, sample.in);
  Workers workers(1);
  Bytes out(sample.desc.size());
  Bytes scratch(decode_scratch_size(trusting, sample.desc, 1));
  const auto decodes = [&](const Bytes& coded) {
    const DecodeArgs args{
        .in = coded, .desc = sample.desc, .out = out, .scratch = scratch, .workers = &workers};
    return decode_chunk(trusting, args).has_value();
  };
  ASSERT_TRUE(decodes(good));
  for (const std::size_t ends : {std::size_t{32}, good.size() - 64}) {
    for (std::size_t tile = 1; tile < 9; ++tile) {
      for (const std::uint32_t end : {0u, 0x7fff'ffffu, 0xffff'ffffu}) {
        Bytes bad = good;
        store(bad.data() + ends + tile * 4, end);
        EXPECT_FALSE(decodes(bad)) << ends << " " << tile << " " << end;
      }
    }
  }
}

}  // namespace
}  // namespace tiles
}  // namespace offramp
