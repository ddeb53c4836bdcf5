// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/transport/transport.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace offramp {

/// Number of a transport in plans and counters. Never reused, never renumbered.
enum class TransportId : std::uint16_t { safetensors = 1, npy = 2, raw = 3, folder = 4 };

/// One kind of file that tensors come from and go to.
struct TransportRow {
  TransportId id{};
  std::string_view name{};
  std::span<const std::string_view> extensions{};  ///< in lower case, with the dot; none: a folder
  Result<std::unique_ptr<TensorSource>> (*open)(const std::string& path, const SourceOptions&){};
  std::unique_ptr<TensorSink> (*make)(const std::string& path, const SinkOptions&){};
};

/// All transports of this build, by ascending number.
[[nodiscard]] std::span<const TransportRow> transport_table() noexcept;

}  // namespace offramp
