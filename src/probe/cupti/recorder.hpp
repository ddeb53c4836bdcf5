// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/probe/gpu_activity.hpp>

#include <memory>
#include <string>

namespace offramp {

/// CUPTI's activity records of kernels and copies, from the constructor to `stop`. Without CUDA in
/// the build `why_not` says so and nothing else may be called.
class CuptiRecorder {
 public:
  [[nodiscard]] static std::string why_not();

  CuptiRecorder();
  ~CuptiRecorder();
  CuptiRecorder(const CuptiRecorder&) = delete;
  CuptiRecorder& operator=(const CuptiRecorder&) = delete;

  [[nodiscard]] GpuActivityReport stop();

 private:
  struct Session;
  std::shared_ptr<Session> session_;
};

}  // namespace offramp
