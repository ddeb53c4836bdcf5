// SPDX-License-Identifier: Apache-2.0
// The link between a GPU and its host, raw and coded, alone and beside a model that runs without
// end.
//   link_bench FILE.safetensors [OUT.jsonl] [--cublas LIBRARY] [--quick]
// 4 GiB of the file's bf16 values, repeated, their mantissas stirred from the second time on so
// that no two tiles are equal. Raw: cudaMemcpyAsync between the device and page-locked memory,
// eight copies in flight. Coded: offramp::Offloader, to its store and back; everything is compared
// bit for bit. GB/s of original data, by the wall clock, each figure with what it took to the last
// byte.
#include "../gpu_values.cuh"
#include "link_lanes.cuh"
#include "link_model.cuh"

#include <offramp/core/buffer.hpp>
#include <offramp/cuda/stream.hpp>
#include <offramp/device/device_table.hpp>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace link_bench {
namespace {

using namespace offramp;
using bench::count_differences;
using bench::repeat;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

class Bench {
 public:
  Bench(const std::string& path, const std::string& json, const std::string& command)
      : device_(**find_device("cuda:0")),
        stream_(device_.make_stream()),
        values_(stream_, device_.memory(), values_size),
        back_(stream_, device_.memory(), values_size),
        command_(command) {
    if (!json.empty()) json_.open(json, std::ios::app);
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, 0));
    machine_ = properties.name;
    char day[16];
    const std::time_t time = std::time(nullptr);
    std::strftime(day, sizeof day, "%Y-%m-%d", std::gmtime(&time));
    date_ = day;
    fill(path);
  }

  void alone(const std::vector<std::size_t>& chunks, const std::vector<Setup>& setups, double t) {
    std::printf("no load\n%-22s %7s %7s %7s %7s  %6s %6s\n", "", "off", "on", "both", "", "ratio",
                "extra");
    for (const std::size_t chunk : chunks) {
      RawLane raw(device_, values_.data(), back_.data(), chunk);
      row("raw " + std::to_string(chunk / mib) + "MiB", raw, t, nullptr);
    }
    for (const Setup& setup : setups) {
      CodedLane coded(device_, values_.data(), back_.data(), setup, values_size);
      verify(coded, setup.name());
      row("coded " + setup.name(), coded, t, &coded);
    }
  }

  void beside(Kind kind, const char* name, Blas& blas, const std::vector<Setup>& setups, double t,
              int rounds) {
    struct Case {
      std::string name;
      std::unique_ptr<Lane> lane;
      std::vector<double> off[4], on[4], slow[4];
    };
    std::vector<Case> cases;
    cases.push_back({"raw 16MiB",
                     std::make_unique<RawLane>(device_, values_.data(), back_.data(), 16 * mib),
                     {},
                     {},
                     {}});
    for (const Setup& setup : setups) {
      cases.push_back(
          {"coded " + setup.name(),
           std::make_unique<CodedLane>(device_, values_.data(), back_.data(), setup, 1024 * mib),
           {},
           {},
           {}});
    }
    Model model(kind, blas);
    std::vector<double> free_rates;
    const auto timed = [&](Lane* lane, int way, Rates* rates) {
      const double from = now() + 0.01;
      if (lane != nullptr) {
        *rates = lane->run((way & 1) != 0, (way & 2) != 0, t);
      } else {
        std::this_thread::sleep_for(std::chrono::duration<double>(t));
      }
      return std::pair(from, from - 0.01 + t);
    };
    for (int round = 0; round < rounds; ++round) {
      for (Case& one : cases) {
        for (int way = 1; way <= 3; ++way) {
          Rates rates;
          const auto before = timed(nullptr, 0, nullptr);
          const auto during = timed(one.lane.get(), way, &rates);
          const auto after = timed(nullptr, 0, nullptr);
          std::this_thread::sleep_for(std::chrono::milliseconds(12));
          const double base =
              (model.rate(before.first, before.second) + model.rate(after.first, after.second)) / 2;
          free_rates.push_back(base);
          one.off[way].push_back(rates.off);
          one.on[way].push_back(rates.on);
          one.slow[way].push_back(100 * (1 - model.rate(during.first, during.second) / base));
        }
      }
    }
    std::sort(free_rates.begin(), free_rates.end());
    std::printf(
        "\nbeside %s: %.4g %s alone (%.4g to %.4g); slow-down against just before and after\n",
        name, median(free_rates), Model::unit(kind), free_rates.front(), free_rates.back());
    std::printf("%-22s %18s %18s %27s\n", "", "off", "on", "both");
    for (Case& one : cases) {
      std::printf("%-22s", one.name.c_str());
      const char* ways[] = {"", "off", "on", "both"};
      for (int way = 1; way <= 3; ++way) {
        const double rate = median(one.off[way]) + median(one.on[way]);
        const double slow = median(one.slow[way]);
        std::printf("  %7.2f · %5.1f %%", rate, slow);
        note(std::string(name) + "/" + one.name + "/" + ways[way], "rate", rate, "GB/s");
        note(std::string(name) + "/" + one.name + "/" + ways[way], "slow-down", slow, "%");
      }
      std::printf("\n");
      std::fflush(stdout);
    }
  }

  bool is_exact() const { return exact_; }

 private:
  void fill(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
    std::uint64_t header = 0;
    if (bytes.size() < 65536) {
      std::fprintf(stderr, "link_bench: %s cannot be read\n", path.c_str());
      std::exit(2);
    }
    std::memcpy(&header, bytes.data(), 8);
    const std::size_t size = (bytes.size() - 8 - header) / 32768 * 32768;
    const Buffer source(stream_, device_.memory(), size);
    const cudaStream_t stream = native(stream_);
    check(cudaMemcpyAsync(source.data(), bytes.data() + 8 + header, size, cudaMemcpyHostToDevice,
                          stream));
    repeat<<<1056, 256, 0, stream>>>(
        reinterpret_cast<std::uint16_t*>(values_.data()), values_size / 2,
        reinterpret_cast<const std::uint16_t*>(source.data()), size / 2);
    stream_.ref().sync();
  }

  void verify(CodedLane& lane, const std::string& name) {
    const cudaStream_t stream = native(stream_);
    check(cudaMemsetAsync(back_.data(), 0xa5, values_size, stream));
    stream_.ref().sync();
    lane.restore_all();
    const Buffer count(stream_, device_.memory(), 8);
    check(cudaMemsetAsync(count.data(), 0, 8, stream));
    count_differences<<<1056, 256, 0, stream>>>(
        reinterpret_cast<const uint4*>(values_.data()),
        reinterpret_cast<const uint4*>(back_.data()), values_size / 16,
        reinterpret_cast<unsigned long long*>(count.data()));
    unsigned long long differ = 0;
    check(cudaMemcpyAsync(&differ, count.data(), 8, cudaMemcpyDeviceToHost, stream));
    stream_.ref().sync();
    if (differ == 0) return;
    exact_ = false;
    std::printf("%s: WRONG, %llu of %zu\n", name.c_str(), differ, values_size / 16);
  }

  void row(const std::string& name, Lane& lane, double seconds, CodedLane* coded) {
    std::vector<double> off, on, both_off, both_on;
    lane.run(true, true, seconds / 4);
    for (int round = 0; round < 3; ++round) {
      off.push_back(lane.run(true, false, seconds).off);
      on.push_back(lane.run(false, true, seconds).on);
      const Rates both = lane.run(true, true, seconds);
      both_off.push_back(both.off);
      both_on.push_back(both.on);
    }
    const double both = median(both_off) + median(both_on);
    std::printf("%-22s %7.2f %7.2f %7.2f", name.c_str(), median(off), median(on), both);
    note(name, "off", median(off), "GB/s");
    note(name, "on", median(on), "GB/s");
    note(name, "both", both, "GB/s");
    if (coded != nullptr) {
      const double extra = static_cast<double>(coded->device_memory()) / mib;
      std::printf("  bit-exact %6.4f %4.0f MiB", coded->ratio(), extra);
      note(name, "ratio", coded->ratio(), "");
      note(name, "device memory", extra, "MiB");
    }
    std::printf("\n");
    std::fflush(stdout);
  }

  void note(const std::string& name, const char* metric, double value, const char* unit) {
    if (!json_.is_open()) return;
    const char* const commit = std::getenv("OFFRAMP_COMMIT");
    json_ << "{\"bench\": \"link\", \"case\": \"" << name << "\", \"metric\": \"" << metric
          << "\", \"value\": " << value << ", \"unit\": \"" << unit << "\", \"commit\": \""
          << (commit != nullptr ? commit : "unknown") << "\", \"machine\": \"" << machine_
          << "\", \"date\": \"" << date_ << "\", \"command\": \"" << command_ << "\"}\n";
  }

  Device& device_;
  Stream stream_;
  Buffer values_, back_;
  std::ofstream json_;
  std::string machine_, date_, command_;
  bool exact_{true};
};

}  // namespace
}  // namespace link_bench

