// SPDX-License-Identifier: Apache-2.0
#include "frames/device_convert.hpp"

#include "core/checks.hpp"
#include "device/cuda/cuda_device.hpp"
#include "device/cuda/cuda_error.hpp"
#include "frames/cuda/convert_launch.hpp"

#include <offramp/core/error.hpp>
#include <offramp/cuda/stream.hpp>

namespace offramp::frames {
namespace {

constexpr DeviceConvert cuda_convert{
    .convert_async =
        [](Device& device, StreamRef stream, const ConvertPlan& plan) {
          OFFRAMP_EXPECTS(reinterpret_cast<std::uintptr_t>(plan.from) % size_of(plan.dtype) == 0,
                          "values on a GPU begin at a multiple of their size");
          CudaDevice& cuda = as_cuda(device);
          const ContextGuard guard(cuda.context());
          check_cuda(gpu::launch_convert(plan, native(stream)),
                     {.action = "convert frames", .device = cuda.name()});
        },
    .load =
        [](Device& device) {
          CudaDevice& cuda = as_cuda(device);
          const ContextGuard guard(cuda.context());
          check_cuda(gpu::load_convert(),
                     {.action = "load the conversion of frames", .device = cuda.name()});
        },
    .make_stream = make_stream,
};

}  // namespace

const DeviceConvert& cuda_device_convert() noexcept { return cuda_convert; }

}  // namespace offramp::frames
