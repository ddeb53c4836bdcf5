// SPDX-License-Identifier: Apache-2.0
// Included once for each target by dense_choice.cpp: what a sample of rows shows of the channels
// (spec.md, Sample).
#if defined(OFFRAMP_DENSE_SAMPLE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OFFRAMP_DENSE_SAMPLE_INL_H_
#undef OFFRAMP_DENSE_SAMPLE_INL_H_
#else
#define OFFRAMP_DENSE_SAMPLE_INL_H_
#endif

#include "codec/exact_dense/dense_format.hpp"

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

HWY_BEFORE_NAMESPACE();
namespace offramp::exact_dense {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::uint32_t width = tiles::tile_width;
constexpr std::uint32_t group_rows = 8;
constexpr std::uint32_t max_sampled_rows = 64;
constexpr std::uint32_t max_groups = max_sampled_rows / group_rows;
constexpr std::uint32_t bins = 32;  // sign or sign change << 4 | -e mod 16
constexpr unsigned not_counted = 128;
constexpr std::uint16_t no_maximum = 256;

// The steps stay functions of their own: inlined into one, they run a third slower.

/// What the sample shows of the channels.
struct Sample {
  /// Of each value: sign << 5 | sign change << 4 | -e mod 16, or `not_counted`.
  alignas(64) std::uint8_t codes[max_sampled_rows][width];
  alignas(64) std::uint16_t maxima[max_groups][width];
  alignas(64) std::uint16_t live[width];     // values that are counted,
  alignas(64) std::uint16_t ones[width];     // those with sign 1,
  alignas(64) std::uint16_t changes[width];  // those whose sign changes
  std::uint32_t rows;
  std::uint32_t groups;
};

/// Of one channel: what the costs are summed over.
struct Channel {
  /// [sign][i]: of e = -i mod 16, twice over, so that the counts of falling exponents lie in a row.
  alignas(64) std::uint8_t counts[2][32];
  std::uint32_t zeros;
  std::uint16_t t0;
  bool lives;
};

/// Rows whose number has none of these bits are sampled: all, pairs, or pairs of which half are
/// left out. Spread rows show more of a tile than runs of as many do.
std::uint32_t skipped_rows(TileExtent extent) {
  if (extent.rows <= max_sampled_rows) return 0;
  return extent.rows <= 2 * max_sampled_rows ? 2 : 6;
}
static_assert(tiles::tile_rows <= 4 * max_sampled_rows);

HWY_NOINLINE void take_sample(const std::uint16_t* words, TileExtent extent, Sample& sample) {
  static constexpr std::uint16_t zeros[width]{};
  const std::uint16_t* rows[max_sampled_rows];
  sample.rows = 0;
  const std::uint32_t skipped = skipped_rows(extent);
  for (std::uint32_t r = 0; r < extent.rows; ++r) {
    if ((r & skipped) == 0) rows[sample.rows++] = words + r * pitch;
  }
  sample.groups = (sample.rows + group_rows - 1) / group_rows;

  const hn::CappedTag<std::uint16_t, 32> tag;
  const hn::Rebind<std::uint8_t, decltype(tag)> bytes;
  using Vector = hn::Vec<decltype(tag)>;
  const std::size_t lanes = hn::Lanes(tag);
  const auto set = [&](unsigned value) { return hn::Set(tag, static_cast<std::uint16_t>(value)); };
  for (std::uint32_t c = 0; c < width; c += static_cast<std::uint32_t>(lanes)) {
    Vector maximum = hn::Zero(tag), live = maximum, ones = maximum, changes = maximum;
    for (std::uint32_t i = 0; i < sample.rows; ++i) {
      const Vector word = hn::LoadU(tag, rows[i] + c);
      const std::uint16_t* above = rows[i] == words ? zeros : rows[i] - pitch;
      const Vector change = hn::Xor(word, hn::LoadU(tag, above + c));
      const Vector e = hn::And(hn::ShiftRight<7>(word), set(255));
      const auto dead = e == hn::Zero(tag);
      live = hn::Sub(live, hn::VecFromMask(tag, hn::Not(dead)));
      ones = hn::Add(ones, hn::ShiftRight<15>(hn::IfThenZeroElse(dead, word)));
      changes = hn::Add(changes, hn::ShiftRight<15>(hn::IfThenZeroElse(dead, change)));
      const Vector code = hn::Or(hn::Or(hn::And(hn::ShiftRight<10>(word), set(32)),
                                        hn::And(hn::ShiftRight<11>(change), set(16))),
                                 hn::And(hn::Sub(hn::Zero(tag), e), set(15)));
      hn::StoreU(hn::TruncateTo(bytes, hn::IfThenElse(dead, set(not_counted), code)), bytes,
                 sample.codes[i] + c);
      maximum = hn::Max(maximum, e);
      if ((i + 1) % group_rows == 0 || i + 1 == sample.rows) {
        hn::Store(maximum, tag, sample.maxima[i / group_rows] + c);
        maximum = hn::Zero(tag);
      }
    }
    hn::Store(live, tag, sample.live + c);
    hn::Store(ones, tag, sample.ones + c);
    hn::Store(changes, tag, sample.changes + c);
  }
}

/// Whether the signs are better coded as changes.
HWY_NOINLINE void find_changes(const Sample& sample, std::uint8_t* change) {
  for (std::uint32_t c = 0; c < width; ++c) {
    const int n = sample.live[c];
    const int by_sign = std::abs(2 * sample.ones[c] - n);
    const int by_change = std::abs(2 * sample.changes[c] - n);
    change[c] = by_change > by_sign + n / 16 + 4;
  }
}

/// How often each bin occurs, for channels side by side.
struct BinCounts {
  alignas(64) std::uint8_t of[bins][width];
};

/// Counters live in registers, eight at a time.
HWY_NOINLINE void count_bins(const Sample& sample, const std::uint8_t* change, BinCounts& counts) {
  const hn::CappedTag<std::uint8_t, width> tag;
  using Vector = hn::Vec<decltype(tag)>;
  const std::size_t lanes = hn::Lanes(tag);
  const auto set = [&](unsigned value) { return hn::Set(tag, static_cast<std::uint8_t>(value)); };
  for (std::size_t c = 0; c < width; c += lanes) {
    const auto by_change = hn::LoadU(tag, change + c) != hn::Zero(tag);
    alignas(64) std::uint8_t binned[max_sampled_rows][width];
    for (std::uint32_t i = 0; i < sample.rows; ++i) {
      const Vector code = hn::LoadU(tag, sample.codes[i] + c);
      const Vector kept = hn::And(code, set(not_counted | 15));
      const Vector changed = hn::And(code, set(16));
      // A change of place by one bit, as there are no shifts of bytes.
      const Vector sign = hn::IfThenElseZero(hn::TestBit(code, set(32)), set(16));
      hn::Store(hn::Or(kept, hn::IfThenElse(by_change, changed, sign)), tag, binned[i]);
    }
    for (unsigned bin = 0; bin < bins; bin += 8) {
      const Vector b0 = set(bin), b1 = set(bin + 1), b2 = set(bin + 2), b3 = set(bin + 3);
      const Vector b4 = set(bin + 4), b5 = set(bin + 5), b6 = set(bin + 6), b7 = set(bin + 7);
      Vector c0 = hn::Zero(tag), c1 = c0, c2 = c0, c3 = c0, c4 = c0, c5 = c0, c6 = c0, c7 = c0;
      const auto add = [&](Vector& counter, Vector x, Vector y) HWY_ATTR {
#if HWY_TARGET <= HWY_AVX3
        counter = hn::IfThenElse(x == y, hn::Add(counter, set(1)), counter);  // one masked addition
#else
        counter = hn::Sub(counter, hn::VecFromMask(tag, x == y));
#endif
      };
      for (std::uint32_t i = 0; i < sample.rows; ++i) {
        const Vector code = hn::Load(tag, binned[i]);
        add(c0, code, b0);
        add(c1, code, b1);
        add(c2, code, b2);
        add(c3, code, b3);
        add(c4, code, b4);
        add(c5, code, b5);
        add(c6, code, b6);
        add(c7, code, b7);
      }
      std::uint32_t row = bin;
      for (const Vector counter : {c0, c1, c2, c3, c4, c5, c6, c7}) {
        hn::StoreU(counter, tag, counts.of[row++] + c);
      }
    }
  }
}

/// Counts of bins side by side to counts of channels side by side.
HWY_NOINLINE void gather_counts(const BinCounts& counts, const Sample& sample, std::uint32_t count,
                                Channel* channels) {
  constexpr std::uint32_t size = 16;
  for (std::uint32_t s = 0; s < 2; ++s) {
    const std::uint8_t(*rows)[width] = counts.of + s * size;
#if HWY_TARGET == HWY_SCALAR
    for (std::uint32_t c = 0; c < count; ++c) {
      std::uint8_t* to = channels[c].counts[s];
      for (std::uint32_t i = 0; i < size; ++i) to[i] = to[size + i] = rows[i][c];
    }
#else
    const hn::FixedTag<std::uint8_t, size> tag;
    for (std::uint32_t first = 0; first < count; first += size) {
      hn::Vec<decltype(tag)> x[size], y[size];
      for (std::uint32_t i = 0; i < size; ++i) x[i] = hn::Load(tag, rows[i] + first);
      // Each round moves a bit of the row's number to the column's.
      for (std::uint32_t round = 0; round < 4; ++round) {
        for (std::uint32_t i = 0; i < size / 2; ++i) {
          y[2 * i] = hn::InterleaveLower(tag, x[i], x[i + size / 2]);
          y[2 * i + 1] = hn::InterleaveUpper(tag, x[i], x[i + size / 2]);
        }
        for (std::uint32_t i = 0; i < size; ++i) x[i] = y[i];
      }
      for (std::uint32_t i = 0; i < size && first + i < count; ++i) {
        std::uint8_t* to = channels[first + i].counts[s];
        hn::Store(x[i], tag, to);
        hn::Store(x[i], tag, to + size);
      }
    }
#endif
  }
  for (std::uint32_t c = 0; c < count; ++c) channels[c].zeros = sample.rows - sample.live[c];
}

/// Sorts each channel's maxima, those of groups without a value behind the others.
HWY_NOINLINE void sort_maxima(Sample& sample) {
  for (std::uint32_t g = 0; g < sample.groups; ++g) {
    std::uint16_t* row = sample.maxima[g];
    for (std::uint32_t c = 0; c < width; ++c) row[c] = row[c] == 0 ? no_maximum : row[c];
  }
  for (std::uint32_t pass = 0; pass < sample.groups; ++pass) {
    for (std::uint32_t g = pass % 2; g + 1 < sample.groups; g += 2) {
      std::uint16_t* low = sample.maxima[g];
      std::uint16_t* high = sample.maxima[g + 1];
      for (std::uint32_t c = 0; c < width; ++c) {
        const std::uint16_t least = std::min(low[c], high[c]);
        high[c] = std::max(low[c], high[c]);
        low[c] = least;
      }
    }
  }
}

/// The lower quartile of the groups' maxima: neither rare outliers nor zeros move it.
HWY_NOINLINE void find_t0(const Sample& sample, std::uint32_t count, Channel* channels) {
  std::uint16_t live[width]{};
  for (std::uint32_t g = 0; g < sample.groups; ++g) {
    for (std::uint32_t c = 0; c < width; ++c) {
      live[c] = static_cast<std::uint16_t>(live[c] + (sample.maxima[g][c] != no_maximum));
    }
  }
  for (std::uint32_t c = 0; c < count; ++c) {
    channels[c].lives = live[c] > 0;
    channels[c].t0 = live[c] > 0 ? sample.maxima[live[c] / 4][c] : std::uint16_t{0};
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace offramp::exact_dense
HWY_AFTER_NAMESPACE();

#endif  // OFFRAMP_DENSE_SAMPLE_INL_H_
