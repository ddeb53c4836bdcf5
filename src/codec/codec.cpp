// SPDX-License-Identifier: Apache-2.0
#include "core/bytes.hpp"
#include "core/checks.hpp"

#include <offramp/codec/codec.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace offramp {
namespace {

const StageRow& row_of(std::span<const Codec::Step> steps) {
  OFFRAMP_EXPECTS(!steps.empty(), "an empty codec was used: make one by from_name or parse");
  const StageRow* row = find_stage(steps.front().stage);
  OFFRAMP_EXPECTS(row, "the codec's stage is not in this build");
  return *row;
}

std::string known_names() {
  std::string names;
  for (const StageRow& row : stage_table()) {
    if (!names.empty()) names += ", ";
    names += row.name;
  }
  return names;
}

Error bad_chain(std::string what) {
  return Error{.code = ErrorCode::bad_header, .what = std::move(what), .path = {}, .remedy = {}};
}

}  // namespace

Result<Codec> Codec::from_name(std::string_view name) {
  const StageRow* row = find_stage(name);
  if (!row) {
    return Error{.code = ErrorCode::unknown_stage,
                 .what = fmt::format("there is no codec \"{}\"", name),
                 .path = {},
                 .remedy = fmt::format("use one of: {}", known_names())};
  }
  Codec codec;
  codec.steps_.push_back({.stage = row->id, .params = {}});
  return codec;
}

Result<Codec> Codec::parse(std::span<const std::byte> bytes) {
  ByteCursor cursor(bytes);
  const std::size_t count = cursor.take<std::uint8_t>();
  if (count == 0 || count > max_stages) {
    return bad_chain(fmt::format("a codec chain of {} stages, not 1 to {}", count, max_stages));
  }
  Codec codec;
  for (std::size_t i = 0; i < count; ++i) {
    const auto number = cursor.take<std::uint16_t>();
    const auto params = cursor.take_bytes(cursor.take<std::uint16_t>());
    if (!cursor.ok()) return bad_chain("a codec chain ends early");
    if (!find_stage(StageId{number})) {
      return Error{.code = ErrorCode::unknown_stage,
                   .what = fmt::format("stage {} is not in this build of offramp", number),
                   .path = {},
                   .remedy = "use a newer offramp"};
    }
    codec.steps_.push_back({.stage = StageId{number}, .params = {params.begin(), params.end()}});
  }
  if (cursor.left() != 0) {
    return bad_chain(fmt::format("{} bytes behind a codec chain", cursor.left()));
  }
  // Every stage so far is a coder: it takes a tensor and ends a chain.
  if (count > 1) {
    return Error{.code = ErrorCode::unsupported,
                 .what = fmt::format("chain {}: each of its stages must stand alone", codec.name()),
                 .path = {},
                 .remedy = "use a newer offramp"};
  }
  return codec;
}

std::vector<std::byte> Codec::serialize() const {
  std::vector<std::byte> bytes{static_cast<std::byte>(steps_.size())};
  const auto put = [&bytes](std::size_t value) {
    bytes.push_back(static_cast<std::byte>(value & 0xff));
    bytes.push_back(static_cast<std::byte>(value >> 8));
  };
  for (const Step& step : steps_) {
    put(static_cast<std::size_t>(step.stage));
    put(step.params.size());
    bytes.insert(bytes.end(), step.params.begin(), step.params.end());
  }
  return bytes;
}

std::string Codec::name() const {
  std::string text;
  for (const Step& step : steps_) {
    const StageRow* row = find_stage(step.stage);
    if (!text.empty()) text += '+';
    text += row ? std::string(row->name) : fmt::format("stage-{}", static_cast<int>(step.stage));
  }
  return text;
}

std::size_t Codec::max_encoded_size(const TensorDesc& desc) const {
  return std::max(row_of(steps_).max_encoded_size(desc), desc.size());
}

std::size_t Codec::encode_scratch_size(const TensorDesc& desc, std::size_t workers) const {
  return row_of(steps_).encode_scratch_size(desc, workers);
}

std::size_t Codec::decode_scratch_size(const TensorDesc& desc, std::size_t workers) const {
  return row_of(steps_).decode_scratch_size(desc, workers);
}

Codec::Encoded Codec::encode(TensorView in, std::span<std::byte> out, std::span<std::byte> scratch,
                             Workers& workers) const {
  const StageRow& row = row_of(steps_);
  EncodeArgs args{.in = in,
                  .params = steps_.front().params,
                  .out = out,
                  .scratch = scratch,
                  .workers = &workers};
  if (row.id != StageId::store) {
    const std::size_t size = row.encode(args);
    if (size < in.bytes.size()) return {.size = size, .stored = false};
    args.params = {};
  }
  return {.size = find_stage(StageId::store)->encode(args), .stored = true};
}

Result<void> Codec::decode(std::span<const std::byte> in, const TensorDesc& desc,
                           std::uint64_t first_elem, std::span<std::byte> out,
                           std::span<std::byte> scratch, Workers& workers) const {
  return row_of(steps_).decode({.in = in,
                                .desc = desc,
                                .params = steps_.front().params,
                                .first_elem = first_elem,
                                .out = out,
                                .scratch = scratch,
                                .workers = &workers});
}

}  // namespace offramp
