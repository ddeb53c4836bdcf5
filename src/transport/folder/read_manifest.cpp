// SPDX-License-Identifier: Apache-2.0
#include "transport/folder/read_manifest.hpp"

#include <offramp/core/error.hpp>
#include <offramp/core/file.hpp>

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <vector>

namespace offramp {
namespace {

constexpr std::uint64_t max_manifest_size = 100'000'000;

}  // namespace

Result<std::optional<Manifest>> read_manifest(const std::string& folder) {
  const std::string path = fmt::format("{}/{}", folder, manifest_file);
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return std::optional<Manifest>();
    throw IoError("read", path, errno);
  }
  const InputFile file(path);
  if (file.size() > max_manifest_size) {
    return Error{
        .code = ErrorCode::limit_exceeded,
        .what = fmt::format("it has {} bytes of at most {}", file.size(), max_manifest_size),
        .path = path,
        .remedy = {}};
  }
  std::vector<std::byte> json(file.size());
  file.read(0, json);
  auto manifest = parse_manifest(json);
  if (!manifest) return std::move(manifest.error()).in(folder);
  return std::optional<Manifest>(*std::move(manifest));
}

}  // namespace offramp
