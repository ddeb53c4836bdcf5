// SPDX-License-Identifier: Apache-2.0
#include "container/metadata.hpp"

#include "container/part_check.hpp"
#include "core/bytes.hpp"
#include "core/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace offramp {
namespace {

Error fault(ErrorCode code, std::string what) {
  return Error{.code = code, .what = std::move(what), .path = {}, .remedy = {}};
}

template <class T>
void append(std::vector<std::byte>& to, T value) {
  to.resize(to.size() + sizeof value);
  store(to.data() + to.size() - sizeof value, value);
}

void append_text(std::vector<std::byte>& to, std::string_view text) {
  append(to, static_cast<std::uint32_t>(text.size()));
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  to.insert(to.end(), bytes, bytes + text.size());
}

std::string_view take_text(ByteCursor& from) noexcept {
  const auto bytes = from.take_bytes(from.take<std::uint32_t>());
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::vector<std::byte> write_metadata(const Metadata& pairs) {
  std::vector<std::byte> payload;
  append(payload, std::uint64_t{pairs.size()});
  for (const auto& [key, value] : pairs) {
    append_text(payload, key);
    append_text(payload, value);
  }
  return payload;
}

Result<void> parse_metadata(std::span<const std::byte> payload, Metadata& to) {
  ByteCursor cursor(payload);
  const auto count = cursor.take<std::uint64_t>();
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto key = take_text(cursor);
    const auto value = take_text(cursor);
    if (!cursor.ok()) break;
    if (key.find('\0') != std::string_view::npos || !is_utf8(key) || !is_utf8(value)) {
      return fault(ErrorCode::bad_name, "metadata that is not UTF-8");
    }
    to.emplace_back(key, value);
  }
  if (!cursor.ok() || cursor.left() != 0) {
    return fault(ErrorCode::bad_header, "metadata whose sizes do not add up");
  }
  return {};
}

Result<void> check_unique_keys(const Metadata& pairs) {
  std::vector<std::string_view> keys;
  keys.reserve(pairs.size());
  for (const auto& pair : pairs) keys.push_back(pair.first);
  std::ranges::sort(keys);
  if (const auto twice = std::ranges::adjacent_find(keys); twice != keys.end()) {
    return fault(ErrorCode::duplicate,
                 fmt::format("metadata key {} stands twice", printable(*twice)));
  }
  return {};
}

}  // namespace offramp
