// SPDX-License-Identifier: Apache-2.0
#include "transport/safetensors/safetensors_header.hpp"

#include "core/bytes.hpp"
#include "core/checks.hpp"
#include "transport/safetensors/safetensors_handler.hpp"
#include "transport/tensor_checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace offramp {
namespace {

using Entry = SafetensorsHandler::Entry;

constexpr std::array<std::pair<DType, std::string_view>, max_dtype> dtypes{{
    {DType::bf16, "BF16"},
    {DType::fp16, "F16"},
    {DType::fp32, "F32"},
    {DType::fp64, "F64"},
    {DType::fp8_e4m3, "F8_E4M3"},
    {DType::fp8_e5m2, "F8_E5M2"},
    {DType::u8, "U8"},
    {DType::i8, "I8"},
    {DType::i16, "I16"},
    {DType::i32, "I32"},
    {DType::i64, "I64"},
    {DType::boolean, "BOOL"},
    {DType::u16, "U16"},
    {DType::u32, "U32"},
    {DType::u64, "U64"},
}};

constexpr std::size_t header_alignment = 8;

Error bad_header(std::string what, std::string remedy = {}) {
  return {.code = ErrorCode::bad_header,
          .what = std::move(what),
          .path = {},
          .remedy = std::move(remedy)};
}

// The entries, by offset, cover bytes 0 to `data_size` of the data exactly once.
Result<void> check_offsets(std::span<const Entry> entries, std::uint64_t data_size) {
  std::uint64_t at = 0;
  for (const Entry& entry : entries) {
    const std::string name = shown_name(entry.info.name);
    const auto size = entry.info.desc.checked_size();
    if (entry.begin > entry.end || entry.end > data_size) {
      return Error{.code = entry.begin > entry.end ? ErrorCode::bad_header : ErrorCode::truncated,
                   .what = fmt::format("tensor {} lies at bytes {} to {} of {} bytes of data", name,
                                       entry.begin, entry.end, data_size),
                   .path = {},
                   .remedy = "the file is damaged or was not copied whole"};
    }
    if (!size || *size != entry.end - entry.begin) {
      return bad_header(fmt::format("tensor {} of dtype {} and shape {} has {} bytes in the file",
                                    name, safetensors_name_of(entry.info.desc.dtype),
                                    entry.info.desc.shape.to_string(), entry.end - entry.begin));
    }
    if (entry.begin != at) {
      return bad_header(
          fmt::format("tensor {} begins at byte {} of the data, {} byte {}", name, entry.begin,
                      entry.begin < at ? "inside a tensor up to" : "after a gap from", at));
    }
    at = entry.end;
  }
  if (at != data_size) {
    return bad_header(fmt::format("{} bytes of the data belong to no tensor", data_size - at),
                      "the file is damaged, or something was appended to it");
  }
  return {};
}

template <class Range, class NameOf>
Result<void> expect_unique(const Range& range, NameOf name_of, std::string_view kind) {
  std::vector<std::string_view> names;
  names.reserve(std::size(range));
  for (const auto& item : range) names.push_back(name_of(item));
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice == names.end()) return {};
  return Error{
      .code = ErrorCode::duplicate,
      .what = fmt::format("the {} {} stands twice in the header", kind, shown_name(*twice)),
      .path = {},
      .remedy = {}};
}

}  // namespace

std::optional<DType> dtype_from_safetensors(std::string_view name) noexcept {
  for (const auto& [dtype, text] : dtypes) {
    if (text == name) return dtype;
  }
  return std::nullopt;
}

std::string_view safetensors_name_of(DType dtype) noexcept {
  for (const auto& [known, text] : dtypes) {
    if (known == dtype) return text;
  }
  return {};
}

