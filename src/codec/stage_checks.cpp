// SPDX-License-Identifier: Apache-2.0
#include "codec/stage_checks.hpp"

#include "core/checks.hpp"

#include <fmt/format.h>

#include <limits>

namespace offramp {
namespace {

bool fits_memory(const TensorDesc& desc) noexcept {
  const auto size = desc.checked_size();
  return size_of(desc.dtype) != 0 && size &&
         *size <= static_cast<std::uint64_t>(std::numeric_limits<std::ptrdiff_t>::max());
}

}  // namespace

void check_encode(const StageRow& row, const EncodeArgs& args) {
  OFFRAMP_EXPECTS(args.workers != nullptr, "encode: no workers given");
  OFFRAMP_EXPECTS(fits_memory(args.in.desc), "encode: dtype or shape of the chunk is not sound");
  OFFRAMP_EXPECTS(args.in.bytes.size() == args.in.desc.size(),
                  "encode: the view's bytes are not as many as its dtype and shape say");
  OFFRAMP_EXPECTS(args.out.size() >= row.max_encoded_size(args.in.desc),
                  "encode: out is smaller than max_encoded_size");
  OFFRAMP_EXPECTS(
      args.scratch.size() >= row.encode_scratch_size(args.in.desc, args.workers->size()),
      "encode: scratch is smaller than encode_scratch_size");
}

Result<void> check_decode(const StageRow& row, const DecodeArgs& args) {
  OFFRAMP_EXPECTS(args.workers != nullptr, "decode: no workers given");
  if (!fits_memory(args.desc)) {
    return Error{.code = ErrorCode::bad_header,
                 .what = fmt::format("dtype or shape {} of the chunk is not sound",
                                     args.desc.shape.to_string()),
                 .path = {},
                 .remedy = {}};
  }
  const std::uint64_t elems = args.desc.shape.elems();
  const std::size_t width = size_of(args.desc.dtype);
  OFFRAMP_EXPECTS(args.out.size() % width == 0, "decode: out holds no whole number of elements");
  OFFRAMP_EXPECTS(args.first_elem <= elems && args.out.size() / width <= elems - args.first_elem,
                  "decode: the range ends behind the chunk");
  OFFRAMP_EXPECTS(args.scratch.size() >= row.decode_scratch_size(args.desc, args.workers->size()),
                  "decode: scratch is smaller than decode_scratch_size");
  return {};
}

Result<void> check_no_params(const StageRow& row, std::span<const std::byte> params) {
  if (params.empty()) return {};
  return Error{.code = ErrorCode::bad_header,
               .what = fmt::format("stage {} takes no parameters, but {} bytes of them are given",
                                   row.name, params.size()),
               .path = {},
               .remedy = {}};
}

}  // namespace offramp
