// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/transport/tensor_source.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace offramp {

/// Where restored tensors go. Nothing stands under the final name until `finish` returns.
///
/// Calls come in the order begin, write..., finish; destroyed before `finish` returned, a sink
/// removes what it began. One thread at a time, except `write`, which several threads may call at
/// once for ranges that do not overlap.
class TensorSink {
 public:
  virtual ~TensorSink() = default;

  /// What to call the sink in messages.
  [[nodiscard]] virtual const std::string& name() const noexcept = 0;

  /// Announces all tensors. @throws DataError where the sink cannot hold them (a name that would
  /// leave the folder, two tensors into one .npy), before anything is created.
  virtual void begin(std::span<const TensorInfo> tensors, const Metadata& metadata) = 0;

  /// Writes elements `first_elem` and on of tensor number `tensor`. @throws IoError.
  virtual void write(std::size_t tensor, std::uint64_t first_elem,
                     std::span<const std::byte> bytes) = 0;

  /// Makes everything durable and gives it its final name. @throws IoError; DataError where a
  /// tensor is incomplete.
  virtual void finish() = 0;
};

}  // namespace offramp
