// SPDX-License-Identifier: Apache-2.0
#include "codec/exact/exact_tile.hpp"

#include "codec/exact/exact_form.hpp"
#include "codec/exact/exact_positions.hpp"
#include "codec/exact/exact_workspace.hpp"
#include "codec/tiles/words.hpp"

#include <cstring>

namespace offramp::exact {
namespace {

using tiles::CodedTile;
using tiles::ConstLines;
using tiles::Lines;
using tiles::TileExtent;
using tiles::TileMode;

constexpr int min_tiered_bits = 3;

// What one call works on.
struct Job {
  const Kernels& kernels;
  DType dtype{};
  PlaneView view{};
  std::size_t elem_size{};
  Workspace work;

  Job(const Kernels& k, DType d, std::byte* scratch)
      : kernels(k),
        dtype(d),
        view(plane_view(d)),
        elem_size(size_of(d)),
        work(scratch, view.planes, elem_size) {}
};

int varying_bits(const BitRange& range) {
  return std::popcount(static_cast<unsigned>(range.varying()));
}

// Splits values to the planes in `job.work` and says which bits vary. Integers take the zigzag or
// not, whichever has fewer; returns whether.
bool split_values(const Job& job, ConstLines values, std::size_t n, SplitFacts& facts) {
  const auto attempt = [&](bool zigzag) {
    facts = job.kernels.split(job.dtype, zigzag, values, n, job.work.planes);
    int bits = 0;
    for (std::size_t p = 0; p < job.view.planes; ++p) bits += varying_bits(facts.ranges[p]);
    return bits;
  };
  const int plain = attempt(false);
  if (job.view.is_float) return false;
  if (attempt(true) < plain) return true;
  attempt(false);
  return false;
}

CodedTile encode_raw(const Job& job, ConstLines values, std::size_t n, std::byte* body) {
  const std::size_t content = n * job.elem_size, size = padded(content);
  for_each_run(values, n, job.elem_size, [&](std::size_t k, std::size_t run) {
    std::memcpy(body + k * job.elem_size, values.at(k, job.elem_size), run * job.elem_size);
  });
  std::memset(body + content, 0, size - content);
  return {.mode = tiles::raw_mode, .body_size = static_cast<std::uint32_t>(size), .heap_size = 0};
}

CodedTile coded(TileMode mode, std::size_t body, std::size_t heap) {
  return {.mode = mode,
          .body_size = static_cast<std::uint32_t>(body),
          .heap_size = static_cast<std::uint32_t>(heap)};
}

std::size_t total(const CodedTile& tile) { return std::size_t{tile.body_size} + tile.heap_size; }

Form bit_form(const Job& job, bool zigzag, const BitRanges& ranges) {
  Form form{.planes = job.view.planes, .used = job.view.used, .zigzag = zigzag};
  for (std::size_t p = 0; p < form.planes; ++p) {
    form.mask[p] = ranges[p].varying();
    form.constant[p] = ranges[p].all;
  }
  return form;
}

CodedTile encode_header_and_form(const Job& job, const Form& form, const BaseSet& bases,
                                 Extent extent, std::byte* body, std::byte* heap) {
  const std::size_t header = form_header_size(form.planes);
  write_form_header(form, body);
  const std::size_t heap_size =
      encode_form(job.kernels, form, bases, extent, body + header, heap, job.work);
  return coded(planes_mode, header + form_size(form, extent.n), heap_size);
}

// Mode 2 for values already split: the tiered plane as tiers or as bits, whichever is smaller.
CodedTile encode_planes(const Job& job, bool zigzag, const BitRanges& ranges, Extent extent,
                        bool by_channel, std::byte* body, std::byte* heap) {
  const Form bits = bit_form(job, zigzag, ranges);
  const std::size_t bits_size = form_header_size(bits.planes) + form_size(bits, extent.n);

  std::size_t lead = 0;
  while (!job.view.is_float && lead + 1 < job.view.planes && ranges[lead].varying() == 0) ++lead;
  if (varying_bits(ranges[lead]) >= min_tiered_bits) {
    const std::uint8_t* plane = job.work.planes[lead];
    const BaseSet bases = by_channel && job.view.is_float
                              ? choose_bases(job.kernels, plane, extent.n, extent.width)
                              : choose_shared_base(plane, extent.n);
    if (bases.may_beat(varying_bits(ranges[lead]))) {
      Form form = bits;
      form.has_tiers = true;
      form.tiered = lead;
      form.mask[lead] = form.constant[lead] = 0;
      const CodedTile tile = encode_header_and_form(job, form, bases, extent, body, heap);
      if (total(tile) < bits_size) return tile;
    }
  }
  return encode_header_and_form(job, bits, {}, extent, body, heap);
}

// Mode 3, or mode 0 with size 0 where the tile is not sparse.
CodedTile encode_sparse(const Job& job, TileExtent extent, ConstLines values, std::byte* body,
                        std::byte* heap) {
  const SparseTile tile{extent.values, extent.rows, extent.width, job.elem_size};
  const SparseRest rest = encode_positions(tile, values, job.work.values, body);
  if (rest.n == 0) return {};
  SplitFacts facts;
  const auto kept = ConstLines::without_gaps(job.work.values, job.elem_size);
  const bool zigzag = split_values(job, kept, rest.n, facts);
  CodedTile planes = encode_planes(job, zigzag, facts.ranges, {rest.n, extent.width},
                                   rest.by_channel, body + rest.body_size, heap);
  return coded(sparse_mode, rest.body_size + planes.body_size, planes.heap_size);
}

struct Statistics {
  bool zigzag{};
  const BitRanges& ranges;
};

// Mode 3, or mode 2 where that is as small: it is tried unless it has no chance.
CodedTile encode_often_zero(const Job& job, TileExtent extent, std::size_t zeros,
                            Statistics statistics, ConstLines values, std::byte* body,
                            std::byte* heap) {
  const Extent whole{extent.values, extent.width};
  CodedTile sparse = encode_sparse(job, extent, values, job.work.other_body, job.work.other_heap);
  const bool is_sparse = sparse.mode == sparse_mode;
  const Form bits = bit_form(job, statistics.zigzag, statistics.ranges);
  const std::size_t bits_size = form_header_size(bits.planes) + form_size(bits, whole.n);
  if (!is_sparse || 2 * zeros < whole.n || bits_size <= total(sparse)) {
    if (is_sparse)
      job.kernels.split(job.dtype, statistics.zigzag, values, whole.n, job.work.planes);
    const CodedTile planes =
        encode_planes(job, statistics.zigzag, statistics.ranges, whole, true, body, heap);
    if (!is_sparse || total(planes) <= total(sparse)) return planes;
  }
  std::memcpy(body, job.work.other_body, sparse.body_size);
  std::memcpy(heap, job.work.other_heap, sparse.heap_size);
  return sparse;
}

// Ordinary float data: mode 1, or mode 2 where plain bits of plane 0 are smaller.
CodedTile encode_ordinary(const Job& job, const BitRanges& ranges, Extent extent, std::byte* body,
                          std::byte* heap) {
  const Form bits = bit_form(job, false, ranges);
  const std::size_t bits_size = form_header_size(bits.planes) + form_size(bits, extent.n);
  const BaseSet bases = choose_bases(job.kernels, job.work.planes[0], extent.n, extent.width);
  if (bases.may_beat(varying_bits(ranges[0]))) {
    const Form form = tiered_form(job.view);
    const std::size_t heap_size =
        encode_form(job.kernels, form, bases, extent, body, heap, job.work);
    const CodedTile tile = coded(tiered_mode, form_size(form, extent.n), heap_size);
    if (total(tile) <= bits_size) return tile;
  }
  return encode_header_and_form(job, bits, {}, extent, body, heap);
}

bool is_ordinary(const Job& job, const BitRanges& ranges) {
  if (!job.view.is_float || varying_bits(ranges[0]) < min_tiered_bits) return false;
  for (std::size_t p = 1; p < job.view.planes; ++p) {
    if (ranges[p].varying() != job.view.used[p]) return false;
  }
  return true;
}

bool decode_planes(const Job& job, Extent extent, bool by_channel, std::span<const std::byte> body,
                   std::span<const std::byte> heap, Lines values) {
  const std::size_t header = form_header_size(job.view.planes);
  if (body.size() < header) return false;
  const auto form = read_form_header(job.view, body.first(header));
  if (!form) return false;
  return decode_form(job.kernels, job.dtype, *form, by_channel, extent, body.subspan(header), heap,
                     values, job.work);
}

bool decode_sparse(const Job& job, TileExtent extent, std::span<const std::byte> body,
                   std::span<const std::byte> heap, Lines values) {
  const SparseTile tile{extent.values, extent.rows, extent.width, job.elem_size};
  SparseRest rest;
  if (!read_positions(tile, body, rest)) return false;
  const auto planes = body.subspan(rest.body_size);
  const auto kept = Lines::without_gaps(job.work.values, job.elem_size);
  if (!decode_planes(job, {rest.n, extent.width}, rest.by_channel, planes, heap, kept)) {
    return false;
  }
  return scatter(tile, body, rest, job.work.values, values);
}

bool decode_tiered(const Job& job, Extent extent, std::span<const std::byte> body,
                   std::span<const std::byte> heap, Lines values) {
  if (!job.view.is_float) return false;
  const Form form = tiered_form(job.view);
  return decode_form(job.kernels, job.dtype, form, true, extent, body, heap, values, job.work);
}

}  // namespace

CodedTile encode_tile(const Kernels& kernels, DType dtype, TileExtent extent, ConstLines values,
                      std::byte* body, std::byte* heap, std::byte* scratch) {
  const Job job(kernels, dtype, scratch);
  const std::size_t n = extent.values;
  SplitFacts facts;
  const bool zigzag = split_values(job, values, n, facts);
  const BitRanges& ranges = facts.ranges;
  CodedTile tile;
  if (8 * facts.zeros >= n) {
    tile = encode_often_zero(job, extent, facts.zeros, {zigzag, ranges}, values, body, heap);
  } else if (is_ordinary(job, ranges)) {
    tile = encode_ordinary(job, ranges, {n, extent.width}, body, heap);
  } else {
    tile = encode_planes(job, zigzag, ranges, {n, extent.width}, true, body, heap);
  }
  return total(tile) < padded(n * job.elem_size) ? tile : encode_raw(job, values, n, body);
}

bool decode_tile(const Kernels& kernels, DType dtype, TileExtent extent, TileMode mode,
                 std::span<const std::byte> body, std::span<const std::byte> heap, Lines values,
                 std::byte* scratch) {
  if (!tiles::is_sound(extent)) return false;
  const Job job(kernels, dtype, scratch);
  const std::size_t size = extent.values * job.elem_size;
  const Extent whole{extent.values, extent.width};
  if (mode == tiles::raw_mode) {
    if (!heap.empty() || body.size() != padded(size) || !tiles::is_zero(body.subspan(size)))
      return false;
    for_each_run(values, extent.values, job.elem_size, [&](std::size_t k, std::size_t run) {
      std::memcpy(values.at(k, job.elem_size), body.data() + k * job.elem_size,
                  run * job.elem_size);
    });
    return true;
  }
  if (mode == planes_mode) return decode_planes(job, whole, true, body, heap, values);
  if (mode == sparse_mode) return decode_sparse(job, extent, body, heap, values);
  return mode == tiered_mode && decode_tiered(job, whole, body, heap, values);
}

}  // namespace offramp::exact

