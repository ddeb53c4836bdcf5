// SPDX-License-Identifier: Apache-2.0
#include "transport/folder/file_names.hpp"

#include "core/hash.hpp"
#include "transport/npy/npy_header.hpp"
#include "transport/tensor_checks.hpp"

#include <offramp/core/error.hpp>

#include <fmt/format.h>

#include <unordered_set>
#include <utility>

namespace offramp {
namespace {

constexpr std::size_t kept_of_long_stem = 160;
constexpr std::size_t escape_size = 3;

bool is_plain(char c, bool first) noexcept {
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_') {
    return true;
  }
  return !first && (c == '.' || c == '-');
}

std::optional<unsigned> hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
  return std::nullopt;
}

std::string lower_case(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

// '~' is in no escaped name, so a stem with a hash never equals one without.
std::string hashed_stem(std::string_view stem, std::string_view name) {
  stem = stem.substr(0, kept_of_long_stem);
  const auto escape = stem.rfind('%');
  if (escape != std::string_view::npos && stem.size() - escape < escape_size) {
    stem = stem.substr(0, escape);
  }
  return fmt::format("{}~{:016x}", stem, xxh3_64(std::as_bytes(std::span(name))));
}

}  // namespace

std::string escape_name(std::string_view name) {
  if (name.empty()) return "%";
  std::string stem;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (is_plain(name[i], i == 0)) {
      stem += name[i];
    } else {
      stem += fmt::format("%{:02X}", static_cast<unsigned char>(name[i]));
    }
  }
  return stem;
}

std::optional<std::string> unescape_name(std::string_view stem) {
  if (stem == "%") return "";
  std::string name;
  for (std::size_t i = 0; i < stem.size(); ++i) {
    if (stem[i] != '%') {
      name += stem[i];
      continue;
    }
    if (stem.size() - i < escape_size) return std::nullopt;
    const auto high = hex_digit(stem[i + 1]);
    const auto low = hex_digit(stem[i + 2]);
    if (!high || !low) return std::nullopt;
    name += static_cast<char>(*high * 16 + *low);
    i += escape_size - 1;
  }
  // Catches what need not have been escaped, or should have been.
  if (name.empty() || escape_name(name) != stem) return std::nullopt;
  return name;
}

std::vector<std::string> file_names_of(std::span<const TensorInfo> tensors,
                                       const std::string& folder) {
  std::vector<std::string> files;
  files.reserve(tensors.size());
  std::unordered_set<std::string> taken;
  for (const TensorInfo& tensor : tensors) {
    const char* extension = npy_name_of(tensor.desc.dtype) ? ".npy" : ".safetensors";
    const std::string stem = escape_name(tensor.name);
    std::string file = stem + extension;
    const bool fits = stem.size() <= max_file_stem_size;
    if (!fits || !taken.insert(lower_case(file)).second) {
      file = hashed_stem(stem, tensor.name) + extension;
      if (!taken.insert(lower_case(file)).second) {
        throw DataError({.code = ErrorCode::duplicate,
                         .what = fmt::format("the name {} and another need the same file {}",
                                             shown_name(tensor.name), file),
                         .path = folder,
                         .remedy = "write to a .safetensors file"});
      }
    }
    files.push_back(std::move(file));
  }
  return files;
}

}  // namespace offramp
