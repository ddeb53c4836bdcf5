// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/cuda_device.hpp"
#include "device/cuda/cuda_error.hpp"
#include "generators/device_generators.hpp"
#include "generators/heat.hpp"
#include "generators/mandelbrot.hpp"
#include "generators/vortex.hpp"

#include <offramp/core/error.hpp>
#include <offramp/cuda/stream.hpp>

#include <algorithm>
#include <array>

namespace offramp::generators {
namespace {

constexpr unsigned block_width = 32;
constexpr unsigned block_height = 4;

template <class Cell>
__global__ void __launch_bounds__(block_width* block_height)
    run_cells(const __grid_constant__ Grid grid, const __grid_constant__ Cell cell) {
  const unsigned x = blockIdx.x * block_width + threadIdx.x;
  const unsigned y = blockIdx.y * block_height + threadIdx.y;
  if (x < grid.width && y < grid.height) cell(x, y);
}

/// Runs cells by a kernel each.
struct CudaRun {
  cudaStream_t stream{};

  template <class Cell>
  void cells(Grid grid, const Cell& cell) {
    const dim3 blocks((grid.width + block_width - 1) / block_width,
                      (grid.height + block_height - 1) / block_height);
    run_cells<<<blocks, dim3(block_width, block_height), 0, stream>>>(grid, cell);
  }
};

template <class... Cell>
cudaError_t load(CellList<Cell...>) {
  cudaError_t result = cudaSuccess;
  cudaFuncAttributes attributes{};
  const auto one = [&](auto kernel) {
    if (result == cudaSuccess) result = cudaFuncGetAttributes(&attributes, kernel);
  };
  (one(run_cells<Cell>), ...);
  return result;
}

template <class Simulation>
class CudaGenerator final : public Generator {
 public:
  CudaGenerator(Grid picture, const Place& place)
      : simulation_(picture),
        device_(as_cuda(place.device)),
        stream_(place.stream),
        state_(place.stream, place.device.memory(),
               std::max<std::size_t>(1, simulation_.state_size())),
        run_{native(place.stream)} {
    const ContextGuard guard(device_.context());
    check(load(typename Simulation::Cells{}), "load the kernels of a generator");
    simulation_.start(run_, state_.data());
    check(cudaGetLastError(), "start a generator");
  }

  ~CudaGenerator() override {
    try {
      stream_.sync();
    } catch (const MachineError&) {
    }
  }

  [[nodiscard]] std::uint32_t width() const noexcept override {
    return simulation_.picture().width;
  }
  [[nodiscard]] std::uint32_t height() const noexcept override {
    return simulation_.picture().height;
  }

  FrameView next_async(std::uint64_t frames, std::byte* out) override {
    const ContextGuard guard(device_.context());
    const Grid picture = simulation_.picture();
    for (std::uint64_t frame = 0; frame < frames; ++frame)
      simulation_.frame(run_, reinterpret_cast<float*>(out) + frame * picture.cells() * 3);
    check(cudaGetLastError(), "compute frames");
    const std::array<std::uint64_t, 4> extents{frames, picture.height, picture.width, 3};
    return frame_view(out, DType::fp32, extents, "nhwc");
  }

 private:
  void check(cudaError_t code, const char* action) const {
    check_cuda(code, {.action = action, .device = device_.name()});
  }

  Simulation simulation_;
  CudaDevice& device_;
  StreamRef stream_;
  Buffer state_;
  CudaRun run_;
};

}  // namespace

std::unique_ptr<Generator> make_cuda_generator(Kind kind, Grid picture, const Place& place) {
  switch (kind) {
    case Kind::mandelbrot:
      return std::make_unique<CudaGenerator<Mandelbrot>>(picture, place);
    case Kind::heat:
      return std::make_unique<CudaGenerator<Heat>>(picture, place);
    case Kind::vortex:
      return std::make_unique<CudaGenerator<Vortex>>(picture, place);
  }
  throw LogicError("a generator of no kind");
}

}  // namespace offramp::generators
