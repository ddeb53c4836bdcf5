// SPDX-License-Identifier: Apache-2.0
#include "text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace offramp::cli {
namespace {

// Letters to add, leave out, replace or swap with their neighbour.
std::size_t misspellings(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> at(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        at[i][j] = i + j;
        continue;
      }
      at[i][j] = std::min(
          {at[i - 1][j] + 1, at[i][j - 1] + 1, at[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        at[i][j] = std::min(at[i][j], at[i - 2][j - 2] + 1);
      }
    }
  }
  return at[a.size()][b.size()];
}

}  // namespace

std::string human_size(std::uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  constexpr std::array units{"kB", "MB", "GB", "TB", "PB", "EB"};
  double value = static_cast<double>(bytes) / 1000;
  std::size_t unit = 0;
  while (value >= 999.95 && unit + 1 < units.size()) {
    value /= 1000;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", value, value < 10 ? 2 : 1, units[unit]);
}

std::string human_rate(std::uint64_t bytes, double seconds) {
  if (seconds <= 0) return "-";
  return fmt::format("{:.2f} GB/s", static_cast<double>(bytes) / seconds * 1e-9);
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> known) {
  if (word.size() > 64) return {};
  std::string_view best;
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string_view name : known) {
    const std::size_t off = misspellings(word, name);
    if (off >= least) continue;
    least = off;
    best = name;
  }
  return best;
}

std::string printable(std::string_view name, std::size_t width) {
  std::string text;
  for (std::size_t at = 0; at < name.size();) {
    const auto lead = static_cast<unsigned char>(name[at]);
    const std::size_t length = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    bool valid = lead >= 0x20 && lead != 0x7f && (lead < 0x80 || (lead >= 0xc2 && lead <= 0xf4)) &&
                 at + length <= name.size();
    for (std::size_t i = 1; valid && i < length; ++i) {
      valid = (static_cast<unsigned char>(name[at + i]) & 0xc0) == 0x80;
    }
    // C1 controls (U+0080 to U+009F) steer terminals too.
    if (valid && lead == 0xc2 && static_cast<unsigned char>(name[at + 1]) < 0xa0) valid = false;
    if (valid) {
      text += name.substr(at, length);
      at += length;
    } else {
      text += fmt::format("\\x{:02x}", lead);
      ++at;
    }
  }
  if (text.size() <= width || width < 8) return text;
  // Cut at character boundaries: continuation bytes are never first.
  std::size_t head = (width - 3) / 2;
  std::size_t tail = text.size() - (width - 3 - head);
  const auto continues = [&](std::size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
  };
  while (head > 0 && continues(head)) --head;
  while (tail < text.size() && continues(tail)) ++tail;
  return text.substr(0, head) + "..." + text.substr(tail);
}

Table::Table(std::vector<std::string> headings) { add(std::move(headings)); }

void Table::add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

std::string Table::to_string() const {
  const auto columns_of = [](std::string_view cell) {
    return static_cast<std::size_t>(
        std::ranges::count_if(cell, [](char c) { return (c & 0xc0) != 0x80; }));
  };
  std::vector<std::size_t> widths(rows_.front().size());
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], columns_of(row[i]));
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - columns_of(row[i]), ' ');
      line += i == 0 ? row[i] + padding : "  " + padding + row[i];
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    text += line + '\n';
  }
  return text;
}

}  // namespace offramp::cli
