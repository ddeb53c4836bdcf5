// SPDX-License-Identifier: Apache-2.0
#include "probe/busy_time.hpp"
#include "probe/cupti/recorder.hpp"

#include <offramp/core/error.hpp>
#include <offramp/probe/gpu_activity.hpp>

#include <utility>

namespace offramp {

double GpuActivityReport::busy() const noexcept {
  const std::uint64_t length = window.end_ns - window.start_ns;
  return length == 0 ? 0.0 : static_cast<double>(busy_ns) / static_cast<double>(length);
}

struct GpuActivity::Impl {
  CuptiRecorder recorder;
};

std::string GpuActivity::why_not() { return CuptiRecorder::why_not(); }

GpuActivity::GpuActivity(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
GpuActivity::GpuActivity(GpuActivity&&) noexcept = default;
GpuActivity& GpuActivity::operator=(GpuActivity&&) noexcept = default;
GpuActivity::~GpuActivity() = default;

GpuActivity GpuActivity::start() {
  if (std::string why = why_not(); !why.empty()) {
    throw DataError(
        {.code = ErrorCode::unsupported,
         .what = "GPU activity cannot be recorded: " + why,
         .path = {},
         .remedy = "install CUPTI of this build's CUDA version, or name it in OFFRAMP_CUPTI"});
  }
  return GpuActivity(std::make_unique<Impl>());
}

GpuActivityReport GpuActivity::stop() { return impl_->recorder.stop(); }

}  // namespace offramp
