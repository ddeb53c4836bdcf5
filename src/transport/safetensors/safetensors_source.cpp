// SPDX-License-Identifier: Apache-2.0
#include "transport/safetensors/safetensors_source.hpp"

#include "transport/tensor_checks.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace offramp {

SafetensorsSource::SafetensorsSource(InputFile file, SafetensorsHeader header)
    : file_(std::move(file)), header_(std::move(header)) {}

Result<std::unique_ptr<TensorSource>> SafetensorsSource::open(const std::string& path) {
  InputFile file(path);
  OFFRAMP_TRY_VOID(expect_not_empty(file));
  std::array<std::byte, safetensors_prefix_size> prefix{};
  const auto front = std::span(prefix).first(std::min<std::uint64_t>(prefix.size(), file.size()));
  file.read(0, front);
  OFFRAMP_TRY(json_size, read_safetensors_header_size(front, file.size()));
  std::vector<std::byte> json(json_size);
  file.read(safetensors_prefix_size, json);
  OFFRAMP_TRY(header, parse_safetensors_header(json, file.size()));
  return std::unique_ptr<TensorSource>(new SafetensorsSource(std::move(file), std::move(header)));
}

void SafetensorsSource::read(std::size_t tensor, std::uint64_t first_elem,
                             std::span<std::byte> out) {
  const std::uint64_t offset =
      byte_offset_in(tensor_at(header_.tensors, tensor), first_elem, out.size());
  file_.read_unchanged(header_.offsets[tensor] + offset, out);
}

}  // namespace offramp
