// SPDX-License-Identifier: Apache-2.0
#include "container/part_check.hpp"

#include "core/bytes.hpp"
#include "core/utf8.hpp"

#include <fmt/format.h>

namespace offramp {
namespace {

constexpr std::size_t max_stages = 8;

Error bad(ErrorCode code, std::string what) {
  return Error{.code = code, .what = std::move(what), .path = {}, .remedy = {}};
}

}  // namespace

bool is_chain(std::span<const std::byte> bytes) noexcept {
  if (bytes.size() > max_chain_size) return false;
  ByteCursor cursor(bytes);
  const std::size_t count = cursor.take<std::uint8_t>();
  if (count == 0 || count > max_stages) return false;
  for (std::size_t i = 0; i < count; ++i) {
    const auto stage = cursor.take<std::uint16_t>();
    const auto params = cursor.take<std::uint16_t>();
    cursor.take_bytes(params);
    if (!cursor.ok() || stage == 0) return false;
  }
  return cursor.left() == 0;
}

std::string printable(std::string_view name) {
  constexpr std::size_t shown = 80;
  std::string text = "\"";
  for (const char c : name.substr(0, shown)) {
    text += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  }
  text += name.size() > shown ? "...\"" : "\"";
  return text;
}

Result<std::uint64_t> check_part(const PartRecord& record) {
  if (record.name.size() > max_name_size) {
    return bad(ErrorCode::bad_name, fmt::format("tensor name of {} bytes, at most {} are allowed",
                                                record.name.size(), max_name_size));
  }
  if (record.name.find('\0') != std::string_view::npos) {
    return bad(ErrorCode::bad_name, "tensor name with a NUL byte");
  }
  if (!is_utf8(record.name)) return bad(ErrorCode::bad_name, "tensor name that is not UTF-8");
  const auto fail = [&](std::string_view what) {
    return bad(ErrorCode::bad_header, fmt::format("tensor {}: {}", printable(record.name), what));
  };
  if (!is_chain(record.chain)) return fail("malformed codec chain");
  if (!record.tensor.checked_size()) return fail("extents whose product does not fit 64 bits");
  const TensorDesc part{record.tensor.dtype, record.part};
  const auto part_size = part.checked_size();
  if (!part_size) return fail("extents of a part whose product does not fit 64 bits");
  const std::uint64_t all = record.tensor.shape.elems();
  const std::uint64_t elems = record.part.elems();
  if (record.first_elem > all || elems > all - record.first_elem) {
    return fail(fmt::format("elements {} and {} more are not inside its {}", record.first_elem,
                            elems, all));
  }
  if (elems == 0 && all != 0) return fail("a part of no elements");
  return *part_size;
}

Result<void> check_limits(const ReaderLimits& limits, std::uint64_t payload_size,
                          std::uint64_t raw_size) {
  const auto over = [](std::string_view what, std::uint64_t size, std::uint64_t limit) {
    return Error{.code = ErrorCode::limit_exceeded,
                 .what = fmt::format("{} of {} bytes is over the limit of {}", what, size, limit),
                 .path = {},
                 .remedy = "raise the limit if you trust the file"};
  };
  if (payload_size > limits.max_payload_size) {
    return over("a payload", payload_size, limits.max_payload_size);
  }
  if (raw_size > limits.max_raw_size) return over("a part", raw_size, limits.max_raw_size);
  return {};
}

}  // namespace offramp
