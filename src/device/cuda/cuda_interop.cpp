// SPDX-License-Identifier: Apache-2.0
#include "core/checks.hpp"
#include "device/cuda/cuda_device.hpp"
#include "device/cuda/cuda_error.hpp"

#include <offramp/cuda/stream.hpp>

namespace offramp {

StreamRef stream_ref(Device& device, cudaStream_t stream) {
  CudaDevice& cuda = as_cuda(device);
  OFFRAMP_EXPECTS(stream && stream != cudaStreamLegacy,
                  "the default stream is never used: make a stream with cudaStreamNonBlocking");
  OFFRAMP_EXPECTS(stream != cudaStreamPerThread,
                  "cudaStreamPerThread is another stream in each thread: make a stream");
  const ContextGuard guard(cuda.context());
  int ordinal = -1;
  check_cuda(cudaStreamGetDevice(stream, &ordinal),
             {.action = "use a stream of the caller", .device = cuda.name()});
  OFFRAMP_EXPECTS(ordinal == cuda.ordinal(), "the stream belongs to another GPU");
  return {device, stream};
}

StreamRef stream_ref(int ordinal, cudaStream_t stream) {
  return stream_ref(cuda_device(ordinal), stream);
}

cudaStream_t native(StreamRef stream) {
  (void)as_cuda(stream.driver());
  return static_cast<cudaStream_t>(stream.native());
}

cudaEvent_t native(const Event& event) {
  (void)as_cuda(event.driver());
  return static_cast<cudaEvent_t>(event.native());
}

int ordinal_of(const StreamDriver& device) {
  const auto* const cuda = dynamic_cast<const CudaDevice*>(&device);
  OFFRAMP_EXPECTS(cuda, "not a CUDA device");
  return cuda->ordinal();
}

Stream make_stream(Device& device, int priority) { return as_cuda(device).make_stream(priority); }

}  // namespace offramp
