// SPDX-License-Identifier: Apache-2.0
#include "codec/store/store.hpp"

#include "codec/stage_checks.hpp"
#include "core/bytes.hpp"
#include "core/checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace offramp {
namespace {

constexpr std::size_t block_size = std::size_t{1} << 20;

void copy(std::span<const std::byte> from, std::byte* to, Workers& workers) {
  workers.for_each(ceil_div(from.size(), block_size), [&](std::size_t block, std::size_t) {
    const std::size_t begin = block * block_size;
    std::memcpy(to + begin, from.data() + begin, std::min(block_size, from.size() - begin));
  });
}

std::size_t max_encoded_size(const TensorDesc& desc) {
  const auto size = desc.checked_size();
  OFFRAMP_EXPECTS(size, "store: the shape is not sound");
  return static_cast<std::size_t>(*size);
}

std::size_t no_scratch(const TensorDesc&, std::size_t) { return 0; }

std::size_t encode(const EncodeArgs& args) {
  check_encode(store_stage(), args);
  OFFRAMP_EXPECTS(args.params.empty(), "store takes no parameters");
  copy(args.in.bytes, args.out.data(), *args.workers);
  return args.in.bytes.size();
}

Result<void> decode(const DecodeArgs& args) {
  OFFRAMP_TRY_VOID(check_decode(store_stage(), args));
  OFFRAMP_TRY_VOID(check_no_params(store_stage(), args.params));
  if (args.in.size() != args.desc.size()) {
    return Error{.code = args.in.size() < args.desc.size() ? ErrorCode::truncated
                                                           : ErrorCode::corrupt_payload,
                 .what = fmt::format("a stored chunk has {} bytes instead of {}", args.in.size(),
                                     args.desc.size()),
                 .path = {},
                 .remedy = {}};
  }
  const auto begin = static_cast<std::size_t>(args.first_elem) * size_of(args.desc.dtype);
  copy(args.in.subspan(begin, args.out.size()), args.out.data(), *args.workers);
  return {};
}

}  // namespace

StageRow store_stage() noexcept {
  return {.id = StageId::store,
          .name = "store",
          .first_format_version = 1,
          .max_encoded_size = max_encoded_size,
          .encode_scratch_size = no_scratch,
          .decode_scratch_size = no_scratch,
          .encode = encode,
          .decode = decode};
}

}  // namespace offramp
