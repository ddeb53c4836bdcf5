// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/cuda_device.hpp"

#include "core/checks.hpp"
#include "device/cuda/cuda_error.hpp"
#include "device/cuda/host_copy.hpp"
#include "device/cuda/numa.hpp"
#include "device/cuda/pinned_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

namespace offramp {
namespace {

cudaStream_t stream_of(StreamRef stream) { return static_cast<cudaStream_t>(stream.native()); }
cudaEvent_t event_of(const Event& event) { return static_cast<cudaEvent_t>(event.native()); }

}  // namespace

CudaDevice::CudaDevice(int ordinal)
    : ordinal_(ordinal),
      name_(fmt::format("cuda:{}", ordinal)),
      pool_(*this),
      met_(static_cast<std::size_t>(driver_facts().devices)) {}

CUcontext CudaDevice::context() const {
  std::call_once(made_, [this] {
    CUcontext made = nullptr;
    // The driver's codes are the runtime's. Held for the life of the process.
    check(static_cast<cudaError_t>(context_calls().retain_primary(&made, ordinal_)),
          "make a context");
    const ContextGuard guard(made);
    load_host_copy();
    char pci_id[32]{};
    if (cudaDeviceGetPCIBusId(pci_id, sizeof pci_id, ordinal_) == cudaSuccess)
      numa_node_ = numa_node_of(pci_id);
    context_ = made;
  });
  return context_;
}

void CudaDevice::check(cudaError_t code, std::string_view action) const {
  check_cuda(code, {.action = action, .device = name_});
}

bool CudaDevice::is_reached(cudaError_t code, std::string_view action) const {
  if (code == cudaErrorNotReady) {
    (void)cudaGetLastError();  // the runtime keeps it as if it were an error
    return false;
  }
  check(code, action);
  return true;
}

Stream CudaDevice::make_stream(int priority) {
  const ContextGuard guard(context());
  int least = 0;
  int greatest = 0;  // the smaller number
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "ask for stream priorities");
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking,
                                     std::clamp(priority, greatest, least)),
        "make a stream");
  return Stream(*this, stream);
}

// Its work goes on; the driver frees the stream when that is done.
void CudaDevice::destroy_stream(void* native) noexcept {
  const ContextGuard guard(known_context());
  if (cudaStreamDestroy(static_cast<cudaStream_t>(native)) != cudaSuccess) (void)cudaGetLastError();
}

void CudaDevice::sync(StreamRef stream) {
  const ContextGuard guard(context());
  check(cudaStreamSynchronize(stream_of(stream)), "finish a stream's work");
}

bool CudaDevice::is_done(StreamRef stream) {
  const ContextGuard guard(context());
  return is_reached(cudaStreamQuery(stream_of(stream)), "finish a stream's work");
}

void CudaDevice::wait(StreamRef stream, const Event& event) {
  const ContextGuard guard(context());
  check(cudaStreamWaitEvent(stream_of(stream), event_of(event)), "let a stream wait");
}

void* CudaDevice::make_native_event() {
  const ContextGuard guard(context());
  cudaEvent_t event = nullptr;
  // Who waits sleeps: the processors are for encoding.
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventBlockingSync),
        "make an event");
  return event;
}

void CudaDevice::destroy_event(void* native) noexcept {
  const ContextGuard guard(known_context());
  if (cudaEventDestroy(static_cast<cudaEvent_t>(native)) != cudaSuccess) (void)cudaGetLastError();
}

void CudaDevice::record(Event& event, StreamRef stream) {
  const ContextGuard guard(context());
  check(cudaEventRecord(event_of(event), stream_of(stream)), "record an event");
}

void CudaDevice::sync_event(const Event& event) {
  const ContextGuard guard(context());
  check(cudaEventSynchronize(event_of(event)), "reach an event");
}

bool CudaDevice::is_event_done(const Event& event) {
  const ContextGuard guard(context());
  return is_reached(cudaEventQuery(event_of(event)), "reach an event");
}

void CudaDevice::call_async(StreamRef stream, void (*fn)(void*) noexcept, void* arg) {
  OFFRAMP_EXPECTS(fn, "call_async needs a function");
  const ContextGuard guard(context());
  check(cudaLaunchHostFunc(stream_of(stream), fn, arg), "give a stream a function");
}

std::byte* CudaDevice::allocate_host(std::size_t size) {
  const ContextGuard guard(context());
  return allocate_pinned({.size = size, .numa_node = numa_node_, .device = name_});
}

void CudaDevice::free_host(std::byte* data, std::size_t size) noexcept {
  const ContextGuard guard(known_context());
  free_pinned(data, size);
}

CudaDevice& cuda_device(int ordinal) {
  // Never destroyed: streams and buffers may be released while the process unloads.
  static std::deque<CudaDevice>& devices = *[] {
    auto* const all = new std::deque<CudaDevice>;
    for (int at = 0; at < driver_facts().devices; ++at) all->emplace_back(at);
    return all;
  }();
  OFFRAMP_EXPECTS(ordinal >= 0 && static_cast<std::size_t>(ordinal) < devices.size(),
                  "there is no GPU of that number");
  return devices[static_cast<std::size_t>(ordinal)];
}

CudaDevice& as_cuda(StreamDriver& device) {
  auto* const cuda = dynamic_cast<CudaDevice*>(&device);
  OFFRAMP_EXPECTS(cuda, "not a CUDA device");
  return *cuda;
}

}  // namespace offramp
