// SPDX-License-Identifier: Apache-2.0
#include "device_choice.hpp"

#include "inputs.hpp"

#include <offramp/core/error.hpp>
#include <offramp/device/device_table.hpp>
#include <offramp/engine/offloader.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <thread>

namespace offramp::cli {
namespace {

// Starting a GPU and locking memory for it takes the time in which the host codes so much, and from
// so many threads on writing is slower than coding (bench/baseline/link.txt, pack_many.txt).
constexpr std::uint64_t worth_starting = 1u << 30;
constexpr std::size_t enough_threads = 4;

bool pays(const DeviceWork& work, std::size_t threads) {
  const std::size_t coding =
      threads > 0 ? threads : std::max(1u, std::thread::hardware_concurrency());
  return work.size() >= worth_starting && coding < enough_threads;
}

bool names_a_gpu(std::string_view name) {
  if (!name.starts_with("cuda")) return false;
  name.remove_prefix(4);
  if (name.empty()) return true;
  return name.size() > 1 && name.front() == ':' &&
         std::ranges::all_of(name.substr(1), [](unsigned char c) { return std::isdigit(c) != 0; });
}

Result<void> check_kinds(const Device& device, const DeviceWork& work) {
  for (const auto& [codec, dtype] : work.kinds())
    OFFRAMP_TRY_VOID(Offloader::check_supported(device, codec, dtype));
  return {};
}

bool starts(Device& device) {
  try {
    static_cast<void>(device.make_stream());
    return true;
  } catch (const MachineError&) {
    return false;  // held by another program, or out of memory
  }
}

}  // namespace

DeviceWork::DeviceWork(const TensorSource& source, const Codec& codec) {
  for (const TensorInfo& info : source.tensors()) {
    size_ += info.desc.size();
    add(codec, info.desc.dtype);
  }
}

DeviceWork::DeviceWork(const ArchiveReader& reader) {
  for (const ArchiveTensor& tensor : reader.tensors()) {
    size_ += tensor.desc.size();
    for (const ArchivePart& part : tensor.parts) {
      // A chain that does not parse is the job's to report.
      if (const auto codec = Codec::parse(reader.chain(part))) add(*codec, tensor.desc.dtype);
    }
  }
}

void DeviceWork::add(const Codec& codec, DType dtype) {
  const std::pair kind(codec, dtype);
  if (std::ranges::find(kinds_, kind) == kinds_.end()) kinds_.push_back(kind);
}

Device& choose_device(const std::string& name, const DeviceWork& work, std::size_t threads) {
  const auto found = find_device(name);
  if (!found && names_a_gpu(name)) {
    Error error = found.error();
    const auto table = device_table();
    if (std::ranges::find(table, "cuda", &DeviceRow::kind) == table.end()) {
      error.what = fmt::format("this build has no CUDA: there is no device {}", name);
      error.remedy =
          "build with -DOFFRAMP_ENABLE_CUDA=ON (docs/guide/cuda.md), or use --device host";
    }
    throw MachineError(std::move(error));
  }
  Device& device = *named(found);
  if (&device == &host_device()) return device;
  if (name == "auto") {
    const bool takes = pays(work, threads) && check_kinds(device, work) && starts(device);
    return takes ? device : host_device();
  }
  if (const auto supported = check_kinds(device, work); !supported)
    throw UsageError(supported.error());
  return device;
}

}  // namespace offramp::cli
