// SPDX-License-Identifier: Apache-2.0

// Times codecs on the tensors of one file, on request, so that a script can take turns with peers.
//
//   codec_speed FILE [--join]
//
// Reads lines "encode|decode|check CODEC THREADS PASSES" and answers each with a line of JSON:
// {"seconds": of all passes, "raw": bytes of one pass, "coded": bytes of one pass}. A pass codes
// each tensor as one chunk, into memory that is there before. With --join, neighbours of one dtype
// and shape are one chunk, as long as they fit 8 MiB: what a thread count is compared on.

#include <offramp/codec/codec.hpp>
#include <offramp/transport/transport.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using offramp::Codec;
using offramp::TensorDesc;
using offramp::Workers;

constexpr std::size_t joined_size = 8u << 20;

struct Tensor {
  TensorDesc desc;
  std::vector<std::byte> values;
};

struct Coded {
  std::vector<std::byte> bytes;
  std::size_t size{};
  bool stored{};
};

// The extents of two tensors of one shape, one behind the other.
offramp::Shape joined(const offramp::Shape& shape, std::uint64_t copies) {
  std::vector<std::uint64_t> extents(shape.extents().begin(), shape.extents().end());
  extents.front() *= copies;
  return offramp::Shape(std::span<const std::uint64_t>(extents));
}

std::vector<Tensor> read_tensors(const std::string& path, bool join) {
  auto source = std::move(offramp::open_source(path)).value();
  std::vector<Tensor> tensors;
  std::vector<std::uint64_t> copies;
  TensorDesc last{};
  for (std::size_t i = 0; i < source->tensors().size(); ++i) {
    const auto& desc = source->tensors()[i].desc;
    if (desc.size() == 0) continue;
    const bool behind = join && !tensors.empty() && desc == last && desc.shape.rank() > 0 &&
                        tensors.back().values.size() + desc.size() <= joined_size;
    if (!behind) {
      tensors.push_back({desc, {}});
      copies.push_back(0);
    }
    auto& values = tensors.back().values;
    const auto at = values.size();
    values.resize(at + desc.size());
    source->read(i, 0, std::span(values).subspan(at));
    last = desc;
    ++copies.back();
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (copies[i] > 1) tensors[i].desc.shape = joined(tensors[i].desc.shape, copies[i]);
  }
  if (tensors.empty()) throw std::runtime_error(path + ": no values");
  return tensors;
}

class Bench {
 public:
  explicit Bench(std::vector<Tensor> tensors) : tensors_(std::move(tensors)) {
    for (const auto& tensor : tensors_) {
      raw_ += tensor.values.size();
      largest_ = std::max(largest_, tensor.values.size());
    }
    restored_.resize(largest_);
  }

  double encode(const std::string& name, Workers& workers, int passes) {
    const auto codec = Codec::from_name(name).value();
    auto& coded = coded_[name];
    coded.resize(tensors_.size());
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      coded[i].bytes.resize(codec.max_encoded_size(tensors_[i].desc));
      grow(codec.encode_scratch_size(tensors_[i].desc, workers.size()));
    }
    return timed(passes, [&] {
      for (std::size_t i = 0; i < tensors_.size(); ++i) {
        const auto& tensor = tensors_[i];
        const auto done =
            codec.encode({tensor.desc, tensor.values}, coded[i].bytes, scratch_, workers);
        coded[i].size = done.size;
        coded[i].stored = done.stored;
      }
    });
  }

  double decode(const std::string& name, Workers& workers, int passes, bool check) {
    const auto codec = Codec::from_name(name).value();
    const auto store = Codec::from_name("store").value();
    auto& coded = coded_[name];
    if (coded.empty()) encode(name, workers, 1);
    for (const auto& tensor : tensors_) {
      grow(codec.decode_scratch_size(tensor.desc, workers.size()));
      grow(store.decode_scratch_size(tensor.desc, workers.size()));
    }
    return timed(passes, [&] {
      for (std::size_t i = 0; i < tensors_.size(); ++i) {
        const auto& tensor = tensors_[i];
        const auto out = std::span(restored_).first(tensor.values.size());
        (coded[i].stored ? store : codec)
            .decode(std::span(coded[i].bytes).first(coded[i].size), tensor.desc, 0, out, scratch_,
                    workers)
            .value();
        if (check && std::memcmp(out.data(), tensor.values.data(), out.size()) != 0) {
          throw std::runtime_error(name + ": the restored bytes differ");
        }
      }
    });
  }

  [[nodiscard]] std::size_t raw_size() const noexcept { return raw_; }
  [[nodiscard]] std::size_t coded_size(const std::string& name) const {
    std::size_t size = 0;
    for (const auto& tensor : coded_.at(name)) size += tensor.size;
    return size;
  }

 private:
  void grow(std::size_t size) {
    if (scratch_.size() < size) scratch_.resize(size);
  }

  template <class Pass>
  static double timed(int passes, Pass&& pass) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < passes; ++i) pass();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  std::vector<Tensor> tensors_;
  std::size_t raw_{};
  std::size_t largest_{};
  std::vector<std::byte> restored_;
  std::vector<std::byte> scratch_;
  std::map<std::string, std::vector<Coded>> coded_;
};

int serve(const std::string& path, bool join) {
  Bench bench(read_tensors(path, join));
  std::map<std::size_t, std::unique_ptr<Workers>> teams;
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string what, codec;
    std::size_t threads = 0;
    int passes = 0;
    if (!(words >> what >> codec >> threads >> passes) || threads == 0 || passes < 1) {
      throw std::runtime_error("not understood: " + line);
    }
    auto& workers = teams[threads];
    if (!workers) workers = std::make_unique<Workers>(threads);
    const double seconds = what == "encode"
                               ? bench.encode(codec, *workers, passes)
                               : bench.decode(codec, *workers, passes, what == "check");
    std::printf("{\"seconds\": %.9f, \"raw\": %zu, \"coded\": %zu}\n", seconds, bench.raw_size(),
                bench.coded_size(codec));
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3 || (argc == 3 && std::string(argv[2]) != "--join")) {
    std::fprintf(stderr, "usage: codec_speed FILE [--join]\n");
    return 2;
  }
  try {
    return serve(argv[1], argc == 3);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "codec_speed: %s\n", error.what());
    return 1;
  }
}
