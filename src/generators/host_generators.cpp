// SPDX-License-Identifier: Apache-2.0
#include "generators/device_generators.hpp"
#include "generators/heat.hpp"
#include "generators/host_run.hpp"
#include "generators/mandelbrot.hpp"
#include "generators/vortex.hpp"

#include <offramp/core/error.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace offramp::generators {
namespace {

template <class Simulation>
class HostGenerator final : public Generator {
 public:
  HostGenerator(Grid picture, const Place& place)
      : simulation_(picture),
        run_(place.threads),
        device_(place.device),
        stream_(place.stream),
        state_(place.stream, place.device.memory(),
               std::max<std::size_t>(1, simulation_.state_size())) {
    enqueue(0, nullptr);
  }

  ~HostGenerator() override {
    try {
      stream_.sync();  // what still runs uses this object
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
    enqueue(frames, out);
    const Grid picture = simulation_.picture();
    const std::array<std::uint64_t, 4> extents{frames, picture.height, picture.width, 3};
    return frame_view(out, DType::fp32, extents, "nhwc");
  }

 private:
  struct Job {
    HostGenerator* self{};
    std::uint64_t frames{};
    float* out{};
  };

  void enqueue(std::uint64_t frames, std::byte* out) {
    auto job = std::make_unique<Job>(Job{this, frames, reinterpret_cast<float*>(out)});
    device_.call_async(
        stream_,
        [](void* arg) noexcept {
          const std::unique_ptr<Job> own(static_cast<Job*>(arg));
          own->self->compute(*own);
        },
        job.get());
    static_cast<void>(job.release());
  }

  void compute(const Job& job) {
    if (!started_) simulation_.start(run_, state_.data());
    started_ = true;
    const std::uint64_t values = simulation_.picture().cells() * 3;
    for (std::uint64_t frame = 0; frame < job.frames; ++frame)
      simulation_.frame(run_, job.out + frame * values);
  }

  Simulation simulation_;
  HostRun run_;
  Device& device_;
  StreamRef stream_;
  Buffer state_;
  bool started_{false};
};

}  // namespace

std::unique_ptr<Generator> make_host_generator(Kind kind, Grid picture, const Place& place) {
  switch (kind) {
    case Kind::mandelbrot:
      return std::make_unique<HostGenerator<Mandelbrot>>(picture, place);
    case Kind::heat:
      return std::make_unique<HostGenerator<Heat>>(picture, place);
    case Kind::vortex:
      return std::make_unique<HostGenerator<Vortex>>(picture, place);
  }
  throw LogicError("a generator of no kind");
}

}  // namespace offramp::generators
