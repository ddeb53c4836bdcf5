// SPDX-License-Identifier: Apache-2.0
#include "codec/exact_dense/class_models.hpp"
#include "codec/exact_dense/dense_heap.hpp"
#include "codec/exact_dense/dense_tile.hpp"
#include "codec/exact_dense/float_words.hpp"
#include "codec/tiles/words.hpp"
#include "core/bytes.hpp"

#include <algorithm>
#include <cstring>

namespace offramp::exact_dense {
namespace {

/// What decoders may read behind the stream (Kernels::decode).
constexpr std::size_t stream_slack = 64;

struct RestFields {
  Field core;
  Field subtail;
};

RestFields rest_fields(RestShape shape) {
  const std::uint32_t words =
      field_words(chunk_rows, shape.core) + field_words(chunk_rows, shape.subtail);
  return {{core_bits - shape.core, shape.core, 0, words}, {0, shape.subtail, shape.core, words}};
}

/// Takes the hidden words out of the rest words (spec.md, Rest words).
void hide(const std::uint32_t* rest, std::size_t n, std::uint32_t lanes, StreamEnds& ends) {
  for (std::uint32_t l = 0; l < lanes; ++l) {
    ends.first_state[l] = state_count + (n < 2 ? 0 : rest[(n - 2) * lanes + l] & 255);
    ends.first_buffer[l] = n < 2 ? 0 : rest[(n - 1) * lanes + l];
  }
}

/// The rest words that are not hidden. Gives the end of what it wrote, a multiple of 4.
std::byte* write_rest_words(const std::uint32_t* rest, std::size_t n, std::uint32_t lanes,
                            std::byte* body) {
  const std::size_t whole = (n < 2 ? n : n - 2) * lanes * 4;
  std::memcpy(body, rest, whole);
  body += whole;
  if (n < 2) return body;
  const std::uint32_t* split = rest + (n - 2) * lanes;
  for (std::uint32_t l = 0; l < lanes; ++l) {
    store(body + std::size_t{2} * l, static_cast<std::uint16_t>(split[l] >> 16));
    body[2 * lanes + l] = static_cast<std::byte>(split[l] >> 8 & 255);
  }
  const std::size_t size = round_up(std::size_t{3} * lanes, 4);
  std::fill(body + std::size_t{3} * lanes, body + size, std::byte{0});
  return body + size;
}

/// Whether the rest bits of values that do not exist are 0, once they are unpacked. `again` is room
/// for as many words.
bool rest_is_canonical(const Kernels& kernels, const std::uint16_t* words,
                       const std::uint16_t* subtails, TileExtent extent, const RestFields& fields,
                       const std::uint32_t* rest, std::size_t size, std::uint32_t* again) {
  const bool none_missing = extent.values == extent.rows * extent.width;
  if (none_missing && extent.width % 2 == 0 && extent.rows % chunk_rows == 0) return true;
  for (std::uint32_t r = 0; r < extent.rows; ++r) {
    const std::uint32_t count = std::min(extent.width, extent.values - r * extent.width);
    for (std::uint32_t c = count; c < 2 * lanes_of(extent); ++c) {
      if (words[r * pitch + c] != 0) return false;
      if (fields.subtail.bits > 0 && subtails[r * pitch + c] != 0) return false;
    }
  }
  kernels.pack(words, extent, fields.core, again);
  if (fields.subtail.bits > 0) kernels.pack(subtails, extent, fields.subtail, again);
  return std::equal(again, again + size, rest);
}

/// The inverse of hide() and write_rest_words(). Nullptr where bits that must be 0 are not.
const std::byte* read_rest_words(const std::byte* body, std::size_t n, std::uint32_t lanes,
                                 const StreamEnds& ends, std::uint32_t* rest) {
  bool good = true;
  for (std::uint32_t l = 0; l < lanes; ++l) {
    const std::uint32_t hidden = ends.first_state[l] - state_count;
    good &= hidden < 256 && (n >= 2 || (hidden == 0 && ends.first_buffer[l] == 0));
  }
  if (!good) return nullptr;
  const std::size_t whole = (n < 2 ? n : n - 2) * lanes * 4;
  std::memcpy(rest, body, whole);
  body += whole;
  if (n < 2) return body;
  std::uint32_t* split = rest + (n - 2) * lanes;
  for (std::uint32_t l = 0; l < lanes; ++l) {
    split[l] = std::uint32_t{load<std::uint16_t>(body + std::size_t{2} * l)} << 16 |
               std::to_integer<std::uint32_t>(body[2 * lanes + l]) << 8 |
               (ends.first_state[l] - state_count);
    split[lanes + l] = ends.first_buffer[l];
  }
  const std::size_t size = round_up(std::size_t{3} * lanes, 4);
  return tiles::is_zero({body + std::size_t{3} * lanes, body + size}) ? body + size : nullptr;
}

}  // namespace

std::optional<Sizes> encode_plain(const Kernels& kernels, DType dtype, TileExtent extent,
                                  unsigned rest_bits, const std::byte* values, std::size_t limit,
                                  std::byte* body, std::byte* heap, Workspace& workspace) {
  const RestShape shape = rest_shape(rest_bits);
  const std::uint32_t lanes = lanes_of(extent);
  const std::size_t n = rest_words(extent.rows, shape);
  Sizes sizes{.body = rest_body_size(extent, shape)};
  if (sizes.body >= limit) return std::nullopt;

  const std::uint16_t* words = workspace.words;
  if (is_words(dtype, extent)) {
    words = reinterpret_cast<const std::uint16_t*>(values);
  } else {
    split_values(dtype, values, extent, rest_bits, workspace.words, workspace.subtails);
  }
  TilePlan plan;
  kernels.choose(words, extent, plan);
  const RestFields fields = rest_fields(shape);
  kernels.pack(words, extent, fields.core, workspace.rest);
  if (shape.subtail > 0) {
    kernels.pack(workspace.subtails, extent, fields.subtail, workspace.rest);
  }
  StreamEnds ends;
  hide(workspace.rest, n, lanes, ends);
  const std::size_t count = kernels.encode(words, extent, plan, ends, workspace.stream);
  sizes.heap = heap_piece_size(extent, plan, ends, count);
  if (sizes.sum() >= limit) return std::nullopt;

  write_heap_piece(extent, plan, ends, rest_bits, {workspace.stream, count}, heap);
  std::byte* out = write_rest_words(workspace.rest, n, lanes, body);
  if (shape.tail_bytes > 0) {
    write_tail_bytes(dtype, values, extent, rest_bits, out);
    out += std::size_t{shape.tail_bytes} * extent.values;
  }
  std::fill(out, body + sizes.body, std::byte{0});
  return sizes;
}

bool decode_plain(const Kernels& kernels, DType dtype, TileExtent extent, tiles::TileMode mode,
                  std::span<const std::byte> body, std::span<const std::byte> heap,
                  tiles::Lines values, Workspace& workspace) {
  auto piece = read_heap_piece(extent, heap);
  if (!piece) return false;
  const unsigned full = mantissa_bits(dtype) - 1;
  if (piece->rest_bits > full || (mode == plain_mode && piece->rest_bits != full)) return false;
  const unsigned rest_bits = piece->rest_bits;
  const RestShape shape = rest_shape(rest_bits);
  if (body.size() != rest_body_size(extent, shape)) return false;

  const std::size_t count = piece->stream.size() / 4;
  const auto* stream = reinterpret_cast<const std::uint32_t*>(piece->stream.data());
  const auto address = reinterpret_cast<std::uintptr_t>(piece->stream.data());
  if (piece->readable_behind_stream < stream_slack || address % alignof(std::uint32_t) != 0) {
    if (count + stream_slack / 4 > max_stream_words) return false;
    std::memcpy(workspace.stream, piece->stream.data(), piece->stream.size());
    stream = workspace.stream;
  }
  std::uint16_t* words = workspace.words;
  if (!kernels.decode(stream, count, extent, piece->plan, piece->ends, words)) return false;

  const std::size_t n = rest_words(extent.rows, shape);
  const std::byte* tail =
      read_rest_words(body.data(), n, lanes_of(extent), piece->ends, workspace.rest);
  if (tail == nullptr) return false;
  const std::byte* tail_end = tail + std::size_t{shape.tail_bytes} * extent.values;
  if (!tiles::is_zero({tail_end, body.data() + body.size()})) return false;
  const RestFields fields = rest_fields(shape);
  // Words go straight to the values where these are words and nothing is left to check.
  const bool direct = is_words(dtype, extent) && extent.rows % chunk_rows == 0 &&
                      reinterpret_cast<std::uintptr_t>(values.first) % alignof(std::uint16_t) == 0;
  const Rows out = direct ? Rows{reinterpret_cast<std::uint16_t*>(values.first),
                                 values.pitch / sizeof(std::uint16_t)}
                          : Rows{words};
  kernels.unpack(workspace.rest, extent, fields.core, words, out);
  if (shape.subtail > 0) {
    std::memset(workspace.subtails, 0, std::size_t{extent.rows} * pitch * 2);
    kernels.unpack(workspace.rest, extent, fields.subtail, workspace.subtails,
                   {workspace.subtails});
  }
  static_assert(max_rest_words <= max_stream_words);
  if (!rest_is_canonical(kernels, words, workspace.subtails, extent, fields, workspace.rest,
                         n * lanes_of(extent), workspace.stream)) {
    return false;
  }
  return direct || join_values(dtype, words, workspace.subtails, tail, extent, rest_bits, values);
}

}  // namespace offramp::exact_dense
