// SPDX-License-Identifier: Apache-2.0
#include "transport/npy/npy_header.hpp"

#include "core/bytes.hpp"
#include "core/checks.hpp"
#include "transport/npy/npy_dict.hpp"
#include "transport/tensor_checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

namespace offramp {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t alignment = 64;
// numpy leaves room for the first extent to grow to 21 digits in place.
constexpr std::size_t growth_digits = 21;

constexpr std::array<std::pair<DType, std::string_view>, 12> dtypes{{
    {DType::fp16, "<f2"},
    {DType::fp32, "<f4"},
    {DType::fp64, "<f8"},
    {DType::u8, "|u1"},
    {DType::i8, "|i1"},
    {DType::i16, "<i2"},
    {DType::i32, "<i4"},
    {DType::i64, "<i8"},
    {DType::boolean, "|b1"},
    {DType::u16, "<u2"},
    {DType::u32, "<u4"},
    {DType::u64, "<u8"},
}};

Error refuse(ErrorCode code, std::string what, std::string remedy) {
  return {.code = code, .what = std::move(what), .path = {}, .remedy = std::move(remedy)};
}

Result<DType> read_descr(std::string_view descr) {
  // The byte order of a single byte says nothing.
  const bool one_byte = descr.ends_with("1") && descr.size() == 3;
  for (const auto& [dtype, name] : dtypes) {
    if (descr == name) return dtype;
    if (one_byte && descr.front() != '>' && descr.substr(1) == name.substr(1)) return dtype;
  }
  const std::string shown = shown_name(descr);
  const char order = descr.empty() ? '\0' : descr.front();
  const char kind = descr.size() < 2                                               ? order
                    : order == '<' || order == '>' || order == '|' || order == '=' ? descr[1]
                                                                                   : order;
  if (order == '>') {
    return refuse(ErrorCode::unsupported, fmt::format("the array is big-endian ({})", shown),
                  "save it with a.astype(a.dtype.newbyteorder('<'))");
  }
  if (kind == 'O') {
    return refuse(ErrorCode::unsupported, "the array holds Python objects",
                  "convert it to an array of numbers");
  }
  if (kind == 'V') {
    return refuse(ErrorCode::unknown_dtype,
                  fmt::format("the array holds bytes without a type ({}), as numpy.save leaves "
                              "bfloat16 and float8",
                              shown),
                  "save the tensor as .safetensors, or save its a.view() as integers");
  }
  if (kind == 'c' || kind == 'S' || kind == 'U' || kind == 'M' || kind == 'm') {
    return refuse(ErrorCode::unknown_dtype,
                  fmt::format("the array's dtype {} is {}, which offramp does not have", shown,
                              kind == 'c'                  ? "complex"
                              : kind == 'S' || kind == 'U' ? "text"
                                                           : "a time"),
                  kind == 'c' ? "save a.view() of the real dtype" : "convert it to numbers");
  }
  return refuse(ErrorCode::unknown_dtype,
                fmt::format("offramp does not have the array's dtype {}", shown),
                "convert the array with a.astype()");
}

}  // namespace

Result<NpyHeader> parse_npy_header(std::span<const std::byte> front, std::uint64_t file_size) {
  OFFRAMP_EXPECTS(front.size() == std::min<std::uint64_t>(file_size, max_npy_header_size),
                  "the front of an .npy file is given whole");
  ByteCursor cursor(front);
  const auto found = cursor.take_bytes(std::min(magic.size(), front.size()));
  if (!std::ranges::equal(found, std::as_bytes(std::span(magic.substr(0, found.size()))))) {
    return refuse(ErrorCode::bad_magic, "it is no .npy file", {});
  }
  const auto major = cursor.take<std::uint8_t>();
  const auto minor = cursor.take<std::uint8_t>();
  if (cursor.ok() && (major < 1 || major > 3 || minor != 0)) {
    return refuse(ErrorCode::bad_version,
                  fmt::format("it has the .npy version {}.{}", major, minor),
                  "save it in format 1.0, 2.0 or 3.0");
  }
  const std::uint64_t text_size =
      major == 1 ? cursor.take<std::uint16_t>() : cursor.take<std::uint32_t>();
  const std::uint64_t data = front.size() - cursor.left() + text_size;
  if (cursor.ok() && data <= file_size && data > max_npy_header_size) {
    return refuse(ErrorCode::limit_exceeded,
                  fmt::format("the header takes {} bytes of at most {}", data, max_npy_header_size),
                  "it is no .npy file, or it is damaged");
  }
  const auto text = cursor.take_bytes(text_size);
  if (!cursor.ok()) {
    return refuse(ErrorCode::truncated, "the file ends inside its header",
                  "the file was not copied whole");
  }
  OFFRAMP_TRY(dict, parse_npy_dict({reinterpret_cast<const char*>(text.data()), text.size()}));
  if (dict.structured) {
    return refuse(ErrorCode::unsupported, "the array's dtype has fields (structured)",
                  "save each field as an array of its own");
  }
  NpyHeader header{.desc = {}, .data = data};
  OFFRAMP_TRY(dtype, read_descr(dict.descr));
  if (dict.fortran_order) {
    return refuse(ErrorCode::unsupported, "the array is in Fortran order",
                  "save numpy.ascontiguousarray(a)");
  }
  header.desc = {.dtype = dtype, .shape = dict.shape};
  const auto size = header.desc.checked_size();
  const std::uint64_t left = file_size - data;
  if (!size || *size > left) {
    return refuse(ErrorCode::truncated,
                  fmt::format("an array of dtype {} and shape {} does not fit the {} bytes left",
                              dict.descr, dict.shape.to_string(), left),
                  "the file was not copied whole");
  }
  if (*size < left) {
    return refuse(ErrorCode::bad_header,
                  fmt::format("{} bytes follow the array's {}", left - *size, *size),
                  "save one array a file");
  }
  return header;
}

std::optional<std::string_view> npy_name_of(DType dtype) noexcept {
  for (const auto& [known, name] : dtypes) {
    if (known == dtype) return name;
  }
  return std::nullopt;
}

std::string make_npy_header(const TensorDesc& desc) {
  const auto name = npy_name_of(desc.dtype);
  OFFRAMP_EXPECTS(name, "npy has the dtype");
  const auto extents = desc.shape.extents();
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}",
                                 *name, fmt::join(extents, ", "), extents.size() == 1 ? "," : "");
  if (!extents.empty()) text.append(growth_digits - fmt::formatted_size("{}", extents[0]), ' ');

  std::string front(magic);
  front += '\x01';
  front += '\0';
  const std::size_t before = front.size() + sizeof(std::uint16_t);
  // A header that needs no padding gets a whole unit of it, as from numpy.
  text.append(alignment - (before + text.size() + 1) % alignment, ' ');
  text += '\n';
  const auto text_size = static_cast<std::uint16_t>(text.size());
  front.resize(before);
  store(front.data() + before - sizeof text_size, text_size);
  return front + text;
}

}  // namespace offramp
