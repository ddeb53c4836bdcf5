// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace offramp::cli {

/// "7.87 MB": powers of 1000, as storage and links are sold.
[[nodiscard]] std::string human_size(std::uint64_t bytes);

/// "1.23 GB/s", or "-" where no time passed.
[[nodiscard]] std::string human_rate(std::uint64_t bytes, double seconds);

/// "1 tensor", "2 tensors"; `noun` takes an s.
[[nodiscard]] std::string counted(std::uint64_t count, std::string_view noun);

/// That of `known` which `word` misspells by a letter or two (more in a long one); empty for none.
[[nodiscard]] std::string_view nearest(std::string_view word,
                                       std::span<const std::string_view> known);

/// The name with control characters and invalid bytes made visible, cut in the middle to `width`
/// columns: names come from files and go to a terminal.
[[nodiscard]] std::string printable(std::string_view name, std::size_t width = 60);

/// Rows under headings, padded to columns; the first column left, the others right.
class Table {
 public:
  explicit Table(std::vector<std::string> headings);
  void add(std::vector<std::string> cells);
  [[nodiscard]] std::string to_string() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace offramp::cli
