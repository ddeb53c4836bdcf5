// SPDX-License-Identifier: Apache-2.0
#include "transport/npy/npy_dict.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <utility>

namespace offramp {
namespace {

Error bad_header(std::string what) {
  return {.code = ErrorCode::bad_header,
          .what = std::move(what),
          .path = {},
          .remedy = "it is no .npy file, or it is damaged"};
}

/// A reader of the few Python literals that numpy writes there.
class Literal {
 public:
  explicit Literal(std::string_view text) noexcept : text_(text) {}

  void skip_space() noexcept {
    while (at_ < text_.size() && std::string_view(" \t\r\n\f").find(text_[at_]) != npos) ++at_;
  }
  [[nodiscard]] bool at_end() noexcept {
    skip_space();
    return at_ == text_.size();
  }
  [[nodiscard]] char peek() noexcept { return at_end() ? '\0' : text_[at_]; }
  bool take(char wanted) noexcept {
    if (peek() != wanted || at_ == text_.size()) return false;
    ++at_;
    return true;
  }
  bool take(std::string_view word) noexcept {
    skip_space();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  Result<std::string_view> take_string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return unexpected("a string");
    const std::size_t end =
        text_.find_first_of(std::array{quote, '\\', '\n', '\0'}.data(), at_ + 1);
    if (end == npos || text_[end] != quote) return unexpected("a plain string");
    const auto value = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return value;
  }

  Result<bool> take_bool() {
    if (take("True")) return true;
    if (take("False")) return false;
    return unexpected("True or False");
  }

  Result<std::uint64_t> take_number() {
    if (peek() < '0' || peek() > '9') return unexpected("a number");
    std::uint64_t value = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      if (__builtin_mul_overflow(value, 10u, &value) ||
          __builtin_add_overflow(value, static_cast<std::uint64_t>(text_[at_] - '0'), &value)) {
        return bad_header("an extent of the shape does not fit 64 bits");
      }
    }
    return value;
  }

  // "()", "(3,)", "(3, 4)", "(3, 4,)"; "(3)" is no tuple.
  Result<Shape> take_shape() {
    if (!take('(')) return unexpected("a tuple");
    std::array<std::uint64_t, Shape::max_rank> extents{};
    std::size_t rank = 0;
    bool comma = true;
    while (!take(')')) {
      if (!comma) return unexpected("a comma");
      if (rank == Shape::max_rank) {
        return Error{.code = ErrorCode::unsupported,
                     .what = fmt::format("the array has more than {} axes", Shape::max_rank),
                     .path = {},
                     .remedy = "reshape it"};
      }
      OFFRAMP_TRY(extent, take_number());
      extents[rank++] = extent;
      comma = take(',');
    }
    if (rank == 1 && !comma) return unexpected("a comma in the tuple of one");
    return Shape(std::span(extents).first(rank));
  }

  [[nodiscard]] Error unexpected(std::string_view wanted) const {
    return bad_header(fmt::format("the header lacks {} at byte {} of its text", wanted, at_));
  }

 private:
  static constexpr auto npos = std::string_view::npos;
  std::string_view text_;
  std::size_t at_{0};
};

}  // namespace

Result<NpyDict> parse_npy_dict(std::string_view text) {
  Literal in(text);
  NpyDict dict;
  bool descr = false;
  bool order = false;
  bool shape = false;
  if (!in.take('{')) return in.unexpected("a dictionary");
  bool comma = true;
  while (!in.take('}')) {
    if (!comma) return in.unexpected("a comma");
    OFFRAMP_TRY(key, in.take_string());
    if (!in.take(':')) return in.unexpected("a colon");
    bool* const seen = key == "descr"           ? &descr
                       : key == "fortran_order" ? &order
                       : key == "shape"         ? &shape
                                                : nullptr;
    if (!seen) return bad_header("the header has a key that the .npy format does not know");
    if (std::exchange(*seen, true)) {
      return Error{.code = ErrorCode::duplicate,
                   .what = fmt::format("'{}' stands twice in the header", key),
                   .path = {},
                   .remedy = {}};
    }
    if (seen == &descr) {
      if (in.peek() == '[' || in.peek() == '(') {
        // Its fields are of no use, and so is the rest.
        dict.structured = true;
        return dict;
      }
      OFFRAMP_TRY(value, in.take_string());
      dict.descr = value;
    } else if (seen == &order) {
      OFFRAMP_TRY(value, in.take_bool());
      dict.fortran_order = value;
    } else {
      OFFRAMP_TRY(value, in.take_shape());
      dict.shape = value;
    }
    comma = in.take(',');
  }
  if (!in.at_end()) return in.unexpected("its end");
  if (!descr || !order || !shape) {
    return bad_header(fmt::format("the header has no '{}'", !descr   ? "descr"
                                                            : !order ? "fortran_order"
                                                                     : "shape"));
  }
  return dict;
}

}  // namespace offramp
