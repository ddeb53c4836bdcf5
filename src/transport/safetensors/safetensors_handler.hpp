// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/error.hpp>
#include <offramp/transport/tensor_source.hpp>

#include <nlohmann/json.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace offramp {

/// Receives the events of a safetensors header from the JSON parser.
///
/// No document is built: the parser's own would keep the last of two equal keys, and would nest as
/// deep as the bytes ask. Stops at the first event that does not fit.
class SafetensorsHandler final : public nlohmann::json_sax<nlohmann::json> {
 public:
  struct Entry {
    TensorInfo info{};
    std::uint64_t begin{};  ///< offsets in the data
    std::uint64_t end{};
  };

  [[nodiscard]] std::vector<Entry>& entries() noexcept { return entries_; }
  [[nodiscard]] Metadata& metadata() noexcept { return metadata_; }

  /// Why the parse stopped.
  [[nodiscard]] const std::optional<Error>& error() const noexcept { return error_; }

  bool null() override;
  bool boolean(bool value) override;
  bool number_integer(number_integer_t value) override;
  bool number_unsigned(number_unsigned_t value) override;
  bool number_float(number_float_t value, const string_t& text) override;
  bool string(string_t& value) override;
  bool binary(binary_t& value) override;
  bool start_object(std::size_t elements) override;
  bool key(string_t& value) override;
  bool end_object() override;
  bool start_array(std::size_t elements) override;
  bool end_array() override;
  bool parse_error(std::size_t position, const std::string& last_token,
                   const nlohmann::detail::exception& error) override;

 private:
  enum class Place { outside, top, top_value, entry, entry_value, shape, offsets, metadata, done };
  enum Field : unsigned { no_field = 0, dtype_field = 1, shape_field = 2, offsets_field = 4 };
  static constexpr unsigned all_fields = dtype_field | shape_field | offsets_field;

  bool fail(ErrorCode code, std::string what, std::string remedy = {});
  bool unexpected(std::string_view value);
  [[nodiscard]] std::string where() const;

  std::vector<Entry> entries_;
  Metadata metadata_;
  std::optional<Error> error_;

  Place place_{Place::outside};
  bool metadata_seen_{false};
  std::string name_;                    // of the entry or metadata key at hand
  Field field_{no_field};               // of the entry at hand, whose value comes next
  unsigned fields_seen_{0};             // of the entry at hand
  std::vector<std::uint64_t> numbers_;  // of the array at hand
};

}  // namespace offramp
