// SPDX-License-Identifier: Apache-2.0
// A producer of frames whose host work grows from 1 % to 300 % of its compute, written the old way
// (compute, wait, convert and copy, write) and through offramp::FrameWriter.
//   frame_sweep [--device host|cuda:0] [--chunks 200] [--compute-us 10000] [--frames 4]
//               [--size 256x144] [--repeat 3] [--write PERCENT] [--out FILE.jsonl]
// Compute takes a stated time on the producer's stream and no processor: on the host it sleeps, on
// a GPU kernels spin. A write does the same on the thread that calls it. `ideal` is the slowest of
// compute, conversion and copy, and write, each measured alone in this run; what a pipeline has to
// fill and to drain is on top of it. Of a GPU, its busy share is that of CUPTI's kernel intervals,
// their union over all streams, in the whole job.
#include <offramp/core/error.hpp>
#include <offramp/device/device_table.hpp>
#include <offramp/device/host_slab.hpp>
#include <offramp/engine/frame_writer.hpp>
#include <offramp/frames/convert.hpp>
#include <offramp/probe/gpu_activity.hpp>

#ifdef OFFRAMP_BENCH_CUDA
#include "frame_spin.hpp"
#endif

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using namespace offramp;
using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

struct Options {
  std::string device{"host"};
  std::uint64_t chunks{200};
  std::uint64_t compute_us{10'000};
  std::uint64_t frames{4};
  std::uint32_t width{256};
  std::uint32_t height{144};
  std::size_t repeat{3};
  std::vector<int> writes{1, 3, 10, 30, 60, 90, 110, 150, 200, 300};  // percent of the compute
  std::string out{};
};

// To the microsecond, at little cost for those who share the processor.
void pass(nanoseconds time) {
  const auto end = Clock::now() + time;
  constexpr nanoseconds last{150'000};
  if (time > last) std::this_thread::sleep_until(end - last);
  while (Clock::now() < end) {
  }
}

/// A file or an encoder that takes a stated time for each frame.
class PacedSink final : public FrameSink {
 public:
  explicit PacedSink(nanoseconds frame) : frame_(frame) {}
  std::span<const PixelFormat> formats() const noexcept override {
    static constexpr std::array one{PixelFormat::yuv420p};
    return one;
  }
  void begin(const FrameFormat&) override {}
  void write(std::uint64_t, std::span<const std::byte> bytes) override {
    pass(frame_);
    bytes_ += bytes.size();
    ++frames_;
  }
  void finish() override {}
  std::uint64_t bytes_out() const noexcept override { return bytes_; }
  std::uint64_t frames_out() const noexcept override { return frames_; }

 private:
  const nanoseconds frame_;
  std::uint64_t bytes_{};
  std::uint64_t frames_{};
};

struct Measured {
  double seconds{};
  double busy{-1};
  std::uint64_t stalls{};
};

class Sweep {
 public:
  Sweep(const Options& options, Device& device)
      : options_(options),
        device_(device),
        stream_(device.make_stream()),
        compute_(options.compute_us * 1000),
        sources_(stream_, device.memory(), chunk_size() * sources) {
    format_.pixels = PixelFormat::yuv420p;
    format_.width = options.width;
    format_.height = options.height;
    to_ = Buffer(stream_, device.memory(), options.frames * format_.size());
    host_ = HostSlab(device, {.slots = 1, .slot_size = to_.size()});
    const std::vector<std::byte> zeros(chunk_size());
    for (std::size_t at = 0; at < sources; ++at) {
      device.copy_async(
          stream_,
          {.to = sources_.data() + at * chunk_size(), .from = zeros.data(), .size = zeros.size()});
      stream_.ref().sync();
    }
    counts_ = !on_host() && GpuActivity::why_not().empty();
  }

  [[nodiscard]] Measured compute_alone() {
    return measure([&] {
      for (std::uint64_t chunk = 0; chunk < options_.chunks; ++chunk) compute();
      stream_.ref().sync();
    });
  }
  [[nodiscard]] Measured copy_alone() {
    return measure([&] {
      for (std::uint64_t chunk = 0; chunk < options_.chunks; ++chunk) copy(chunk);
    });
  }
  [[nodiscard]] Measured write_alone(nanoseconds frame) {
    return measure([&] {
      PacedSink sink(frame);
      for (std::uint64_t chunk = 0; chunk < options_.chunks; ++chunk) write(sink, chunk);
    });
  }
  [[nodiscard]] Measured synchronous(nanoseconds frame) {
    return measure([&] {
      PacedSink sink(frame);
      for (std::uint64_t chunk = 0; chunk < options_.chunks; ++chunk) {
        compute();
        stream_.ref().sync();
        copy(chunk);
        write(sink, chunk);
      }
    });
  }
  [[nodiscard]] Measured piped(nanoseconds frame) {
    std::uint64_t stalls = 0;
    Measured measured = measure([&] {
      FrameWriterSettings settings;
      settings.device = &device_;
      FrameWriter writer(settings, format_, std::make_shared<PacedSink>(frame));
      for (std::uint64_t chunk = 0; chunk < options_.chunks; ++chunk) {
        compute();
        writer.submit(stream_, view(chunk));
      }
      writer.close();
      stalls = writer.counters().stalls;
    });
    measured.stalls = stalls;
    return measured;
  }

 private:
  static constexpr std::size_t sources = 8;  // more than wait in a writer

  [[nodiscard]] bool on_host() const { return &device_ == &host_device(); }
  [[nodiscard]] std::size_t chunk_size() const {
    return options_.frames * options_.width * options_.height * 3 * sizeof(std::uint16_t);
  }
  [[nodiscard]] FrameView view(std::uint64_t chunk) const {
    const std::array<std::uint64_t, 4> extents{3, options_.frames, options_.height, options_.width};
    return frame_view(sources_.data() + chunk % sources * chunk_size(), DType::bf16, extents,
                      "cnhw", {.low = -1, .high = 1});
  }

  void compute() {
#ifdef OFFRAMP_BENCH_CUDA
    if (!on_host()) return bench::spin_async(stream_, static_cast<std::uint64_t>(compute_.count()));
#endif
    device_.call_async(
        stream_, [](void* time) noexcept { pass(*static_cast<nanoseconds*>(time)); }, &compute_);
  }
  void copy(std::uint64_t chunk) {
    convert_async(device_, stream_, view(chunk), format_, to_.data());
    device_.copy_async(stream_,
                       {.to = host_.slot(0).data(), .from = to_.data(), .size = to_.size()});
    stream_.ref().sync();
  }
  void write(PacedSink& sink, std::uint64_t chunk) const {
    const std::size_t size = format_.size();
    for (std::uint64_t at = 0; at < options_.frames; ++at) {
      sink.write(chunk * options_.frames + at, host_.slot(0).subspan(at * size, size));
    }
  }

  template <class Job>
  Measured measure(Job job) const {
    Measured measured;
    std::optional<GpuActivity> activity;
    if (counts_) activity = GpuActivity::start();
    const auto start = Clock::now();
    job();
    measured.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (activity) measured.busy = activity->stop().busy();
    return measured;
  }

  const Options options_;
  Device& device_;
  Stream stream_;
  nanoseconds compute_;
  Buffer sources_;
  Buffer to_;
  HostSlab host_;
  FrameFormat format_;
  bool counts_{};
};

// Of several runs, the median time and the busy share that goes with it.
Measured median_of(std::size_t repeat, const std::function<Measured()>& run) {
  std::vector<Measured> runs;
  for (std::size_t at = 0; at < repeat; ++at) runs.push_back(run());
  std::ranges::sort(runs, {}, &Measured::seconds);
  return runs[runs.size() / 2];
}

class Report {
 public:
  Report(const Options& options, const std::string& machine, std::string command)
      : machine_(machine), command_(std::move(command)) {
    if (!options.out.empty()) json_.open(options.out, std::ios::app);
    char day[16];
    const std::time_t now = std::time(nullptr);
    std::strftime(day, sizeof day, "%Y-%m-%d", std::gmtime(&now));
    date_ = day;
  }
  void add(const std::string& name, const char* metric, double value, const char* unit) {
    if (!json_.is_open()) return;
    const char* const commit = std::getenv("OFFRAMP_COMMIT");
    json_ << R"({"bench": "frame_sweep", "case": ")" << name << R"(", "metric": ")" << metric
          << R"(", "value": )" << value << R"(, "unit": ")" << unit << R"(", "commit": ")"
          << (commit != nullptr ? commit : "unknown") << R"(", "machine": ")" << machine_
          << R"(", "date": ")" << date_ << R"(", "command": ")" << command_ << "\"}\n";
  }

 private:
  std::ofstream json_;
  std::string machine_, date_, command_;
};

std::string machine_of(const Device& device) {
  std::string name = "unknown processor";
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("model name")) continue;
    name = line.substr(line.find(": ") + 2);
    break;
  }
  return name + ", " + std::to_string(std::thread::hardware_concurrency()) + " processors, " +
         std::string(device.name());
}

