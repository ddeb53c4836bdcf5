// SPDX-License-Identifier: Apache-2.0
#include "probe/cupti/recorder.hpp"

#ifdef OFFRAMP_HAS_CUPTI

#include "probe/busy_time.hpp"

#include <offramp/core/error.hpp>

#include <cupti.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <mutex>
#include <utility>

namespace offramp {
namespace {

constexpr std::size_t buffer_size = 1u << 20;  // some thousand kernels

struct Cupti {
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks{};
  decltype(&cuptiActivityEnable) enable{};
  decltype(&cuptiActivityDisable) disable{};
  decltype(&cuptiActivityFlushAll) flush_all{};
  decltype(&cuptiActivityGetNextRecord) next_record{};
  decltype(&cuptiActivityGetNumDroppedRecords) dropped_records{};
  decltype(&cuptiGetTimestamp) timestamp{};
  decltype(&cuptiGetVersion) version{};
  decltype(&cuptiGetResultString) result_string{};
  std::string why_not{};
};

template <class Call>
bool find(void* library, Call& call, const char* name) {
  call = reinterpret_cast<Call>(dlsym(library, name));
  return call != nullptr;
}

// Loaded at run time, so that a program with this library starts where CUPTI is not installed. It
// stays loaded: it hooks into the driver.
Cupti load() {
  Cupti cupti;
  const std::string usual = fmt::format("libcupti.so.{}", CUDA_VERSION / 1000);
  const char* named = std::getenv("OFFRAMP_CUPTI");
  void* library = dlopen(named ? named : usual.c_str(), RTLD_NOW);
  if (!library) {
    const char* why = dlerror();
    cupti.why_not = fmt::format("{} is not found ({})", named ? named : usual, why ? why : "");
    return cupti;
  }
  const bool all = find(library, cupti.register_callbacks, "cuptiActivityRegisterCallbacks") &&
                   find(library, cupti.enable, "cuptiActivityEnable") &&
                   find(library, cupti.disable, "cuptiActivityDisable") &&
                   find(library, cupti.flush_all, "cuptiActivityFlushAll") &&
                   find(library, cupti.next_record, "cuptiActivityGetNextRecord") &&
                   find(library, cupti.dropped_records, "cuptiActivityGetNumDroppedRecords") &&
                   find(library, cupti.timestamp, "cuptiGetTimestamp") &&
                   find(library, cupti.version, "cuptiGetVersion") &&
                   find(library, cupti.result_string, "cuptiGetResultString");
  if (!all) {
    cupti.why_not = fmt::format("{} lacks a call", named ? named : usual);
    return cupti;
  }
  // A record's layout is its library's: a newer one only adds fields behind those that are read
  // here.
  std::uint32_t version = 0;
  if (cupti.version(&version) != CUPTI_SUCCESS || version < CUPTI_API_VERSION) {
    cupti.why_not = fmt::format("{} is older ({}) than this build's ({})", named ? named : usual,
                                version, CUPTI_API_VERSION);
  }
  return cupti;
}

const Cupti& cupti() {
  static const Cupti calls = load();
  return calls;
}

void check(CUptiResult result, const char* action) {
  if (result == CUPTI_SUCCESS) return;
  const char* why = nullptr;
  cupti().result_string(result, &why);
  throw MachineError(
      {.code = ErrorCode::device,
       .what = fmt::format("CUPTI failed to {}: {}", action, why ? why : "no reason given"),
       .path = {},
       .remedy = "close other profilers (Nsight, torch.profiler): only one can record"});
}

std::uint64_t steady_ns() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

std::uint64_t cupti_ns() {
  std::uint64_t now = 0;
  check(cupti().timestamp(&now), "read its clock");
  return now;
}

// The same moment on both clocks: the reading of CUPTI's that took the least time, of some.
struct Moment {
  std::uint64_t steady{};
  std::uint64_t cupti{};

  static Moment now() {
    Moment best;
    std::uint64_t shortest = UINT64_MAX;
    for (int reading = 0; reading < 8; ++reading) {
      const std::uint64_t before = steady_ns();
      const std::uint64_t at = cupti_ns();
      const std::uint64_t after = steady_ns();
      if (after - before < shortest) {
        shortest = after - before;
        best = {.steady = before + shortest / 2, .cupti = at};
      }
    }
    return best;
  }
};

constexpr CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                        CUPTI_ACTIVITY_KIND_MEMCPY};

}  // namespace

struct CuptiRecorder::Session {
  std::mutex mutex;
  Moment start;
  std::uint64_t kernels{};
  std::uint64_t lost{};
  BusyTime busy;
  BusyTime to_host;
  BusyTime to_device;

