// SPDX-License-Identifier: Apache-2.0
// A whole safetensors file of untrusted bytes: refused, or understood so that writing it and
// reading that again gives the same.
#include "transport/safetensors/safetensors_header.hpp"
#include "transport/tensor_checks.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

namespace {

using namespace offramp;

void expect(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  const auto json_size =
      read_safetensors_header_size(file.first(std::min(size, safetensors_prefix_size)), size);
  if (!json_size) return 0;
  const auto header =
      parse_safetensors_header(file.subspan(safetensors_prefix_size, *json_size), size);
  if (!header) {
    expect(!header.error().what.empty());
    return 0;
  }

  std::uint64_t at = safetensors_prefix_size + *json_size;
  for (std::size_t i = 0; i < header->tensors.size(); ++i) {
    expect(header->offsets[i] == at);
    at += header->tensors[i].desc.size();
  }
  expect(at == size);
  expect(check_tensors(header->tensors, header->metadata, "fuzz") + safetensors_prefix_size +
             *json_size ==
         size);

  const std::string front = make_safetensors_header(header->tensors, header->metadata);
  const auto front_bytes = std::as_bytes(std::span(front));
  const std::uint64_t data_size = size - safetensors_prefix_size - *json_size;
  const auto again = parse_safetensors_header(front_bytes.subspan(safetensors_prefix_size),
                                              front.size() + data_size);
  expect(again.has_value() && again->tensors == header->tensors &&
         again->metadata == header->metadata);
  return 0;
}
