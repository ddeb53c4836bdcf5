// SPDX-License-Identifier: Apache-2.0
#include "device/host/host_device.hpp"

#include "core/checks.hpp"
#include "device/host/host_stream.hpp"

#include <offramp/core/error.hpp>

#include <sys/mman.h>

#include <mutex>
#include <new>
#include <utility>

namespace offramp {
namespace {

constexpr auto device_alignment = std::align_val_t{256};

struct HostEvent {
  std::mutex mutex;
  HostStream::Point point;

  HostStream::Point get() {
    const std::lock_guard lock(mutex);
    return point;
  }
};

HostStream& stream_of(StreamRef stream) { return *static_cast<HostStream*>(stream.native()); }
HostEvent& event_of(const Event& event) { return *static_cast<HostEvent*>(event.native()); }

void free_device(void* data) noexcept { ::operator delete(data, device_alignment); }

}  // namespace

Stream HostDevice::make_stream() { return Stream(*this, new HostStream); }

void HostDevice::destroy_stream(void* native) noexcept { delete static_cast<HostStream*>(native); }

void HostDevice::sync(StreamRef stream) {
  const auto point = stream_of(stream).last();
  point.of->wait_for(point.number);
}

bool HostDevice::is_done(StreamRef stream) {
  const auto point = stream_of(stream).last();
  return point.of->reached(point.number);
}

void HostDevice::wait(StreamRef stream, const Event& event) {
  auto point = event_of(event).get();
  if (point.of) stream_of(stream).wait(std::move(point));
}

void* HostDevice::make_native_event() { return new HostEvent; }

void HostDevice::destroy_event(void* native) noexcept { delete static_cast<HostEvent*>(native); }

void HostDevice::record(Event& event, StreamRef stream) {
  auto point = stream_of(stream).last();
  auto& at = event_of(event);
  const std::lock_guard lock(at.mutex);
  at.point = std::move(point);
}

void HostDevice::sync_event(const Event& event) {
  const auto point = event_of(event).get();
  if (point.of) point.of->wait_for(point.number);
}

bool HostDevice::is_event_done(const Event& event) {
  const auto point = event_of(event).get();
  return !point.of || point.of->reached(point.number);
}

void HostDevice::copy_async(StreamRef stream, const Copy& copy) {
  stream_of(stream).copy(copy.to, copy.from, copy.size);
}

void HostDevice::call_async(StreamRef stream, void (*fn)(void*) noexcept, void* arg) {
  OFFRAMP_EXPECTS(fn, "call_async needs a function");
  stream_of(stream).call(fn, arg);
}

std::byte* HostDevice::allocate_async(StreamRef, std::size_t size) {
  void* data = ::operator new(size, device_alignment, std::nothrow);
  if (!data) throw OutOfMemory(size, "device memory of the host device");
  return static_cast<std::byte*>(data);
}

void HostDevice::free_async(StreamRef stream, std::byte* data, std::size_t) noexcept {
  if (is_done(stream)) return free_device(data);
  try {
    stream_of(stream).call([](void* arg) noexcept { free_device(arg); }, data);
  } catch (const std::bad_alloc&) {
    sync(stream);
    free_device(data);
  }
}

// Mapped, not from the heap: what is given back leaves the process at once.
std::byte* HostDevice::allocate_host(std::size_t size) {
  void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) throw OutOfMemory(size, "host slots");
  return static_cast<std::byte*>(data);
}

void HostDevice::free_host(std::byte* data, std::size_t size) noexcept { munmap(data, size); }

}  // namespace offramp