int main(int argc, char** argv) {
  using namespace link_bench;
  std::string file, json, cublas, command = "link_bench";
  bool is_quick = false;
  std::vector<Setup> setups;
  for (int at = 1; at < argc; ++at) {
    const std::string_view word = argv[at];
    unsigned long chunk = 0, launch = 0, slots = 0;
    if (word == "--cublas" && at + 1 < argc) {
      cublas = argv[++at];
    } else if (word == "--quick") {
      is_quick = true;
      command += " --quick";
    } else if (std::sscanf(argv[at], "%lux%lux%lu", &chunk, &launch, &slots) == 3) {
      setups.push_back({chunk * mib, launch, slots});
      command += " " + std::string(word);
    } else if (file.empty()) {
      file = word;
      command += " " + file.substr(file.rfind('/') + 1);
    } else {
      json = word;
    }
  }
  if (file.empty()) {
    std::fprintf(stderr,
                 "usage: %s FILE.safetensors [OUT.jsonl] [--cublas LIBRARY] [--quick]\n"
                 "       [CHUNKxLAUNCHxSLOTS ...: beside the models, these instead of the usual]\n",
                 argv[0]);
    return 2;
  }
  const auto found = offramp::find_device("cuda:0");
  if (!found) {
    std::printf("link_bench: skipped: %s\n", found.error().message().c_str());
    return 0;
  }
  const offramp::OffloaderSettings usual;
  const Setup standard{usual.chunk_size, usual.chunks_per_launch, usual.device_slots};
  if (is_quick) values_size = 1024 * mib;
  Bench bench(file, json, command);
  if (is_quick) {
    bench.alone({16 * mib}, {standard}, 0.2);
    return bench.is_exact() ? 0 : 1;
  }
  if (setups.empty()) {
    const std::size_t launch = standard.chunk * standard.launch / mib;
    bench.alone({1 * mib, 4 * mib, 16 * mib, 64 * mib},
                {{1 * mib, launch, standard.slots},
                 {4 * mib, launch / 4, standard.slots},
                 {16 * mib, launch / 16, standard.slots},
                 standard,
                 {64 * mib, launch / 64, standard.slots},
                 {16 * mib, 4, 2}},
                0.12);
    setups = {standard, {16 * mib, 4, 2}, {8 * mib, 1, 3}};
  }
  Blas blas;
  if (blas.load(cublas)) {
    bench.beside(Kind::square, "GEMM 8192x8192x8192", blas, setups, 0.12, 3);
    bench.beside(Kind::narrow, "GEMM 8192x2048x8192", blas, setups, 0.12, 3);
  } else {
    std::printf("\nno matrix products: cuBLAS was not found (--cublas LIBRARY)\n");
  }
  bench.beside(Kind::memory, "reads of memory", blas, setups, 0.12, 3);
  return bench.is_exact() ? 0 : 1;
}
