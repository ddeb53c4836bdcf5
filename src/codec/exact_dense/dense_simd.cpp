// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/exact_dense/dense_simd.cpp"
#ifndef HWY_WANT_AVX3_DL
#define HWY_WANT_AVX3_DL
#endif
#include <hwy/foreach_target.h>
// The above must come first: it includes this file once for each target.
#include "codec/exact_dense/dense_choice.hpp"
#include "codec/exact_dense/dense_decoder-inl.h"
#include "codec/exact_dense/dense_encoder-inl.h"
#include "codec/exact_dense/dense_kernels.hpp"
#include "codec/exact_dense/dense_planes-inl.h"

// The loops of dense_reference.cpp on vectors that hold a warp: a row of 64 words is 32 lanes of
// two channels.
HWY_BEFORE_NAMESPACE();
namespace offramp::exact_dense {
namespace HWY_NAMESPACE {
namespace {

#if OFFRAMP_DENSE_HAS_LANES

std::size_t encode(const std::uint16_t* words, TileExtent extent, const TilePlan& plan,
                   StreamEnds& ends, std::uint32_t* stream) {
  if (extent.values == extent.rows * pitch) {
    return Encoder<true>(words, extent, plan).run(ends, stream);
  }
  // Lanes that do not exist have no bits, and so emit none.
  return Encoder<false>(words, extent, plan).run(ends, stream);
}

bool decode(const std::uint32_t* stream, std::size_t size, TileExtent extent, const TilePlan& plan,
            StreamEnds& ends, std::uint16_t* words) {
  Reader in(ends, lanes_of(extent), stream, size);
  if (extent.values == extent.rows * pitch) return Decoder<true>(extent, plan).run(in, ends, words);
  return Decoder<false>(extent, plan).run(in, ends, words);
}

#endif  // OFFRAMP_DENSE_HAS_LANES

}  // namespace

const Kernels* target_kernels() {
#if OFFRAMP_DENSE_HAS_LANES
  static const Kernels table{
      hwy::TargetName(HWY_TARGET), pack, unpack, encode, decode, choose_plan};
  return &table;
#else
  return &reference_kernels();
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace offramp::exact_dense
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace offramp::exact_dense {
HWY_EXPORT(target_kernels);

const Kernels& kernels() noexcept { return *HWY_DYNAMIC_DISPATCH(target_kernels)(); }
}  // namespace offramp::exact_dense
#endif
