// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/codec/codec.hpp>
#include <offramp/container/archive_reader.hpp>
#include <offramp/core/dtype.hpp>
#include <offramp/device/device.hpp>
#include <offramp/transport/tensor_source.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace offramp::cli {

/// What a job would have a device do.
class DeviceWork {
 public:
  /// Of coding the tensors of a source.
  DeviceWork(const TensorSource& source, const Codec& codec);
  /// Of decoding an archive.
  explicit DeviceWork(const ArchiveReader& reader);

  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  [[nodiscard]] const std::vector<std::pair<Codec, DType>>& kinds() const noexcept {
    return kinds_;
  }

 private:
  void add(const Codec& codec, DType dtype);

  std::uint64_t size_{0};  // of the tensors
  std::vector<std::pair<Codec, DType>> kinds_;
};

/// The device of `--device`. "auto": the first GPU where it pays: one that starts and has kernels
/// for all of the work, for a large job and few `threads` (0: one for each processor); else the
/// host.
/// @throws MachineError for a GPU that is not there; CLI::ValidationError for a name that is none,
///         and for work that the device has no kernels for.
[[nodiscard]] Device& choose_device(const std::string& name, const DeviceWork& work,
                                    std::size_t threads);

}  // namespace offramp::cli
