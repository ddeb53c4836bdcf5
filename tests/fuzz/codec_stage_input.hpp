// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/tiles/frame.hpp"
#include "core/bytes.hpp"

#include <offramp/codec/stage.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <vector>

namespace offramp::fuzz {
using Bytes = std::vector<std::byte>;

constexpr std::uint64_t max_tensor_size = 1 << 17;

inline void expect(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

struct Subject {
  TensorDesc desc;
  std::uint64_t first{};
  std::uint64_t elems{};
};

inline std::optional<Subject> take_subject(ByteCursor& cursor) {
  const auto dtype = dtype_from_id(static_cast<std::uint8_t>(cursor.take<std::uint8_t>() % 16));
  std::array<std::uint64_t, 3> extents{};
  const std::size_t rank = cursor.take<std::uint8_t>() % 4;
  for (std::size_t axis = 0; axis < rank; ++axis) extents[axis] = cursor.take<std::uint16_t>();
  const std::uint64_t first = cursor.take<std::uint16_t>();
  const std::uint64_t elems = cursor.take<std::uint16_t>();
  if (!cursor.ok() || !dtype) return std::nullopt;
  Subject subject{.desc = {*dtype, Shape(std::span(extents).first(rank))}};
  const auto size = subject.desc.checked_size();
  if (!size || *size > max_tensor_size) return std::nullopt;
  const std::uint64_t all = subject.desc.shape.elems();
  subject.first = std::min(first, all);
  subject.elems = elems == 0xffff ? all - subject.first : std::min(elems, all - subject.first);
  return subject;
}

inline Workers& one_thread() {
  static Workers workers(1);
  return workers;
}

inline std::optional<Bytes> decode_over(const StageRow& row, const Subject& subject,
                                        std::span<const std::byte> coded, std::byte fill) {
  Bytes out(subject.elems * size_of(subject.desc.dtype), fill);
  Bytes scratch(row.decode_scratch_size(subject.desc, 1), fill);
  const auto result = row.decode({.in = coded,
                                  .desc = subject.desc,
                                  .first_elem = subject.first,
                                  .out = out,
                                  .scratch = scratch,
                                  .workers = &one_thread()});
  if (!result) return std::nullopt;
  return out;
}

inline std::optional<Bytes> decode(const StageRow& row, const Subject& subject,
                                   std::span<const std::byte> coded) {
  const Bytes exact(coded.begin(), coded.end());  // so that a sanitizer sees its end
  auto result = decode_over(row, subject, exact, std::byte{0x5a});
  expect(result == decode_over(row, subject, exact, std::byte{0xc3}),
         "the output depends on what was in memory before");
  return result;
}

inline Bytes encode(const StageRow& row, const TensorDesc& desc, const Bytes& in, std::byte fill) {
  Bytes out(row.max_encoded_size(desc), fill);
  Bytes scratch(row.encode_scratch_size(desc, 1), fill);
  const std::size_t size = row.encode({.in = {.desc = desc, .bytes = in},
                                       .out = out,
                                       .scratch = scratch,
                                       .workers = &one_thread()});
  expect(size <= out.size(), "a chunk is larger than max_encoded_size");
  out.resize(size);
  return out;
}

inline void round_trip(const StageRow& row, const Subject& subject, std::span<const std::byte> rest,
                       bool damage) {
  if (rest.empty()) return;
  Bytes in(subject.desc.size());
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = rest[i % rest.size()];
  Bytes coded = encode(row, subject.desc, in, std::byte{0x5a});
  expect(coded == encode(row, subject.desc, in, std::byte{0xc3}),
         "the coded bytes depend on what was in memory before");
  if (damage) {
    ByteCursor cursor(rest.last(std::min<std::size_t>(rest.size(), 12)));
    for (int patch = 0; patch < 3 && !coded.empty(); ++patch) {
      const std::size_t at = cursor.take<std::uint16_t>() % coded.size();
      coded[at] ^= cursor.take<std::byte>();
    }
    (void)decode(row, subject, coded);
    return;
  }
  const std::size_t width = size_of(subject.desc.dtype);
  const auto back = decode(row, subject, coded);
  expect(back.has_value(), "a chunk that was just made does not decode");
  expect(std::equal(back->begin(), back->end(), in.begin() + subject.first * width),
         "a range of a chunk does not decode to what it was");
}

inline void decode_tile(const StageRow& row, const Subject& subject,
                        std::span<const std::byte> rest) {
  using namespace tiles;
  ByteCursor cursor(rest);
  const auto mode = cursor.take<TileMode>();
  const std::size_t body = cursor.take<std::uint16_t>() % (cursor.left() + 1);
  if (!cursor.ok() || Tiling(subject.desc.shape).tiles() != 1) return;
  const Header header{.tiles = 1,
                      .uniform = false,
                      .bodies_size = body / section_alignment * section_alignment,
                      .heap_size = (cursor.left() - body) / section_alignment * section_alignment};
  const Layout at = Layout::of(header);
  Bytes coded(at.size);
  write_header(header, coded.data());
  store(coded.data() + at.heap_ends,
        static_cast<std::uint32_t>(header.heap_size / section_alignment));
  store(coded.data() + at.body_ends,
        static_cast<std::uint32_t>(header.bodies_size / section_alignment));
  store(coded.data() + at.modes, mode);
  std::ranges::copy(cursor.take_bytes(header.bodies_size), coded.begin() + at.bodies);
  std::ranges::copy(cursor.take_bytes(header.heap_size), coded.begin() + at.heap);
  (void)decode(row, subject, coded);
}

/// Runs one input against a stage; aborts where the stage breaks a promise that no sanitizer sees.
///
/// The input: u8 what to do | u8 dtype | u8 rank (0 to 3) | rank x u16 extents | u16 first element
/// | u16 elements wanted | the rest. What to do, modulo 4: 0. the rest is a coded chunk of that
/// description: decode the range;
/// 1. the rest, repeated, is the tensor: encode it and decode it back;
/// 2. the rest is one tile (u8 mode, u16 body size, body, heap piece): put the frame around it that
///    makes it reach the tile decoder, and decode it;
/// 3. as 1, but the coded chunk is damaged by the last bytes of the rest before it is decoded.
/// A decoder's result may depend on nothing but its arguments: each is run twice, over other bytes
/// in output and scratch.
inline int run_stage(const StageRow& row, std::span<const std::byte> input) {
  ByteCursor cursor(input);
  const auto what = cursor.take<std::uint8_t>() % 4;
  const auto subject = take_subject(cursor);
  if (!subject) return 0;
  const auto rest = cursor.take_bytes(cursor.left());
  switch (what) {
    case 0:
      (void)decode(row, *subject, rest);
      break;
    case 2:
      decode_tile(row, *subject, rest);
      break;
    default:
      round_trip(row, *subject, rest, what == 3);
      break;
  }
  return 0;
}

}  // namespace offramp::fuzz