  void take(const CUpti_Activity& record) {
    if (record.kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
      const auto& kernel = reinterpret_cast<const CUpti_ActivityKernel10&>(record);
      if (kernel.end > start.cupti) ++kernels;
      busy.add({.start_ns = kernel.start, .end_ns = kernel.end});
    } else if (record.kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
      const auto& copy = reinterpret_cast<const CUpti_ActivityMemcpy6&>(record);
      const TimeSpan span{.start_ns = copy.start, .end_ns = copy.end};
      if (copy.copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH) to_host.add(span);
      if (copy.copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD) to_device.add(span);
    }
  }
};

namespace {

// CUPTI's callbacks know no session: the one that records, if any, is here.
std::mutex current_mutex;
std::weak_ptr<void> current;

}  // namespace

// Behind the class, as they see its private part through `current`.
struct CuptiCallbacks {
  static void CUPTIAPI request(std::uint8_t** buffer, std::size_t* size, std::size_t* records) {
    *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, buffer_size));
    *size = *buffer ? buffer_size : 0;
    *records = 0;
  }

  template <class Session>
  static void complete_as(CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
                          std::size_t valid) {
    std::shared_ptr<void> session;
    {
      const std::lock_guard lock(current_mutex);
      session = current.lock();
    }
    if (session && valid > 0) {
      auto& to = *static_cast<Session*>(session.get());
      const std::lock_guard lock(to.mutex);
      CUpti_Activity* record = nullptr;
      while (cupti().next_record(buffer, valid, &record) == CUPTI_SUCCESS) to.take(*record);
      std::size_t dropped = 0;
      if (cupti().dropped_records(context, stream, &dropped) == CUPTI_SUCCESS) to.lost += dropped;
    }
    std::free(buffer);
  }
};

std::string CuptiRecorder::why_not() { return cupti().why_not; }

CuptiRecorder::CuptiRecorder() : session_(std::make_shared<Session>()) {
  {
    const std::lock_guard lock(current_mutex);
    if (!current.expired()) {
      throw DataError({.code = ErrorCode::unsupported,
                       .what = "GPU activity is being recorded already",
                       .path = {},
                       .remedy = "stop the other recording first"});
    }
    current = session_;
  }
  check(cupti().register_callbacks(CuptiCallbacks::request,
                                   [](CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
                                      std::size_t, std::size_t valid) {
                                     CuptiCallbacks::complete_as<Session>(context, stream, buffer,
                                                                          valid);
                                   }),
        "take its callbacks");
  for (const CUpti_ActivityKind kind : kinds) check(cupti().enable(kind), "start to record");
  // What was recorded before belongs to nobody.
  check(cupti().flush_all(0), "empty its buffers");
  session_->start = Moment::now();
  for (BusyTime* spans : {&session_->busy, &session_->to_host, &session_->to_device}) {
    spans->begin_at(session_->start.cupti);
  }
}

CuptiRecorder::~CuptiRecorder() {
  for (const CUpti_ActivityKind kind : kinds) cupti().disable(kind);
  cupti().flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
}

GpuActivityReport CuptiRecorder::stop() {
  const Moment end = Moment::now();
  for (const CUpti_ActivityKind kind : kinds) check(cupti().disable(kind), "stop recording");
  check(cupti().flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "hand over its records");

  Session& session = *session_;
  const std::lock_guard lock(session.mutex);
  const TimeSpan window{.start_ns = session.start.cupti, .end_ns = end.cupti};
  BusyTime::Result busy = session.busy.finish(window);
  // The clocks may drift apart by some parts in a million: one is stretched to the other.
  const auto to_steady = [&](std::uint64_t at) {
    const double part =
        static_cast<double>(at - window.start_ns) /
        static_cast<double>(std::max<std::uint64_t>(window.end_ns - window.start_ns, 1));
    return session.start.steady +
           static_cast<std::uint64_t>(part *
                                      static_cast<double>(end.steady - session.start.steady));
  };
  for (TimeSpan& span : busy.picture) {
    span = {.start_ns = to_steady(span.start_ns), .end_ns = to_steady(span.end_ns)};
  }
  return {.window = {.start_ns = session.start.steady, .end_ns = end.steady},
          .kernels = session.kernels,
          .busy_ns = busy.length_ns,
          .to_host_ns = session.to_host.finish(window).length_ns,
          .to_device_ns = session.to_device.finish(window).length_ns,
          .lost_records = session.lost,
          .picture = std::move(busy.picture)};
}

}  // namespace offramp
#endif
