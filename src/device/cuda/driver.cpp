// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/driver.hpp"

#include "device/cuda/cuda_error.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>

namespace offramp {
namespace {

DriverFacts look() {
  DriverFacts facts;
  // Stays loaded: the runtime loads it as well.
  facts.has_library = dlopen("libcuda.so.1", RTLD_NOW) != nullptr;
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) facts.visible = visible;
  if (cudaDriverGetVersion(&facts.version) != cudaSuccess) facts.version = 0;
  facts.result = cudaGetDeviceCount(&facts.devices);
  if (facts.result != cudaSuccess) facts.devices = 0;
  (void)cudaGetLastError();
  return facts;
}

template <class Call>
void find(Call*& call, const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  const cudaError_t code =
      cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result);
  check_cuda(code == cudaSuccess && !found ? cudaErrorSymbolNotFound : code,
             {.action = fmt::format("find {} in the driver", name), .device = "this machine"});
  call = reinterpret_cast<Call*>(found);
}

}  // namespace

const DriverFacts& driver_facts() noexcept {
  static const DriverFacts facts = look();
  return facts;
}

std::string why_no_gpu(const DriverFacts& facts) {
  if (facts.devices > 0) return {};
  if (!facts.has_library) return "no NVIDIA driver (libcuda.so.1) on this machine";
  if (facts.result == cudaErrorInsufficientDriver) {
    return fmt::format(
        "the NVIDIA driver is too old: it supports CUDA {}.{}, this build needs {}.{} (driver 580 "
        "or newer)",
        facts.version / 1000, facts.version % 1000 / 10, CUDART_VERSION / 1000,
        CUDART_VERSION % 1000 / 10);
  }
  if (facts.result == cudaSuccess || facts.result == cudaErrorNoDevice) {
    if (!facts.visible) return "the NVIDIA driver finds no GPU";
    if (facts.visible->empty()) return "no GPU visible: CUDA_VISIBLE_DEVICES is empty";
    return fmt::format("no GPU visible: CUDA_VISIBLE_DEVICES is \"{}\"", *facts.visible);
  }
  return fmt::format("the NVIDIA driver does not start: {} ({})", cudaGetErrorString(facts.result),
                     cudaGetErrorName(facts.result));
}

const ContextCalls& context_calls() {
  static const ContextCalls calls = [] {
    ContextCalls found;
    find(found.retain_primary, "cuDevicePrimaryCtxRetain");
    find(found.get_current, "cuCtxGetCurrent");
    find(found.push, "cuCtxPushCurrent");
    find(found.pop, "cuCtxPopCurrent");
    return found;
  }();
  return calls;
}

// Whoever has a context got it through context_calls(), which did not throw.
ContextGuard::ContextGuard(CUcontext context) noexcept {
  const ContextCalls& calls = context_calls();
  CUcontext current = nullptr;
  if (calls.get_current(&current) == CUDA_SUCCESS && current == context) return;
  pushed_ = calls.push(context) == CUDA_SUCCESS;  // where not, the guarded call fails, and says so
}

ContextGuard::~ContextGuard() {
  CUcontext popped = nullptr;
  if (pushed_) context_calls().pop(&popped);
}

}  // namespace offramp
