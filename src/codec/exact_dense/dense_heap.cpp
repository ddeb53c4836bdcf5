// SPDX-License-Identifier: Apache-2.0
#include "codec/exact_dense/dense_heap.hpp"

#include "codec/exact_dense/class_models.hpp"
#include "codec/tiles/words.hpp"
#include "core/bytes.hpp"

#include <algorithm>
#include <cstring>

namespace offramp::exact_dense {
namespace {

constexpr unsigned count_planes = 5;

/// What is written of a plan.
struct SideForm {
  std::uint8_t form{};
  std::uint8_t top{};
  std::uint8_t class_of{};
};

SideForm side_form(TileExtent extent, const TilePlan& plan) {
  const auto [least, greatest] = std::minmax_element(plan.top, plan.top + extent.width);
  const bool wide = plan.form != shared_form && *greatest - *least > 15;
  const bool changes = std::any_of(plan.change, plan.change + extent.width,
                                   [](std::uint8_t change) { return change != 0; });
  SideForm side;
  side.form = static_cast<std::uint8_t>(plan.form | (wide ? wide_tops_flag : 0) |
                                        (changes ? changes_flag : 0));
  side.top = wide ? 0 : *greatest;
  side.class_of = plan.form == classes_form ? 0 : plan.class_of[0];
  return side;
}

std::size_t heads_size(TileExtent extent, const StreamEnds& ends) {
  std::size_t bits = 0;
  for (std::uint32_t l = 0; l < lanes_of(extent); ++l) bits += ends.head_bits[l];
  return ceil_div(bits, 32) * 4;
}

std::size_t piece_size(TileExtent extent, std::uint8_t form, std::size_t words, std::size_t heads) {
  return round_up(
      heap_header_size + side_size(extent, form) + (words + lanes_of(extent)) * 4 + heads,
      tiles::section_alignment);
}

/// Values below 16, two a byte.
std::uint8_t* write_nibbles(std::uint8_t* out, std::uint32_t count, auto&& value) {
  for (std::uint32_t c = 0; c + 1 < count; c += 2) {
    *out++ = static_cast<std::uint8_t>(value(c) | value(c + 1) << 4);
  }
  if (count % 2 == 1) *out++ = static_cast<std::uint8_t>(value(count - 1));
  return out;
}

/// Values of one bit, eight a byte.
std::uint8_t* write_bits(std::uint8_t* out, std::uint32_t count, auto&& value) {
  for (std::uint32_t first = 0; first < count; first += 8) {
    const std::uint32_t end = std::min(first + 8, count);
    unsigned byte = 0;
    for (std::uint32_t i = first; i < end; ++i) byte |= value(i) << (i - first);
    *out++ = static_cast<std::uint8_t>(byte);
  }
  return out;
}

/// Reads the side data; false where bits that nothing uses are set.
bool read_side(TileExtent extent, SideForm side, const std::byte* from, HeapPiece& piece) {
  const std::byte* const start = from;
  const auto next = [&from] { return std::to_integer<std::uint8_t>(*from++); };
  const std::uint32_t lanes = lanes_of(extent);
  unsigned unused = 0;
  for (unsigned i = 0; i < count_planes; ++i) {
    for (std::uint32_t l = 0; l < round_up(lanes, 8); l += 8) {
      const unsigned bits = next();
      for (std::uint32_t j = 0; j < 8; ++j) {
        const unsigned bit = bits >> j & 1;
        if (l + j < lanes) {
          piece.ends.head_bits[l + j] |= bit << i;
        } else {
          unused |= bit;
        }
      }
    }
  }
  const auto read_nibbles = [&](auto&& set) {
    for (std::uint32_t c = 0; c < extent.width; c += 2) {
      const std::uint8_t both = next();
      set(c, both & 15);
      if (c + 1 < extent.width) {
        set(c + 1, both >> 4);
      } else {
        unused |= both >> 4;
      }
    }
  };

  TilePlan& plan = piece.plan;
  plan.form = side.form & form_mask;
  std::fill_n(plan.top, extent.width, side.top);
  std::fill_n(plan.class_of, extent.width, side.class_of);
  if ((side.form & wide_tops_flag) != 0) {
    for (std::uint32_t c = 0; c < extent.width; ++c) plan.top[c] = next();
  } else if (plan.form != shared_form) {
    read_nibbles([&](std::uint32_t c, int nibble) {
      plan.top[c] = static_cast<std::uint8_t>(side.top - nibble);
    });
  }
  if (plan.form == classes_form) {
    read_nibbles(
        [&](std::uint32_t c, int nibble) { plan.class_of[c] = static_cast<std::uint8_t>(nibble); });
  }
  if ((side.form & changes_flag) != 0) {
    for (std::uint32_t c = 0; c < round_up(extent.width, 8); c += 8) {
      const unsigned bits = next();
      for (std::uint32_t j = 0; j < 8; ++j) {
        const unsigned bit = bits >> j & 1;
        if (c + j < extent.width) {
          plan.change[c + j] = static_cast<std::uint8_t>(bit);
        } else {
          unused |= bit;
        }
      }
    }
  }
  return unused == 0 && tiles::is_zero({from, start + side_size(extent, side.form)});
}

bool is_valid(SideForm side) {
  const unsigned base = side.form & form_mask;
  const bool wide = (side.form & wide_tops_flag) != 0;
  if (base > classes_form || (side.form & ~(form_mask | wide_tops_flag | changes_flag)) != 0) {
    return false;
  }
  if (wide && (base == shared_form || side.top != 0)) return false;
  return base == classes_form ? side.class_of == 0 : side.class_of < class_count;
}

}  // namespace

std::size_t heap_piece_size(TileExtent extent, const TilePlan& plan, const StreamEnds& ends,
                            std::size_t words) {
  return piece_size(extent, side_form(extent, plan).form, words, heads_size(extent, ends));
}

void write_heap_piece(TileExtent extent, const TilePlan& plan, const StreamEnds& ends,
                      unsigned rest_bits, std::span<const std::uint32_t> stream, std::byte* heap) {
  const std::uint32_t lanes = lanes_of(extent);
  const SideForm side = side_form(extent, plan);
  auto* out = reinterpret_cast<std::uint8_t*>(heap);
  store(out, static_cast<std::uint16_t>(stream.size()));
  out[2] = side.form;
  out[3] = side.top;
  out[4] = side.class_of;
  out[5] = static_cast<std::uint8_t>(rest_bits);
  store(out + 6, std::uint16_t{0});
  out += heap_header_size;

  std::uint8_t* const side_end = out + side_size(extent, side.form);
  for (unsigned i = 0; i < count_planes; ++i) {
    out = write_bits(out, lanes, [&](std::uint32_t l) { return ends.head_bits[l] >> i & 1; });
  }
  if ((side.form & wide_tops_flag) != 0) {
    out = std::copy_n(plan.top, extent.width, out);
  } else if (plan.form != shared_form) {
    out = write_nibbles(out, extent.width, [&](std::uint32_t c) { return side.top - plan.top[c]; });
  }
  if (plan.form == classes_form) {
    out = write_nibbles(out, extent.width, [&](std::uint32_t c) { return plan.class_of[c]; });
  }
  if ((side.form & changes_flag) != 0) {
    out = write_bits(out, extent.width, [&](std::uint32_t c) { return unsigned{plan.change[c]}; });
  }
  out = std::fill_n(out, side_end - out, std::uint8_t{0});

  std::memcpy(out, stream.data(), stream.size_bytes());
  out += stream.size_bytes();
  std::memcpy(out, ends.buffer, lanes * std::size_t{4});
  out += lanes * std::size_t{4};

  std::uint64_t bits = 0;
  unsigned held = 0;
  for (std::uint32_t l = 0; l < lanes; ++l) {
    bits |= static_cast<std::uint64_t>(ends.head[l]) << held;
    held += ends.head_bits[l];
    if (held < 32) continue;
    store(out, static_cast<std::uint32_t>(bits));
    out += 4;
    bits >>= 32;
    held -= 32;
  }
  if (held > 0) {
    store(out, static_cast<std::uint32_t>(bits));
    out += 4;
  }
  auto* const end = reinterpret_cast<std::uint8_t*>(heap) +
                    piece_size(extent, side.form, stream.size(), heads_size(extent, ends));
  std::fill(out, end, std::uint8_t{0});
}

std::optional<HeapPiece> read_heap_piece(TileExtent extent, std::span<const std::byte> heap) {
  const std::uint32_t lanes = lanes_of(extent);
  ByteCursor cursor(heap);
  const std::size_t words = cursor.take<std::uint16_t>();
  SideForm side;
  side.form = cursor.take<std::uint8_t>();
  side.top = cursor.take<std::uint8_t>();
  side.class_of = cursor.take<std::uint8_t>();
  std::optional<HeapPiece> piece(std::in_place);
  piece->rest_bits = cursor.take<std::uint8_t>();
  if (cursor.take<std::uint16_t>() != 0 || !cursor.ok() || !is_valid(side)) return std::nullopt;
  const auto side_bytes = cursor.take_bytes(side_size(extent, side.form));
  piece->stream = cursor.take_bytes(words * 4);
  piece->readable_behind_stream = cursor.left();
  const auto buffers = cursor.take_bytes(lanes * std::size_t{4});
  if (!cursor.ok() || !read_side(extent, side, side_bytes.data(), *piece)) return std::nullopt;
  std::memcpy(piece->ends.buffer, buffers.data(), buffers.size());

  const std::size_t heads = heads_size(extent, piece->ends);
  if (heap.size() != piece_size(extent, side.form, words, heads)) return std::nullopt;
  const auto head_bytes = cursor.take_bytes(heads);
  std::uint64_t bits = 0;
  unsigned held = 0;
  const std::byte* from = head_bytes.data();
  for (std::uint32_t l = 0; l < lanes; ++l) {
    const std::uint32_t size = piece->ends.head_bits[l];
    if (held < size) {
      bits |= static_cast<std::uint64_t>(load<std::uint32_t>(from)) << held;
      from += 4;
      held += 32;
    }
    piece->ends.head[l] = static_cast<std::uint32_t>(bits & ((std::uint64_t{1} << size) - 1));
    bits >>= size;
    held -= size;
  }
  if (bits != 0 || !tiles::is_zero({from, heap.data() + heap.size()})) return std::nullopt;
  return piece;
}

}  // namespace offramp::exact_dense
