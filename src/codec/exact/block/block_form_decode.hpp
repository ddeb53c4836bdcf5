// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/exact/block/block_form.hpp"
#include "codec/exact/block/block_tiers_decode.hpp"

#include <cstddef>
#include <cstdint>

namespace offramp::exact::block {

/// False where no encoder writes such a header for that dtype. `from` has `header_size_of` bytes.
[[nodiscard]] OFFRAMP_DEVICE inline bool read_form_header(const PlaneView& view,
                                                          const std::uint8_t* from,
                                                          TileForm& form) {
  const auto planes = static_cast<std::uint32_t>(view.planes);
  const std::uint32_t flags = from[0];
  constexpr std::uint32_t known = tiers_flag | 7 << tiered_shift | zigzag_flag;
  if ((flags & ~known) != 0 || from[1] != 0) return false;
  if (!is_padding(from, 2 + 2 * planes, header_size_of(planes))) return false;
  form = {.has_tiers = (flags & tiers_flag) != 0,
          .tiered = flags >> tiered_shift & 7,
          .zigzag = (flags & zigzag_flag) != 0};
  for (std::uint32_t p = 0; p < planes; ++p) {
    form.mask |= std::uint64_t{from[2 + 2 * p]} << (8 * p);
    form.constant |= std::uint64_t{from[3 + 2 * p]} << (8 * p);
  }
  if (form.tiered >= planes || (!form.has_tiers && form.tiered != 0)) return false;
  if (form.zigzag && view.is_float) return false;
  const std::uint64_t stated = form.mask | form.constant;
  if ((form.mask & form.constant) != 0 || (stated & ~used_bits(view)) != 0) return false;
  return !form.has_tiers || byte_of(stated, form.tiered) == 0;
}

/// What stands in front of the pieces, beside the starts of those behind the first.
struct HeapFront {
  Bases kind{Bases::shared};
  std::uint8_t base{};  ///< the one for all, or the nibbles' origin
};

/// Reads it, the channels' bases to shared memory. False where no encoder writes such.
template <class B>
OFFRAMP_DEVICE bool read_heap_front(B& block, Bytes heap, Extent extent, bool by_channel,
                                    BaseShared& shared, HeapFront& front) {
  const std::uint32_t starts = padded32(starts_content(extent.n));
  if (heap.size < starts || !is_padding(heap.data, starts_content(extent.n), starts)) return false;
  if (heap.data[1] < 1 || heap.data[1] > 3) return false;
  front = {static_cast<Bases>(heap.data[1]), heap.data[0]};
  if (front.kind == Bases::shared) return true;

  const bool in_bytes = front.kind == Bases::byte;
  const std::uint32_t width = extent.width, content = bases_content(front.kind, width);
  const Bytes section = heap.from(starts);
  if (!by_channel || section.size < padded32(content)) return false;
  if (!is_padding(section.data, content, padded32(content))) return false;
  if (in_bytes ? front.base != 0 : width % 2 != 0 && section.data[width / 2] >> 4 != 0) {
    return false;
  }
  block.for_each(width, [&](std::uint32_t c) {
    const unsigned byte = section.data[in_bytes ? c : c / 2];
    const unsigned base = in_bytes ? byte : front.base + (byte >> (4 * (c % 2)) & 0xf);
    shared.channel[c] = static_cast<std::uint8_t>(base);
  });
  return true;
}

/// Restores all planes but the tiered one. `body` is what follows tier 1, of the right size.
template <class B>
OFFRAMP_DEVICE bool load_planes(B& block, const TileForm& form, std::uint32_t n,
                                const std::uint8_t* body, const Work& work) {
  for (std::uint32_t p = 0; p < work.planes_count; ++p) {
    if (form.is_tiered(p)) continue;
    const std::uint8_t mask = form.mask_of(p);
    const std::uint32_t content = plane_content(n, mask);
    std::uint8_t* const plane = plane_at(work.planes, p);
    if (!is_padding(body, content, padded32(content))) return false;
    if (mask == 0xff) {
      load_bytes(block, body, n, plane);
    } else if (!load_bits(block, body, n, mask, byte_of(form.constant, p), plane)) {
      return false;
    }
    body += padded32(content);
  }
  return true;
}

/// Restores the planes in `work`. The bytes are untrusted; `form` is sound.
template <class B>
OFFRAMP_DEVICE bool decode_form(B& block, const TileForm& form, Extent extent, bool by_channel,
                                Bytes body, Bytes heap, const Work& work) {
  const std::uint32_t n = extent.n;
  if (body.size != form_body_size(form, work.planes_count, n)) return false;
  if (!form.has_tiers) {
    return heap.size == 0 && load_planes(block, form, n, body.data, work);
  }
  HeapFront front;
  BaseShared& shared = work.shared->bases;
  if (!read_heap_front(block, heap, extent, by_channel, shared, front)) return false;
  const std::uint32_t codes = div_up(n, 4);
  if (!is_padding(body.data, codes, padded32(codes))) return false;

  const Bytes pieces = heap.from(heap_front_size(n, front.kind, extent.width));
  const CodedTiers coded{heap.data, body.data, pieces.data, pieces.size};
  const auto bases = make_base_table(front.kind, front.base, shared.channel, extent.width);
  if (!decode_tiers(block, coded, work.tier_job(n, form.tiered, bases))) return false;
  const std::uint8_t used = work.view.used[form.tiered];
  if (used != 0xff && (bits_of_plane(block, plane_at(work.planes, form.tiered), n) & ~used) != 0) {
    return false;
  }
  return load_planes(block, form, n, body.data + padded32(codes), work);
}

}  // namespace offramp::exact::block