namespace offramp::tiles {

const TileCoder& exact_tile_coder() noexcept {
  static constexpr TileCoder coder{
      .max_body_size = [](DType dtype) { return exact::max_body_size(size_of(dtype)); },
      .max_heap_size = [](DType) { return exact::max_heap_size; },
      .scratch_size =
          [](DType dtype) {
            return exact::Workspace::size(exact::plane_view(dtype).planes, size_of(dtype));
          },
      .nominal_body_size = [](DType dtype, TileExtent extent, TileMode mode) -> std::size_t {
        const exact::PlaneView view = exact::plane_view(dtype);
        if (mode == raw_mode) return exact::padded(extent.values * size_of(dtype));
        if (mode != exact::tiered_mode || !view.is_float) return 0;
        return exact::form_size(exact::tiered_form(view), extent.values);
      },
      .usual_mode = [](DType dtype) -> TileMode {
        return exact::plane_view(dtype).is_float ? exact::tiered_mode : exact::planes_mode;
      },
      .encode =
          [](DType dtype, TileExtent extent, ConstLines values, std::byte* body, std::byte* heap,
             std::byte* scratch) {
            return exact::encode_tile(exact::fast_kernels(), dtype, extent, values, body, heap,
                                      scratch);
          },
      .decode =
          [](DType dtype, TileExtent extent, TileMode mode, std::span<const std::byte> body,
             std::span<const std::byte> heap, Lines values, std::byte* scratch) {
            return exact::decode_tile(exact::fast_kernels(), dtype, extent, mode, body, heap,
                                      values, scratch);
          },
  };
  return coder;
}

}  // namespace offramp::tiles
