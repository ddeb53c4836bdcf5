// SPDX-License-Identifier: Apache-2.0
#include "transport/transport_table.hpp"

#include "transport/folder/folder_sink.hpp"
#include "transport/folder/folder_source.hpp"
#include "transport/npy/npy_sink.hpp"
#include "transport/npy/npy_source.hpp"
#include "transport/raw/raw_sink.hpp"
#include "transport/raw/raw_source.hpp"
#include "transport/safetensors/safetensors_sink.hpp"
#include "transport/safetensors/safetensors_source.hpp"
#include "transport/tensor_checks.hpp"

#include <offramp/core/error.hpp>
#include <offramp/core/file.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace offramp {
namespace {

using Source = Result<std::unique_ptr<TensorSource>>;
using Sink = std::unique_ptr<TensorSink>;

constexpr std::array<std::string_view, 1> safetensors_extensions{".safetensors"};
constexpr std::array<std::string_view, 1> npy_extensions{".npy"};
constexpr std::array<std::string_view, 2> raw_extensions{".bin", ".raw"};

OutputFile::Existing existing(const SinkOptions& options) noexcept {
  return options.overwrite ? OutputFile::Existing::overwrite : OutputFile::Existing::refuse;
}

constexpr std::array<TransportRow, 4> rows{{
    {.id = TransportId::safetensors,
     .name = "safetensors",
     .extensions = safetensors_extensions,
     .open = [](const std::string& path, const SourceOptions&) -> Source {
       return SafetensorsSource::open(path);
     },
     .make = [](const std::string& path, const SinkOptions& options) -> Sink {
       return std::make_unique<SafetensorsSink>(path, existing(options));
     }},
    {.id = TransportId::npy,
     .name = "npy",
     .extensions = npy_extensions,
     .open = [](const std::string& path, const SourceOptions&) -> Source {
       return open_npy_source(path);
     },
     .make = [](const std::string& path, const SinkOptions& options) -> Sink {
       return make_npy_sink(path, existing(options));
     }},
    {.id = TransportId::raw,
     .name = "raw",
     .extensions = raw_extensions,
     .open = [](const std::string& path, const SourceOptions& options) -> Source {
       return open_raw_source(path, options.dtype, options.shape);
     },
     .make = [](const std::string& path, const SinkOptions& options) -> Sink {
       return make_raw_sink(path, existing(options));
     }},
    {.id = TransportId::folder,
     .name = "folder",
     .extensions = {},
     .open = [](const std::string& path, const SourceOptions&) -> Source {
       return FolderSource::open(path);
     },
     .make = [](const std::string& path, const SinkOptions& options) -> Sink {
       return std::make_unique<FolderSink>(path, options.overwrite);
     }},
}};

bool is_folder(const std::string& path) noexcept {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// With the dot and in lower case; empty where the file name has none.
std::string extension_of(std::string_view path) {
  const auto slash = path.rfind('/');
  if (slash != std::string_view::npos) path.remove_prefix(slash + 1);
  std::string extension(path.substr(file_stem(path).size()));
  for (char& c : extension) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return extension;
}

Error unknown(const std::string& path, std::string what) {
  std::vector<std::string_view> extensions;
  for (const TransportRow& row : rows) {
    extensions.insert(extensions.end(), row.extensions.begin(), row.extensions.end());
  }
  return {.code = ErrorCode::unsupported,
          .what = std::move(what),
          .path = path,
          .remedy = fmt::format("offramp knows {} and folders (a path that ends in '/')",
                                fmt::join(extensions, ", "))};
}

Result<const TransportRow*> row_for(const std::string& path, std::string_view format, bool folder) {
  for (const TransportRow& row : rows) {
    if (format == row.name) return &row;
    if (format.empty() && folder && row.extensions.empty()) return &row;
  }
  if (!format.empty()) {
    return unknown(path, fmt::format("there is no format {}", shown_name(format)));
  }
  const std::string extension = extension_of(path);
  for (const TransportRow& row : rows) {
    if (std::ranges::find(row.extensions, extension) != row.extensions.end()) return &row;
  }
  return unknown(path, extension.empty()
                           ? "a file without an extension"
                           : fmt::format("the extension {} is unknown", shown_name(extension)));
}

Result<const TransportRow*> source_row(const std::string& path, const SourceOptions& options) {
  OFFRAMP_TRY(row, row_for(path, options.format, path.ends_with('/') || is_folder(path)));
  if ((options.dtype || options.shape) && row->id != TransportId::raw) {
    return Error{.code = ErrorCode::unsupported,
                 .what = fmt::format("a {} source states its dtype and shape itself", row->name),
                 .path = path,
                 .remedy = "leave them out"};
  }
  return row;
}

Result<const TransportRow*> sink_row(const std::string& path, const SinkOptions& options) {
  const bool folder = path.ends_with('/') || is_folder(path) || extension_of(path).empty();
  return row_for(path, options.format, folder);
}

}  // namespace

std::span<const TransportRow> transport_table() noexcept { return rows; }

Result<std::string_view> source_format(const std::string& path, const SourceOptions& options) {
  OFFRAMP_TRY(row, source_row(path, options));
  return row->name;
}

Result<std::string_view> sink_format(const std::string& path, const SinkOptions& options) {
  OFFRAMP_TRY(row, sink_row(path, options));
  return row->name;
}

Result<std::unique_ptr<TensorSource>> open_source(const std::string& path,
                                                  const SourceOptions& options) {
  OFFRAMP_TRY(row, source_row(path, options));
  try {
    auto source = row->open(path, options);
    if (!source) return std::move(source.error()).in(path);
    return source;
  } catch (const DataError& error) {
    return Error(error.error()).in(path);
  }
}

Result<std::unique_ptr<TensorSink>> make_sink(const std::string& path, const SinkOptions& options) {
  OFFRAMP_TRY(row, sink_row(path, options));
  return row->make(path, options);
}

}  // namespace offramp
