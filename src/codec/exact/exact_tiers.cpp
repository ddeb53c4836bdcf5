// SPDX-License-Identifier: Apache-2.0
#include "codec/exact/exact_tiers.hpp"

#include <algorithm>
#include <cstring>

namespace offramp::exact {
namespace {

std::size_t codes_size(int tier, std::size_t n) {
  return tier == 2 ? 2 * ceil_div(n, 8) : ceil_div(n, 4);
}

// v of a plane's bytes, or a plane's bytes of v: each is base + 3 minus the other. `k` is the first
// value's number.
void mirror(const BaseCycle& bases, std::size_t k, const std::uint8_t* from, std::size_t n,
            std::uint8_t* to) {
  for (std::size_t row = 0; row < n; row += tile_width) {
    const std::uint8_t* base = bases.bytes.data() + (k + row) % bases.width;
    const std::size_t size = std::min<std::size_t>(tile_width, n - row);
    for (std::size_t c = 0; c < size; ++c) {
      to[row + c] = static_cast<std::uint8_t>(base[c] + 3 - from[row + c]);
    }
  }
}

// Codes past the n-th, in the last bytes of a tier, must be 0.
bool unused_codes_are_zero(int tier, const std::uint8_t* codes, std::size_t n) {
  if (tier != 2) return n % 4 == 0 || codes[n / 4] >> (2 * (n % 4)) == 0;
  for (std::size_t t = n; t % 8 != 0; ++t) {
    if (codes[t / 8 * 2 + t % 4 / 2] >> (4 * (t % 2) + 2 * (t / 4 % 2)) & 3) return false;
  }
  return true;
}

bool all_zero(std::span<const std::uint8_t> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t b) { return b == 0; });
}

// Restores the v that tier 1 of one piece sends on to `work.stream[0]`; `piece` is all of the
// heap that it may use and `used` what it did.
bool decode_piece_heap(const Kernels& kernels, std::size_t escapes,
                       std::span<const std::uint8_t> piece, std::size_t& used,
                       const Workspace& work) {
  std::size_t count[6] = {0, 0, escapes, 0, 0, 0};
  std::size_t at[6] = {};
  for (int tier = 2; tier <= 4; ++tier) {
    const std::size_t size = codes_size(tier, count[tier]);
    if (piece.size() - at[tier] < size) return false;
    const std::uint8_t* codes = piece.data() + at[tier];
    if (!unused_codes_are_zero(tier, codes, count[tier])) return false;
    count[tier + 1] = kernels.count_escapes(codes, size);
    at[tier + 1] = at[tier] + size;
  }
  if (piece.size() - at[5] < count[5]) return false;
  used = round_up(at[5] + count[5], 4);
  if (piece.size() < used) return false;
  if (!all_zero(piece.subspan(at[5] + count[5], used - at[5] - count[5]))) return false;

  if (escapes == 0) return true;

  // Kernels read beyond the end: they get a copy.
  std::memcpy(work.codes, piece.data(), used);
  const std::uint8_t* next = work.codes + at[5];
  for (int tier = 4; tier >= 2; --tier) {
    std::uint8_t* v = work.stream[tier % 2];
    kernels.decode_tier(tier, work.codes + at[tier], count[tier], next, v);
    next = v;
  }
  return true;
}

}  // namespace

std::size_t encode_tiers(const Kernels& kernels, const std::uint8_t* plane, std::size_t n,
                         const BaseCycle& bases, std::uint16_t* starts, std::uint8_t* tier1,
                         std::uint8_t* heap, const Workspace& work) {
  std::size_t at = 0;
  for (std::size_t first = 0; first < n; first += piece_values) {
    if (first > 0) starts[first / piece_values] = static_cast<std::uint16_t>(at / 4);
    const std::size_t end = std::min(first + piece_values, n);
    std::uint8_t* v = work.stream[0];
    std::uint8_t* next = work.stream[1];
    std::size_t count = 0;
    std::size_t k = first;
    for (; k + block_values <= end; k += block_values) {
      const auto phase = static_cast<std::uint32_t>(k % bases.width);
      count += kernels.encode_block(plane + k, bases, phase, tier1 + k / 4, v + count);
    }
    if (k < end) {
      const std::size_t tail = end - k;
      mirror(bases, k, plane + k, tail, next);
      count += kernels.encode_tier(1, next, tail, work.codes, v + count);
      std::memcpy(tier1 + k / 4, work.codes, ceil_div(tail, 4));
    }
    for (int tier = 2; tier <= 4; ++tier) {
      const std::size_t left = kernels.encode_tier(tier, v, count, heap + at, next);
      at += codes_size(tier, count);
      count = left;
      std::swap(v, next);
    }
    std::memcpy(heap + at, v, count);
    at += count;
    while (at % 4 != 0) heap[at++] = 0;
  }
  return at;
}

bool TierDecoder::decode_piece(std::size_t first, std::uint8_t* piece) {
  const std::size_t end = std::min(first + piece_values, n_);
  if (end % 4 != 0 && tier1_[end / 4] >> (2 * (end % 4)) != 0) return false;
  if (first > 0 && load<std::uint16_t>(starts_ + first / piece_values * 2) != at_ / 4) return false;
  const std::size_t escapes = kernels_.count_escapes(tier1_ + first / 4, ceil_div(end - first, 4));
  std::size_t used = 0;
  if (!decode_piece_heap(kernels_, escapes, heap_.subspan(at_), used, work_)) return false;
  at_ += used;

  const std::uint8_t* next = work_.stream[0];
  std::size_t k = first;
  for (; k + block_values <= end; k += block_values, piece += block_values) {
    const auto phase = static_cast<std::uint32_t>(k % bases_.width);
    next += kernels_.decode_block(tier1_ + k / 4, bases_, phase, next, piece);
  }
  if (k < end) {
    const std::size_t tail = end - k;
    std::memcpy(work_.codes, tier1_ + k / 4, ceil_div(tail, 4));
    kernels_.decode_tier(1, work_.codes, tail, next, work_.stream[1]);
    mirror(bases_, k, work_.stream[1], tail, piece);
  }
  return true;
}

bool TierDecoder::is_finished() const noexcept {
  return padded(at_) == heap_.size() && all_zero(heap_.subspan(at_));
}

}  // namespace offramp::exact
