// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/cuda_error.hpp"

#include <fmt/format.h>

namespace offramp {
namespace {

std::string_view remedy_for(cudaError_t code) {
  if (is_sticky(code)) {
    return "a kernel failed, and with it all work of this process on that GPU: start the program "
           "again, under compute-sanitizer if the failure returns";
  }
  // Of some hundred codes these have a remedy of their own.
  switch (static_cast<int>(code)) {
    case cudaErrorMemoryAllocation:
      return "free device memory, or use smaller chunks or fewer slots";
    case cudaErrorDevicesUnavailable:
      return "another program holds the GPU for itself (nvidia-smi -q -d COMPUTE): wait for it";
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
      return "this build has no code for that GPU: build with its -DCMAKE_CUDA_ARCHITECTURES";
    case cudaErrorInsufficientDriver:
      return "install an NVIDIA driver for CUDA 13 (580 or newer)";
    case cudaErrorSystemNotReady:
      return "start nvidia-fabricmanager, which machines with NVSwitch need";
    case cudaErrorStreamCaptureUnsupported:
    case cudaErrorStreamCaptureInvalidated:
      return "end the capture of the stream before this call";
    case cudaErrorCudartUnloading:
      return "destroy offramp's objects before the program ends";
  }
  return "see nvidia-smi and the system log (dmesg | grep -i xid)";
}

}  // namespace

bool is_sticky(cudaError_t code) noexcept {
  switch (static_cast<int>(code)) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorContained:
      return true;
  }
  return false;
}

Error cuda_failure(cudaError_t code, const CudaAttempt& attempt) {
  return {.code = code == cudaErrorMemoryAllocation ? ErrorCode::out_of_memory : ErrorCode::device,
          .what = fmt::format("cannot {} on {}: {} ({})", attempt.action, attempt.device,
                              cudaGetErrorString(code), cudaGetErrorName(code)),
          .path = {},
          .remedy = std::string(remedy_for(code))};
}

void throw_cuda(cudaError_t code, const CudaAttempt& attempt) {
  (void)cudaGetLastError();  // or a later check by anybody would report it again
  if (code == cudaErrorMemoryAllocation) {
    throw OutOfMemory(attempt.size, fmt::format("{} on {}", attempt.action, attempt.device),
                      remedy_for(code));
  }
  throw MachineError(cuda_failure(code, attempt));
}

}  // namespace offramp
