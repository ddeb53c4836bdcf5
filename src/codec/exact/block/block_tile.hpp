// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/exact/block/block_form.hpp"
#include "codec/exact/block/block_form_decode.hpp"
#include "codec/exact/block/block_positions_decode.hpp"
#include "codec/exact/block/block_positions_encode.hpp"
#include "codec/tiles/tile.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

// One tile by one block of threads: any dtype, extent, pitch and mode, the same bytes as the host's
// tile code. It is the general path, for what has no faster one.

namespace offramp::exact::block {

using tiles::CodedTile;
using tiles::is_sound;
using tiles::TileExtent;
using tiles::TileMode;

inline constexpr int min_tiered_bits = 3;
/// More than any section has: sizes are counted in 32 bits here.
inline constexpr std::size_t max_section = std::size_t{1} << 30;

/// What the encoder has decided on. Sizes are those of header, form and heap, without positions.
struct TilePlan {
  TileMode mode{tiles::raw_mode};
  TileForm form;
  BaseChoice bases;
  std::uint32_t body_size{};
  std::uint32_t heap_size{};

  [[nodiscard]] constexpr std::uint32_t total() const { return body_size + heap_size; }
};

/// Bits alone, in mode `planes_mode`.
[[nodiscard]] constexpr TilePlan plan_bits(const Statistics& statistics, std::uint32_t planes,
                                           std::uint32_t n) {
  const TileForm form = bit_form(statistics);
  return {.mode = planes_mode,
          .form = form,
          .bases = {},
          .body_size = header_size_of(planes) + form_body_size(form, planes, n)};
}

/// The same plan with plane `lead` as tiers over `bases`; counts them.
template <class B>
OFFRAMP_DEVICE TilePlan plan_tiers(B& block, TileMode mode, const TileForm& form,
                                   const BaseChoice& bases, Extent extent, const Work& work) {
  const auto table =
      make_base_table(bases.kind, bases.base, work.shared->bases.channel, extent.width);
  const std::uint32_t pieces = count_tiers(block, work.tier_job(extent.n, form.tiered, table));
  const std::uint32_t header = mode == planes_mode ? header_size_of(work.planes_count) : 0;
  return {.mode = mode,
          .form = form,
          .bases = bases,
          .body_size = header + form_body_size(form, work.planes_count, extent.n),
          .heap_size = padded32(heap_front_size(extent.n, bases.kind, extent.width) + pieces)};
}

/// Planes for values already split: the tiered plane as tiers or as bits, whichever is smaller.
template <class B>
OFFRAMP_DEVICE TilePlan plan_planes(B& block, const Statistics& statistics, Extent extent,
                                    bool by_channel, const Work& work) {
  const bool is_float = work.view.is_float;
  const TilePlan bits = plan_bits(statistics, work.planes_count, extent.n);
  std::uint32_t lead = 0;
  while (!is_float && lead + 1 < work.planes_count && statistics.bits.varying(lead) == 0) ++lead;
  const int lead_bits = statistics.bits.varying_bits(lead);
  if (lead_bits < min_tiered_bits) return bits;
  const std::uint8_t* plane = plane_at(work.planes, lead);
  BaseShared& shared = work.shared->bases;
  const BaseChoice bases = by_channel && is_float
                               ? choose_bases(block, plane, extent.n, extent.width, shared)
                               : choose_shared_base(block, plane, extent.n, shared);
  if (!bases.may_beat(lead_bits)) return bits;
  const TilePlan tiers =
      plan_tiers(block, planes_mode, bits.form.with_tiers(lead), bases, extent, work);
  return tiers.total() < bits.total() ? tiers : bits;
}

/// Ordinary float data, or planes where plain bits of plane 0 are smaller.
template <class B>
OFFRAMP_DEVICE TilePlan plan_ordinary(B& block, const Statistics& statistics, Extent extent,
                                      const Work& work) {
  const TilePlan bits = plan_bits(statistics, work.planes_count, extent.n);
  const BaseChoice bases =
      choose_bases(block, plane_at(work.planes, 0), extent.n, extent.width, work.shared->bases);
  if (!bases.may_beat(statistics.bits.varying_bits(0))) return bits;
  const TilePlan tiers =
      plan_tiers(block, tiered_mode, ordinary_form(work.view), bases, extent, work);
  return tiers.total() <= bits.total() ? tiers : bits;
}

[[nodiscard]] constexpr bool is_ordinary(const PlaneView& view, const Statistics& statistics) {
  if (!view.is_float || statistics.bits.varying_bits(0) < min_tiered_bits) return false;
  const std::uint64_t varying = statistics.bits.any ^ statistics.bits.all;
  return (varying | 0xff) == (used_bits(view) | 0xff);
}

/// Splits what a sparse tile keeps, and plans that.
template <class B>
OFFRAMP_DEVICE TilePlan plan_kept(B& block, const Positions& positions, std::uint32_t width,
                                  const Work& work) {
  const ConstRows kept = contiguous<const std::byte>(work.kept, positions.count);
  const Statistics statistics = take_statistics(block, work.dtype, kept);
  split(block, work.dtype, statistics.zigzag, kept, work.planes);
  return plan_planes(block, statistics, {positions.count, width}, positions.by_channel(), work);
}

/// A tile of which 1/8 or more is zero: sparse, or planes where that is as small; they are tried
/// unless they have no chance. `positions` are those of a sparse tile, else their count is 0.
template <class B>
OFFRAMP_DEVICE TilePlan plan_often_zero(B& block, const Statistics& statistics,
                                        const ConstRows& values, Extent extent, const Work& work,
                                        Positions& positions) {
  positions = choose_positions(block, values, extent, work);
  const bool is_sparse = positions.count != 0;
  TilePlan sparse;
  std::uint32_t sparse_total = 0;
  if (is_sparse) {
    sparse = plan_kept(block, positions, extent.width, work);
    sparse_total = sparse.total() + positions_size(positions, div_up(extent.n, extent.width));
    const TilePlan bits = plan_bits(statistics, work.planes_count, extent.n);
    if (2 * statistics.zeros >= extent.n && bits.total() > sparse_total) return sparse;
  }
  split(block, work.dtype, statistics.zigzag, values, work.planes);
  const TilePlan planes = plan_planes(block, statistics, extent, true, work);
  if (!is_sparse || planes.total() <= sparse_total) {
    positions.count = 0;
    return planes;
  }
  return plan_kept(block, positions, extent.width, work);  // once more, as its planes are gone
}

template <class B>
OFFRAMP_DEVICE CodedTile encode_raw(B& block, const ConstRows& values, const Work& work,
                                    std::byte* body) {
  const auto size = static_cast<std::uint32_t>(values.n * work.elem_size);
  copy_values(block, work.elem_size, values, contiguous(body, values.n));
  zero(block, reinterpret_cast<std::uint8_t*>(body), size, padded32(size));
  return {.mode = tiles::raw_mode, .body_size = padded32(size), .heap_size = 0};
}

/// Codes the tile whose rows stand `pitch` elements apart at `values`, which may have any address.
/// `body` and `heap` get exactly the bytes that the result says, together no more than raw.
template <class B>
OFFRAMP_DEVICE CodedTile encode_tile(B& block, DType dtype, TileExtent extent,
                                     const std::byte* values, std::uint64_t pitch, std::byte* body,
                                     std::byte* heap, const BlockScratch& scratch) {
  const Work work(dtype, scratch);
  const Extent whole{extent.values, extent.width};
  const ConstRows rows{values, pitch, RowDivider(extent.width), extent.values};
  const Statistics statistics = take_statistics(block, dtype, rows);

  Positions positions;
  TilePlan plan;
  if (8 * statistics.zeros >= whole.n) {
    plan = plan_often_zero(block, statistics, rows, whole, work, positions);
  } else {
    split(block, dtype, statistics.zigzag, rows, work.planes);
    plan = is_ordinary(work.view, statistics) ? plan_ordinary(block, statistics, whole, work)
                                              : plan_planes(block, statistics, whole, true, work);
  }
  const bool is_sparse = positions.count != 0;
  const std::uint32_t front = is_sparse ? positions_size(positions, extent.rows) : 0;
  if (front + plan.total() >= padded(whole.n * work.elem_size)) {
    return encode_raw(block, rows, work, body);
  }
  auto* at = reinterpret_cast<std::uint8_t*>(body);
  if (is_sparse) write_positions(block, positions, whole, work, at);
  at += front;
  if (plan.mode == planes_mode) {
    write_form_header(block, plan.form, work.planes_count, at);
    at += header_size_of(work.planes_count);
  }
  const Extent coded{is_sparse ? positions.count : whole.n, whole.width};
  encode_form(block, plan.form, plan.bases, coded, work, at, reinterpret_cast<std::uint8_t*>(heap));
  return {.mode = is_sparse ? sparse_mode : plan.mode,
          .body_size = front + plan.body_size,
          .heap_size = plan.heap_size};
}

template <class B>
OFFRAMP_DEVICE bool decode_raw(B& block, Bytes body, Bytes heap, const Work& work,
                               const Rows& values) {
  const auto size = static_cast<std::uint32_t>(values.n * work.elem_size);
  if (heap.size != 0 || body.size != padded32(size)) return false;
  if (!is_padding(body.data, size, body.size)) return false;
  const auto* from = reinterpret_cast<const std::byte*>(body.data);
  copy_values(block, work.elem_size, contiguous(from, values.n), values);
  return true;
}

/// Form header and form, to the planes and from there to `values`.
template <class B>
OFFRAMP_DEVICE bool decode_planes(B& block, Extent extent, bool by_channel, Bytes body, Bytes heap,
                                  const Work& work, const Rows& values) {
  const std::uint32_t header = header_size_of(work.planes_count);
  TileForm form;
  if (body.size < header || !read_form_header(work.view, body.data, form)) return false;
  if (!decode_form(block, form, extent, by_channel, body.from(header), heap, work)) return false;
  join(block, work.dtype, form.zigzag, work.planes, values);
  return true;
}

/// Restores the tile's values to rows `pitch` elements apart at `values`, any address, and writes
/// nothing else. False where body and heap, which may hold anything, are no tile of that mode and
/// extent: the host's tile code refuses the same.
template <class B>
OFFRAMP_DEVICE bool decode_tile(B& block, DType dtype, TileExtent extent, TileMode mode,
                                std::span<const std::byte> body, std::span<const std::byte> heap,
                                std::byte* values, std::uint64_t pitch,
                                const BlockScratch& scratch) {
  if (!is_sound(extent)) return false;
  const Work work(dtype, scratch);
  if (body.size() > max_section || heap.size() > max_section) return false;
  const Bytes coded_body{reinterpret_cast<const std::uint8_t*>(body.data()),
                         static_cast<std::uint32_t>(body.size())};
  const Bytes coded_heap{reinterpret_cast<const std::uint8_t*>(heap.data()),
                         static_cast<std::uint32_t>(heap.size())};
  const Rows rows{values, pitch, RowDivider(extent.width), extent.values};
  const Extent whole{extent.values, extent.width};

  if (mode == tiles::raw_mode) return decode_raw(block, coded_body, coded_heap, work, rows);
  if (mode == planes_mode) {
    return decode_planes(block, whole, true, coded_body, coded_heap, work, rows);
  }
  if (mode == sparse_mode) {
    const Positions positions = read_positions(block, coded_body, whole, work);
    if (positions.count == 0) return false;
    const Bytes planes = coded_body.from(positions_size(positions, extent.rows));
    const Extent kept{positions.count, extent.width};
    const Rows to = contiguous(work.kept, positions.count);
    if (!decode_planes(block, kept, positions.by_channel(), planes, coded_heap, work, to)) {
      return false;
    }
    scatter(block, positions, work, rows);
    return true;
  }
  if (mode != tiered_mode || !work.view.is_float) return false;
  const TileForm form = ordinary_form(work.view);
  if (!decode_form(block, form, whole, true, coded_body, coded_heap, work)) return false;
  join(block, dtype, false, work.planes, rows);
  return true;
}

}  // namespace offramp::exact::block