Options parse(int argc, char** argv) {
  Options options;
  for (int at = 1; at + 1 < argc; at += 2) {
    const std::string_view key = argv[at];
    const char* const value = argv[at + 1];
    const auto number = [&] { return std::strtoull(value, nullptr, 10); };
    if (key == "--device") {
      options.device = value;
    } else if (key == "--chunks") {
      options.chunks = std::max(1ull, number());
    } else if (key == "--compute-us") {
      options.compute_us = number();
    } else if (key == "--frames") {
      options.frames = std::max(1ull, number());
    } else if (key == "--repeat") {
      options.repeat = std::max<std::size_t>(1, number());
    } else if (key == "--write") {
      options.writes = {static_cast<int>(number())};
    } else if (key == "--size" &&
               std::sscanf(value, "%ux%u", &options.width, &options.height) == 2) {
      continue;
    } else if (key == "--out") {
      options.out = value;
    } else {
      std::fprintf(stderr, "unknown: %s %s; the options are at the head of the source\n", argv[at],
                   value);
      std::exit(2);
    }
  }
  return options;
}

void run(const Options& options, const std::string& command) {
  auto device = find_device(options.device);
  if (!device) throw DataError(device.error());
  const std::string machine = machine_of(**device);
  Report report(options, machine, command);
  Sweep sweep(options, **device);
  static_cast<void>(sweep.piped(nanoseconds(0)));  // streams, memory and processors wake up
  const Measured compute = median_of(options.repeat, [&] { return sweep.compute_alone(); });
  const Measured copy = median_of(options.repeat, [&] { return sweep.copy_alone(); });
  std::printf("frame_sweep: %s\n%llu chunks of %llu frames of %ux%u, median of %zu\n",
              machine.c_str(), static_cast<unsigned long long>(options.chunks),
              static_cast<unsigned long long>(options.frames), options.width, options.height,
              options.repeat);
  std::printf("alone: compute %.3f s, convert and copy %.3f s", compute.seconds, copy.seconds);
  if (compute.busy >= 0) std::printf("; compute keeps the GPU %.2f %% busy", 100 * compute.busy);
  std::printf("\n%10s %9s %9s %9s %9s %11s %11s %7s\n", "write", "alone s", "ideal s", "sync s",
              "piped s", "sync/ideal", "piped/ideal", "stalls");
  for (const int percent : options.writes) {
    const nanoseconds frame(options.compute_us * 10 * static_cast<std::uint64_t>(percent) /
                            options.frames);
    const Measured write = median_of(options.repeat, [&] { return sweep.write_alone(frame); });
    const Measured sync = median_of(options.repeat, [&] { return sweep.synchronous(frame); });
    const Measured piped = median_of(options.repeat, [&] { return sweep.piped(frame); });
    const double ideal = std::max({compute.seconds, copy.seconds, write.seconds});
    std::printf("%8d %% %9.3f %9.3f %9.3f %9.3f %11.4f %11.4f %7llu", percent, write.seconds, ideal,
                sync.seconds, piped.seconds, sync.seconds / ideal, piped.seconds / ideal,
                static_cast<unsigned long long>(piped.stalls));
    if (piped.busy >= 0)
      std::printf("  busy %.2f %%, sync %.2f %%", 100 * piped.busy, 100 * sync.busy);
    std::printf("\n");
    std::fflush(stdout);
    const std::string name =
        options.device + ", write " + std::to_string(percent) + " % of compute";
    report.add(name, "sync / ideal", sync.seconds / ideal, "1");
    report.add(name, "piped / ideal", piped.seconds / ideal, "1");
    report.add(name, "ideal", ideal, "s");
    if (piped.busy >= 0) report.add(name, "piped GPU busy", piped.busy, "1");
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string command = "frame_sweep";
  for (int at = 1; at < argc; ++at) command += std::string(" ") + argv[at];
  try {
    run(parse(argc, argv), command);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "frame_sweep: %s\n", error.what());
    return 3;
  }
}
