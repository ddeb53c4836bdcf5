// SPDX-License-Identifier: Apache-2.0
// In a build without CUDA.
#include "core/checks.hpp"
#include "probe/cupti/recorder.hpp"

#ifndef OFFRAMP_HAS_CUPTI
namespace offramp {

struct CuptiRecorder::Session {};

std::string CuptiRecorder::why_not() { return "this build has no CUDA or no CUPTI header"; }
CuptiRecorder::CuptiRecorder() { OFFRAMP_EXPECTS(false, why_not()); }
CuptiRecorder::~CuptiRecorder() = default;
GpuActivityReport CuptiRecorder::stop() { return {}; }

}  // namespace offramp
#endif
