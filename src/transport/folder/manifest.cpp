// SPDX-License-Identifier: Apache-2.0
#include "transport/folder/manifest.hpp"

#include "transport/tensor_checks.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <utility>

namespace offramp {
namespace {

using Json = nlohmann::ordered_json;

constexpr int version = 1;
constexpr int deepest = 4;  // document, tensors, a tensor, its shape

Error bad_manifest(std::string what) {
  return {.code = ErrorCode::bad_header,
          .what = fmt::format("{} {}", manifest_file, what),
          .path = {},
          .remedy = "remove it to take the folder's .npy and .safetensors files as they are"};
}

const std::string* text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : found->get_ptr<const std::string*>();
}

const Json* array_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || !found->is_array() ? nullptr : &*found;
}

bool is_tensor_file(std::string_view file) noexcept {
  return (file.ends_with(".npy") || file.ends_with(".safetensors")) &&
         file.find('/') == std::string_view::npos && file.find('\0') == std::string_view::npos;
}

Result<ManifestEntry> parse_entry(const Json& json) {
  if (!json.is_object()) return bad_manifest("lists a tensor that is no object");
  const std::string* name = text_at(json, "name");
  const std::string* file = text_at(json, "file");
  const std::string* dtype_name = text_at(json, "dtype");
  const Json* extents = array_at(json, "shape");
  if (!name || !file || !dtype_name || !extents) {
    return bad_manifest("lists a tensor without name, file, dtype or shape");
  }
  if (!is_tensor_file(*file)) {
    return Error{.code = ErrorCode::bad_name,
                 .what = fmt::format("{} names the file {}, which is no .npy or .safetensors file "
                                     "in the folder",
                                     manifest_file, shown_name(*file)),
                 .path = {},
                 .remedy = {}};
  }
  const auto dtype = dtype_from_name(*dtype_name);
  if (!dtype) {
    return Error{.code = ErrorCode::unknown_dtype,
                 .what = fmt::format("{} gives tensor {} the dtype {}", manifest_file,
                                     shown_name(*name), shown_name(*dtype_name)),
                 .path = {},
                 .remedy = {}};
  }
  std::vector<std::uint64_t> shape;
  for (const Json& extent : *extents) {
    if (!extent.is_number_unsigned() || shape.size() == Shape::max_rank) {
      return bad_manifest(fmt::format("gives tensor {} no sound shape", shown_name(*name)));
    }
    shape.push_back(extent.get<std::uint64_t>());
  }
  return ManifestEntry{.tensor = {.name = *name, .desc = {.dtype = *dtype, .shape = Shape(shape)}},
                       .file = *file};
}

}  // namespace

Result<Manifest> parse_manifest(std::span<const std::byte> bytes) {
  bool too_deep = false;
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  const auto limit_depth = [&](int depth, Json::parse_event_t, Json&) {
    too_deep |= depth > deepest;
    return !too_deep;
  };
  const Json json = Json::parse(text, text + bytes.size(), limit_depth, false);
  if (json.is_discarded() || too_deep || !json.is_object()) {
    return bad_manifest("is not the JSON that offramp writes");
  }
  const auto format = json.find("offramp_folder");
  if (format == json.end() || !format->is_number_unsigned()) {
    return bad_manifest("has no version (offramp_folder)");
  }
  if (*format != version) {
    return Error{.code = ErrorCode::bad_version,
                 .what = fmt::format("{} has the version {}, this build reads {}", manifest_file,
                                     format->get<std::uint64_t>(), version),
                 .path = {},
                 .remedy = "use a newer offramp"};
  }

  Manifest manifest;
  const Json* pairs = array_at(json, "metadata");
  const Json* tensors = array_at(json, "tensors");
  if (!pairs || !tensors) return bad_manifest("has no list of tensors or metadata");
  for (const Json& pair : *pairs) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string()) {
      return bad_manifest("holds metadata that is no pair of texts");
    }
    manifest.metadata.emplace_back(pair[0].get<std::string>(), pair[1].get<std::string>());
  }
  for (const Json& item : *tensors) {
    OFFRAMP_TRY(entry, parse_entry(item));
    manifest.entries.push_back(std::move(entry));
  }
  return manifest;
}

std::string make_manifest(const Manifest& manifest) {
  const auto quoted = [](std::string_view text) { return Json(text).dump(); };
  // One line a tensor, for people and for diff.
  std::string text = fmt::format("{{\n  \"offramp_folder\": {},\n  \"metadata\": [", version);
  const char* separator = "\n";
  for (const auto& [key, value] : manifest.metadata) {
    text +=
        fmt::format("{}    [{}, {}]", std::exchange(separator, ",\n"), quoted(key), quoted(value));
  }
  text += "\n  ],\n  \"tensors\": [";
  separator = "\n";
  for (const auto& [tensor, file] : manifest.entries) {
    text += fmt::format(R"({}    {{"name": {}, "dtype": "{}", "shape": {}, "file": {}}})",
                        std::exchange(separator, ",\n"), quoted(tensor.name),
                        name_of(tensor.desc.dtype), tensor.desc.shape.to_string(), quoted(file));
  }
  return text + "\n  ]\n}\n";
}

}  // namespace offramp
