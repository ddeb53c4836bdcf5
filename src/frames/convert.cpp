// SPDX-License-Identifier: Apache-2.0
#include "frames/device_convert.hpp"

#include <offramp/frames/convert.hpp>

#include <atomic>
#include <memory>
#include <mutex>

namespace offramp {
namespace frames {
namespace {

struct Job {
  ConvertPlan plan{};
  Job* next{};
};

// Jobs that are not under way; kept for the life of the process, as many as there were at a time.
// Putting one back takes no lock: it happens in a stream's call.
class JobPool {
 public:
  std::unique_ptr<Job> take() {
    {
      // One takes at a time, so that a head that was read stays the head's predecessor.
      const std::lock_guard lock(taking_);
      Job* job = free_.load(std::memory_order_acquire);
      while (job && !free_.compare_exchange_weak(job, job->next, std::memory_order_acquire)) {
      }
      if (job) return std::unique_ptr<Job>(job);
    }
    return std::make_unique<Job>();
  }

  void put(std::unique_ptr<Job> back) noexcept {
    Job* const job = back.release();
    job->next = free_.load(std::memory_order_relaxed);
    while (!free_.compare_exchange_weak(job->next, job, std::memory_order_release,
                                        std::memory_order_relaxed)) {
    }
  }

 private:
  std::mutex taking_;
  std::atomic<Job*> free_{};
};

// Never destroyed: a stream may outlive the static objects of a program.
JobPool& job_pool() {
  static JobPool& pool = *new JobPool;
  return pool;
}

void run_job(void* arg) noexcept {
  std::unique_ptr<Job> job(static_cast<Job*>(arg));
  convert_now(job->plan);
  job_pool().put(std::move(job));
}

constexpr DeviceConvert host_convert{
    .convert_async =
        [](Device& device, StreamRef stream, const ConvertPlan& plan) {
          auto job = job_pool().take();
          job->plan = plan;
          device.call_async(stream, run_job, job.get());
          static_cast<void>(job.release());
        },
    .load = [](Device&) {},
    .make_stream = [](Device& device, int) { return device.make_stream(); },
};

}  // namespace

const DeviceConvert& device_convert(const Device& device) noexcept {
#ifdef OFFRAMP_HAS_CUDA
  if (device.name().starts_with("cuda:")) return cuda_device_convert();
#else
  static_cast<void>(device);
#endif
  return host_convert;
}

}  // namespace frames

void convert_async(Device& device, StreamRef stream, const FrameView& from,
                   const FrameFormat& format, std::byte* to) {
  const frames::ConvertPlan plan = frames::make_plan(from, format, to);
  if (plan.frames == 0) return;
  frames::device_convert(device).convert_async(device, stream, plan);
}

void convert(const FrameView& from, const FrameFormat& format, std::byte* to) {
  frames::convert_now(frames::make_plan(from, format, to));
}

}  // namespace offramp