Result<std::uint64_t> read_safetensors_header_size(std::span<const std::byte> front,
                                                   std::uint64_t file_size) {
  ByteCursor cursor(front);
  const auto size = cursor.take<std::uint64_t>();
  if (!cursor.ok() || file_size < safetensors_prefix_size) {
    return Error{.code = ErrorCode::truncated,
                 .what = fmt::format("a safetensors file has at least {} bytes, this one {}",
                                     safetensors_prefix_size, file_size),
                 .path = {},
                 .remedy = {}};
  }
  if (size > max_safetensors_header_size) {
    return Error{.code = ErrorCode::limit_exceeded,
                 .what = fmt::format("the header claims {} bytes; the format allows {}", size,
                                     max_safetensors_header_size),
                 .path = {},
                 .remedy = "it is no safetensors file, or it is damaged"};
  }
  if (size > file_size - safetensors_prefix_size) {
    return Error{.code = ErrorCode::truncated,
                 .what = fmt::format("the header claims {} bytes, {} are left in the file", size,
                                     file_size - safetensors_prefix_size),
                 .path = {},
                 .remedy = "it is no safetensors file, or it was not copied whole"};
  }
  return size;
}

Result<SafetensorsHeader> parse_safetensors_header(std::span<const std::byte> json,
                                                   std::uint64_t file_size) {
  OFFRAMP_EXPECTS(file_size >= safetensors_prefix_size + json.size(),
                  "a safetensors header is smaller than its file");
  if (json.empty() || json.front() != std::byte{'{'}) {
    return bad_header("the header does not begin with '{'", "it is no safetensors file");
  }
  SafetensorsHandler handler;
  const auto* text = reinterpret_cast<const char*>(json.data());
  if (!nlohmann::json::sax_parse(text, text + json.size(), &handler)) {
    if (handler.error()) return *handler.error();
    return bad_header("the header is not JSON");
  }

  std::vector<Entry>& entries = handler.entries();
  OFFRAMP_TRY_VOID(expect_unique(
      entries, [](const Entry& entry) -> std::string_view { return entry.info.name; }, "tensor"));
  OFFRAMP_TRY_VOID(expect_unique(
      handler.metadata(), [](const auto& item) -> std::string_view { return item.first; },
      "metadata key"));
  // Empty tensors share an offset with the one that follows; equals keep the header's order.
  std::ranges::stable_sort(entries, {},
                           [](const Entry& entry) { return std::pair(entry.begin, entry.end); });
  const std::uint64_t data = safetensors_prefix_size + json.size();
  OFFRAMP_TRY_VOID(check_offsets(entries, file_size - data));

  SafetensorsHeader header;
  header.metadata = std::move(handler.metadata());
  header.tensors.reserve(entries.size());
  header.offsets.reserve(entries.size());
  for (Entry& entry : entries) {
    header.offsets.push_back(data + entry.begin);
    header.tensors.push_back(std::move(entry.info));
  }
  return header;
}

std::string make_safetensors_header(std::span<const TensorInfo> tensors, const Metadata& metadata) {
  const auto quoted = [](const std::string& text) { return nlohmann::json(text).dump(); };
  std::string json = "{";
  const auto comma = [&] {
    if (json.size() > 1) json += ',';
  };
  if (!metadata.empty()) {
    json += "\"__metadata__\":{";
    for (std::size_t i = 0; i < metadata.size(); ++i) {
      json += fmt::format("{}{}:{}", i ? "," : "", quoted(metadata[i].first),
                          quoted(metadata[i].second));
    }
    json += '}';
  }
  std::uint64_t at = 0;
  for (const TensorInfo& tensor : tensors) {
    comma();
    const std::uint64_t end = at + tensor.desc.size();
    json += fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                        quoted(tensor.name), safetensors_name_of(tensor.desc.dtype),
                        fmt::join(tensor.desc.shape.extents(), ","), at, end);
    at = end;
  }
  json += '}';
  json.resize(round_up(json.size(), header_alignment), ' ');

  std::string front(safetensors_prefix_size, '\0');
  store<std::uint64_t>(front.data(), json.size());
  return front + json;
}

}  // namespace offramp
