// SPDX-License-Identifier: Apache-2.0
// What tiles must shrink to. Bounds lie a little above what is measured, and below what a code
// without the trait under test reaches.
#include "dense_fixture.hpp"

#include <fstream>
#include <string>

namespace offramp::exact_dense {
namespace {

double ratio(DType dtype, TileExtent extent, const Coded& coded) {
  return static_cast<double>(extent.values * size_of(dtype)) /
         static_cast<double>(coded.size() + 4);
}

double ratio_of(DType dtype, TileExtent extent, const Bytes& values,
                tiles::TileMode mode = plain_mode) {
  const Coded coded = round_trip(kernels(), dtype, extent, values);
  EXPECT_EQ(int{coded.mode}, int{mode});
  return ratio(dtype, extent, coded);
}

struct Random {
  Engine bits{4};
  std::normal_distribution<double> normal;
  std::exponential_distribution<double> exponential;
  std::uniform_real_distribution<double> uniform{0, 1};

  double sign() { return bits() % 2 == 0 ? 1 : -1; }
  double gauss() { return normal(bits); }
  double laplace() { return exponential(bits) * sign(); }
};

double family_ratio(const std::function<double(Random&, std::uint32_t channel)>& f,
                    DType dtype = DType::bf16) {
  Random random;
  return ratio_of(dtype, full, make_values(dtype, full, [&](std::uint32_t, std::uint32_t c) {
                    return f(random, c);
                  }));
}

TEST(DenseSizes, SyntheticFamilies) {
  EXPECT_GT(family_ratio([](Random& r, auto) { return r.gauss(); }), 1.503);
  EXPECT_GT(family_ratio([](Random& r, auto) { return r.laplace(); }), 1.46);
  EXPECT_GT(family_ratio([](Random& r, auto) { return r.uniform(r.bits) * r.sign(); }), 1.53);
  // Scales of a mixture, logistic and product shapes.
  EXPECT_GT(family_ratio([](Random& r, auto) { return r.gauss() * (r.bits() % 2 ? 1 : 0.1); }),
            1.39);
  EXPECT_GT(family_ratio([](Random& r, auto) {
              const double u = 0.0001 + 0.9998 * r.uniform(r.bits);
              return std::log(u / (1 - u));
            }),
            1.49);
  EXPECT_GT(family_ratio([](Random& r, auto) { return r.gauss() * r.gauss(); }), 1.41);
}

// Signs that a channel prefers, either way.
TEST(DenseSizes, MirroredSignsCostTheSame) {
  const double up = family_ratio([](Random& r, auto) { return r.gauss() + 1.5; });
  const double down = family_ratio([](Random& r, auto) { return r.gauss() - 1.5; });
  EXPECT_GT(up, 1.67);
  EXPECT_NEAR(up, down, 0.01);
}

TEST(DenseSizes, SignsThatHoldAreCodedAsChanges) {
  Random random;
  const auto values = make_values(DType::bf16, full, [&](std::uint32_t r, std::uint32_t c) {
    return std::abs(random.gauss()) * ((r / 32 + c) % 2 == 0 ? 1 : -1);
  });
  EXPECT_GT(ratio_of(DType::bf16, full, values), 1.585);  // 1.51 without
}

TEST(DenseSizes, ChannelsOfManyScales) {
  EXPECT_GT(ratio_of(DType::bf16, full, normal_channels(DType::bf16, full, 1, 12)), 1.495);
  // Wider than nibbles reach.
  EXPECT_GT(ratio_of(DType::bf16, full, normal_channels(DType::bf16, full, 1, 60)), 1.49);
}

TEST(DenseSizes, RareOutliersDragNoBase) {
  for (const double factor : {1e3, 1e12, 1e30}) {
    EXPECT_GT(family_ratio([factor](Random& r, auto) {
                return r.gauss() * (r.bits() % 200 == 0 ? factor : 1);
              }),
              1.48)
        << factor;
  }
}

TEST(DenseSizes, AFewZerosCostLittle) {
  EXPECT_GT(family_ratio([](Random& r, auto) { return r.bits() % 25 == 0 ? 0.0 : r.gauss(); }),
            1.45);
}

// Many values are zero, in all channels or in half of them: a bit each, and the rest as usual.
TEST(DenseSizes, ZeroHeavyTiles) {
  for (const unsigned percent : {20U, 30U, 50U, 70U, 95U}) {
    for (const bool some : {false, true}) {
      Random random;
      std::uint32_t kept = 0;
      const auto values = make_values(DType::bf16, full, [&](std::uint32_t, std::uint32_t c) {
        const bool zero = random.bits() % 100 < percent && (!some || c % 2 == 0);
        kept += !zero;
        return zero ? 0.0 : random.gauss() * std::exp2(c % 7);
      });
      const Coded coded = round_trip(kernels(), DType::bf16, full, values);
      // Where almost all are zero the exact code's positions are shorter than a bit each.
      EXPECT_EQ(int{coded.mode} == int{sparse_mode}, percent < 95 || some) << percent << some;
      const double deserved = full.values / 8.0 + kept * 2 / 1.42 + 160;
      EXPECT_LT(static_cast<double>(coded.size()), deserved) << percent << some;
    }
  }
}

// ReLU outputs: half are zero, no sign. The exact code's sparse form may win.
TEST(DenseSizes, ReluOutputs) {
  Random random;
  const auto values = make_values(DType::bf16, full, [&](std::uint32_t, std::uint32_t) {
    return std::max(0.0, random.gauss());
  });
  EXPECT_GT(ratio(DType::bf16, full, round_trip(kernels(), DType::bf16, full, values)), 2.6);
}

TEST(DenseSizes, ConstantAndEmptyTilesAreTiny) {
  for (const DType dtype : float_dtypes) {
    for (const double x : {0.0, 0.1, -3.0}) {
      const auto values = make_values(dtype, full, [&](auto, auto) { return x; });
      EXPECT_LE(round_trip(kernels(), dtype, full, values).size(), 64U);
    }
  }
}

TEST(DenseSizes, Fp32ThatIsNarrower) {
  const auto narrowed = [](DType narrow, DType wide) {
    Random random;
    const unsigned kept = mantissa_bits(narrow);
    return make_values(wide, full, [&](std::uint32_t, std::uint32_t) {
      const auto bits = std::bit_cast<std::uint64_t>(random.gauss());
      return std::bit_cast<double>(bits >> (52 - kept) << (52 - kept));
    });
  };
  EXPECT_GT(ratio_of(DType::fp32, full, narrowed(DType::bf16, DType::fp32), trimmed_mode), 3.0);
  EXPECT_GT(ratio_of(DType::fp32, full, narrowed(DType::fp16, DType::fp32), trimmed_mode), 2.34);
  EXPECT_GT(ratio_of(DType::fp64, full, narrowed(DType::fp32, DType::fp64), trimmed_mode), 2.40);
}

TEST(DenseSizes, OtherDtypes) {
  const auto gauss = [](Random& r, auto) { return r.gauss(); };
  EXPECT_GT(family_ratio(gauss, DType::fp16), 1.17);
  EXPECT_GT(family_ratio(gauss, DType::fp32), 1.20);
  EXPECT_GT(family_ratio(gauss, DType::fp64), 1.14);
  EXPECT_GT(family_ratio(gauss, DType::fp8_e4m3), 1.20);
  EXPECT_GT(family_ratio(gauss, DType::fp8_e5m2), 1.415);
}

TEST(DenseSizes, SmallTiles) {
  for (const auto& [rows, least] :
       std::vector<std::pair<std::uint32_t, double>>{{16, 1.44}, {32, 1.47}, {64, 1.49}}) {
    Random random;
    const TileExtent extent = extent_of(rows, 64);
    const auto values = make_values(DType::bf16, extent,
                                    [&](std::uint32_t, std::uint32_t) { return random.gauss(); });
    EXPECT_GT(ratio(DType::bf16, extent, round_trip(kernels(), DType::bf16, extent, values)), least)
        << rows;
  }
}

TEST(DenseSizes, NothingGrows) {
  for (const DType dtype : all_dtypes()) {
    for (const TileExtent extent : {full, extent_of(5, 64), extent_of(1, 1), extent_of(3, 5, 1)}) {
      // encode() compares with raw.
      round_trip(kernels(), dtype, extent, random_bytes(extent.values * size_of(dtype), 9));
    }
  }
}

// Real tensors: the first full tiles of each matrix in data/.
double file_ratio(const std::string& name, std::size_t channels) {
  std::ifstream file(std::string(OFFRAMP_DATA_DIR) + "/" + name, std::ios::binary);
  std::uint64_t header = 0;
  file.read(reinterpret_cast<char*>(&header), 8);
  file.seekg(static_cast<std::streamoff>(8 + header));
  const std::size_t band = 256 * channels * 2;
  Bytes rows(band);
  std::size_t raw = 0;
  std::size_t coded = 0;
  while (file.read(reinterpret_cast<char*>(rows.data()), static_cast<std::streamsize>(band))) {
    for (std::size_t c = 0; c + 64 <= channels; c += 64) {
      Bytes values(full.values * 2);
      for (std::size_t r = 0; r < 256; ++r) {
        std::copy_n(rows.begin() + static_cast<long>((r * channels + c) * 2), 128,
                    values.begin() + static_cast<long>(r * 128));
      }
      coded += round_trip(kernels(), DType::bf16, full, values).size() + 4;
      raw += values.size();
    }
  }
  EXPECT_GT(raw, std::size_t{256} * 1024) << name << " is not where it should be";
  return static_cast<double>(raw) / static_cast<double>(coded);
}

TEST(DenseSizes, RealKeysAndValues) {
  EXPECT_GT(file_ratio("kv_docs.safetensors", 64), 1.55);
  EXPECT_GT(file_ratio("kv_code.safetensors", 64), 1.55);
}

TEST(DenseSizes, RealHiddenStates) { EXPECT_GT(file_ratio("hidden_docs.safetensors", 576), 1.507); }

}  // namespace
}  // namespace offramp::exact_dense
