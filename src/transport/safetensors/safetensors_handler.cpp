// SPDX-License-Identifier: Apache-2.0
#include "transport/safetensors/safetensors_handler.hpp"

#include "transport/safetensors/safetensors_header.hpp"
#include "transport/tensor_checks.hpp"

#include <fmt/format.h>

#include <utility>

namespace offramp {

bool SafetensorsHandler::fail(ErrorCode code, std::string what, std::string remedy) {
  error_ = Error{.code = code, .what = std::move(what), .path = {}, .remedy = std::move(remedy)};
  return false;
}

std::string SafetensorsHandler::where() const {
  switch (place_) {
    case Place::outside:
    case Place::top:
    case Place::done:
      return "the header";
    case Place::top_value:
    case Place::entry:
      return fmt::format("the entry {}", shown_name(name_));
    case Place::entry_value:
    case Place::shape:
    case Place::offsets:
      return fmt::format("{} of the entry {}",
                         field_ == dtype_field   ? "dtype"
                         : field_ == shape_field ? "shape"
                                                 : "data_offsets",
                         shown_name(name_));
    case Place::metadata:
      return "__metadata__";
  }
  return {};
}

bool SafetensorsHandler::unexpected(std::string_view value) {
  return fail(ErrorCode::bad_header,
              fmt::format("{} holds {} where the safetensors format has none", where(), value));
}

bool SafetensorsHandler::null() { return unexpected("null"); }
bool SafetensorsHandler::boolean(bool) { return unexpected("a boolean"); }
bool SafetensorsHandler::number_integer(number_integer_t) {
  return unexpected("a negative number");
}
bool SafetensorsHandler::number_float(number_float_t, const string_t&) {
  return unexpected("a number that is not a 64-bit integer");
}
bool SafetensorsHandler::binary(binary_t&) { return unexpected("binary"); }

bool SafetensorsHandler::number_unsigned(number_unsigned_t value) {
  const bool in_shape = place_ == Place::shape;
  if (!in_shape && place_ != Place::offsets) return unexpected("a number");
  if (numbers_.size() == (in_shape ? Shape::max_rank : 2)) {
    return fail(in_shape ? ErrorCode::unsupported : ErrorCode::bad_header,
                in_shape ? fmt::format("{} has more than {} axes", where(), Shape::max_rank)
                         : fmt::format("{} has more than two numbers", where()));
  }
  numbers_.push_back(value);
  return true;
}

bool SafetensorsHandler::string(string_t& value) {
  if (place_ == Place::metadata) {
    metadata_.emplace_back(std::move(name_), std::move(value));
    name_.clear();
    return true;
  }
  if (place_ != Place::entry_value || field_ != dtype_field) return unexpected("a string");
  const auto dtype = dtype_from_safetensors(value);
  if (!dtype) {
    return fail(ErrorCode::unknown_dtype,
                fmt::format("tensor {} has the dtype {}, which offramp does not have",
                            shown_name(name_), shown_name(value)),
                "convert the tensor, or leave it out of the file");
  }
  entries_.back().info.desc.dtype = *dtype;
  place_ = Place::entry;
  return true;
}

bool SafetensorsHandler::start_object(std::size_t) {
  if (place_ == Place::outside) {
    place_ = Place::top;
    return true;
  }
  if (place_ != Place::top_value) return unexpected("an object");
  if (name_ == "__metadata__") {
    if (std::exchange(metadata_seen_, true)) {
      return fail(ErrorCode::duplicate, "__metadata__ stands twice in the header");
    }
    place_ = Place::metadata;
    return true;
  }
  entries_.push_back({});
  entries_.back().info.name = name_;
  fields_seen_ = 0;
  place_ = Place::entry;
  return true;
}

bool SafetensorsHandler::key(string_t& value) {
  if (place_ == Place::entry) {
    field_ = value == "dtype"          ? dtype_field
             : value == "shape"        ? shape_field
             : value == "data_offsets" ? offsets_field
                                       : no_field;
    if (field_ == no_field) {
      return fail(ErrorCode::bad_header,
                  fmt::format("{} has the key {}, unknown to the safetensors format", where(),
                              shown_name(value)));
    }
    if (fields_seen_ & field_) {
      return fail(ErrorCode::duplicate, fmt::format("{} stands twice in {}", value, where()));
    }
    fields_seen_ |= field_;
    place_ = Place::entry_value;
    return true;
  }
  name_ = std::move(value);
  if (place_ == Place::top) place_ = Place::top_value;
  return true;
}

bool SafetensorsHandler::end_object() {
  if (place_ == Place::entry && fields_seen_ != all_fields) {
    const char* missing = !(fields_seen_ & dtype_field)   ? "dtype"
                          : !(fields_seen_ & shape_field) ? "shape"
                                                          : "data_offsets";
    return fail(ErrorCode::bad_header, fmt::format("{} has no {}", where(), missing));
  }
  place_ = place_ == Place::top ? Place::done : Place::top;
  return true;
}

bool SafetensorsHandler::start_array(std::size_t) {
  if (place_ != Place::entry_value || field_ == dtype_field) return unexpected("an array");
  numbers_.clear();
  place_ = field_ == shape_field ? Place::shape : Place::offsets;
  return true;
}

bool SafetensorsHandler::end_array() {
  Entry& entry = entries_.back();
  if (place_ == Place::shape) {
    entry.info.desc.shape = Shape(numbers_);
  } else {
    if (numbers_.size() != 2) {
      return fail(ErrorCode::bad_header, fmt::format("{} has not two numbers", where()));
    }
    entry.begin = numbers_[0];
    entry.end = numbers_[1];
  }
  place_ = Place::entry;
  return true;
}

bool SafetensorsHandler::parse_error(std::size_t position, const std::string&,
                                     const nlohmann::detail::exception&) {
  return fail(ErrorCode::bad_header,
              fmt::format("the header is not JSON in UTF-8 from its byte {} on", position));
}

}  // namespace offramp
