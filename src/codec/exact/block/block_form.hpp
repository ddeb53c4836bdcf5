// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/exact/block/block_positions.hpp"
#include "codec/exact/block/block_work.hpp"

#include <cstddef>
#include <cstdint>

namespace offramp::exact::block {

/// How the planes of a body are stored (spec.md, Form); plane p's mask and constant in byte p.
struct TileForm {
  bool has_tiers{};
  std::uint32_t tiered{};  ///< the tiered plane's number, if there is one
  bool zigzag{};
  std::uint64_t mask{};
  std::uint64_t constant{};

  [[nodiscard]] constexpr bool is_tiered(std::uint32_t plane) const {
    return has_tiers && plane == tiered;
  }
  [[nodiscard]] constexpr std::uint8_t mask_of(std::uint32_t plane) const {
    return byte_of(mask, plane);
  }
  /// The same with a plane as tiers.
  [[nodiscard]] constexpr TileForm with_tiers(std::uint32_t plane) const {
    const std::uint64_t others = ~(std::uint64_t{0xff} << (8 * plane));
    return {true, plane, zigzag, mask & others, constant & others};
  }
};

[[nodiscard]] constexpr std::uint64_t used_bits(const PlaneView& view) {
  std::uint64_t used = 0;
  for (std::size_t p = 0; p < view.planes; ++p) used |= std::uint64_t{view.used[p]} << (8 * p);
  return used;
}

/// The form of ordinary data: plane 0 tiered, the others kept whole.
[[nodiscard]] constexpr TileForm ordinary_form(const PlaneView& view) {
  return TileForm{.mask = used_bits(view)}.with_tiers(0);
}

/// The bits that vary as bit planes.
[[nodiscard]] constexpr TileForm bit_form(const Statistics& statistics) {
  const PlaneBits& bits = statistics.bits;
  return {.zigzag = statistics.zigzag, .mask = bits.any ^ bits.all, .constant = bits.all};
}

/// Bytes of a plane's section without its padding.
[[nodiscard]] constexpr std::uint32_t plane_content(std::uint32_t n, std::uint8_t mask) {
  if (mask == 0xff) return n;
  return count_ones(mask) * div_up(n, 8);
}

/// Of the sections in the body.
[[nodiscard]] constexpr std::uint32_t form_body_size(const TileForm& form, std::uint32_t planes,
                                                     std::uint32_t n) {
  std::uint32_t size = form.has_tiers ? padded32(div_up(n, 4)) : 0;
  for (std::uint32_t p = 0; p < planes; ++p) size += padded32(plane_content(n, form.mask_of(p)));
  return size;
}

[[nodiscard]] constexpr std::uint32_t header_size_of(std::uint32_t planes) {
  return padded32(2 + 2 * planes);
}

[[nodiscard]] constexpr std::uint32_t starts_content(std::uint32_t n) { return 2 * piece_count(n); }
[[nodiscard]] constexpr std::uint32_t bases_content(Bases kind, std::uint32_t width) {
  return kind == Bases::byte ? width : kind == Bases::nibble ? div_up(width, 2) : 0;
}
/// Starts and bases, in front of the pieces.
[[nodiscard]] constexpr std::uint32_t heap_front_size(std::uint32_t n, Bases kind,
                                                      std::uint32_t width) {
  return padded32(starts_content(n)) + padded32(bases_content(kind, width));
}

/// u8 flags: bit 0 a plane is tiered, bits 2 to 4 which one, bit 5 zigzag.
inline constexpr std::uint32_t tiers_flag = 1, tiered_shift = 2, zigzag_flag = 32;

template <class B>
OFFRAMP_DEVICE void write_form_header(B& block, const TileForm& form, std::uint32_t planes,
                                      std::uint8_t* to) {
  const std::uint32_t flags = (form.has_tiers ? tiers_flag | form.tiered << tiered_shift : 0) |
                              (form.zigzag ? zigzag_flag : 0);
  block.for_each(header_size_of(planes), [&](std::uint32_t i) {
    const std::uint32_t p = i / 2 - 1;
    const bool has_field = i >= 2 && p < planes;
    to[i] = i == 0       ? static_cast<std::uint8_t>(flags)
            : !has_field ? std::uint8_t{}
                         : byte_of(i % 2 == 0 ? form.mask : form.constant, p);
  });
}

/// Starts and bases.
template <class B>
OFFRAMP_DEVICE void write_heap_front(B& block, const BaseChoice& bases, Extent extent,
                                     const Work& work, std::uint8_t* heap) {
  const std::uint32_t starts = padded32(starts_content(extent.n));
  const std::uint32_t content = bases_content(bases.kind, extent.width);
  const std::uint8_t* channel = work.shared->bases.channel;
  block.for_each(starts / 2, [&](std::uint32_t p) {
    std::uint32_t start = 0;
    if (p == 0) {
      start = static_cast<std::uint32_t>(bases.kind) << 8 | bases.base;
    } else if (p < piece_count(extent.n)) {
      start = work.shared->tiers.at[2][p] / 4;
    }
    store(heap + 2 * p, static_cast<std::uint16_t>(start));
  });
  block.for_each(padded32(content), [&](std::uint32_t i) {
    std::uint32_t byte = 0;
    if (i < content && bases.kind == Bases::byte) byte = channel[i];
    if (i < content && bases.kind == Bases::nibble) {
      byte = (channel[2 * i] - bases.base) & 0xfu;
      if (2 * i + 1 < extent.width) byte |= ((channel[2 * i + 1] - bases.base) & 0xfu) << 4;
    }
    heap[starts + i] = static_cast<std::uint8_t>(byte);
  });
}

/// Writes the sections of `form` for the planes in `work`: `form_body_size` bytes to `body`; with a
/// tiered plane also starts, bases and the pieces, as `count_tiers` found them, to `heap`.
template <class B>
OFFRAMP_DEVICE void encode_form(B& block, const TileForm& form, const BaseChoice& bases,
                                Extent extent, const Work& work, std::uint8_t* body,
                                std::uint8_t* heap) {
  const std::uint32_t n = extent.n;
  if (form.has_tiers) {
    const auto table =
        make_base_table(bases.kind, bases.base, work.shared->bases.channel, extent.width);
    const std::uint32_t front = heap_front_size(n, bases.kind, extent.width);
    const std::uint32_t end = front + work.shared->tiers.end;
    write_heap_front(block, bases, extent, work, heap);
    encode_tiers(block, work.tier_job(n, form.tiered, table), body, heap + front);
    zero(block, heap, end, padded32(end));
    zero(block, body, div_up(n, 4), padded32(div_up(n, 4)));
    body += padded32(div_up(n, 4));
  }
  for (std::uint32_t p = 0; p < work.planes_count; ++p) {
    const std::uint8_t mask = form.mask_of(p);
    if (mask == 0) continue;
    const std::uint8_t* plane = plane_at(work.planes, p);
    if (mask == 0xff) {
      store_bytes(block, plane, n, body);
    } else {
      store_bits(block, plane, n, mask, body);
    }
    const std::uint32_t content = plane_content(n, mask);
    zero(block, body, content, padded32(content));
    body += padded32(content);
  }
}

}  // namespace offramp::exact::block
