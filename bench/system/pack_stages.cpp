// SPDX-License-Identifier: Apache-2.0

// The steps of `offramp pack`, each alone, and the file to run them on.
//
//   pack_stages make OUT.safetensors BYTES FILE...   tiles the tensors of FILE... up to BYTES
//   pack_stages read FILE                            reads every tensor, 8 MiB at a time
//   pack_stages encode FILE CODEC THREADS            encodes every part from memory into memory
//   pack_stages write OUT BYTES RECORD [RECORDS]     appends BYTES in records, commits, removes;
//                                                    RECORDS of them take turns (1: always the
//                                                    same)
//
// Each prints a line of JSON: {"seconds": of wall, "processor": seconds of it, "bytes": ...}.
//
// No two tensors that `make` writes are equal: the rows of a copy are rotated within each matrix,
// and the low six mantissa bits of its bf16 values that are not zero are exchanged for random ones.
// Signs, exponents, zeros and the top mantissa bit stay, and with them what the codecs live on.

#include <offramp/codec/codec.hpp>
#include <offramp/core/file.hpp>
#include <offramp/engine/part.hpp>
#include <offramp/transport/transport.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr std::size_t chunk_size = 8u << 20;

// Wall time, and the processor time of all threads.
class Clock {
 public:
  void report(std::uint64_t bytes) const {
    const double wall =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    std::printf("{\"seconds\": %.6f, \"processor\": %.6f, \"bytes\": %llu}\n", wall,
                processor() - processor_start_, static_cast<unsigned long long>(bytes));
  }

 private:
  static double processor() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
  }

  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double processor_start_ = processor();
};

std::unique_ptr<offramp::TensorSource> open(const std::string& path) {
  return std::move(offramp::open_source(path)).value();
}

std::uint64_t random_bits(std::uint64_t seed) {
  seed += 0x9e3779b97f4a7c15u;
  seed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9u;
  seed = (seed ^ (seed >> 27)) * 0x94d049bb133111ebu;
  return seed ^ (seed >> 31);
}

std::vector<std::byte> vary(const offramp::TensorDesc& desc, const std::vector<std::byte>& values,
                            std::uint64_t copy) {
  const auto extents = desc.shape.extents();
  std::vector<std::byte> out = values;
  if (extents.size() >= 2 && !values.empty()) {
    const std::size_t row = extents.back() * offramp::size_of(desc.dtype);
    const std::size_t rows = extents[extents.size() - 2];
    const std::size_t turn = (copy * 67) % rows;
    for (std::size_t at = 0; at < out.size(); at += rows * row) {
      const auto matrix = out.begin() + static_cast<std::ptrdiff_t>(at);
      std::rotate(matrix, matrix + static_cast<std::ptrdiff_t>(turn * row),
                  matrix + static_cast<std::ptrdiff_t>(rows * row));
    }
  }
  if (desc.dtype == offramp::DType::bf16) {
    for (std::size_t at = 0; at + 2 <= out.size(); at += 2) {
      std::uint16_t value;
      std::memcpy(&value, &out[at], 2);
      if ((value & 0x7fffu) == 0) continue;
      const auto noise = random_bits((copy << 40) + at) & 0x3fu;
      value = static_cast<std::uint16_t>((value & ~0x3fu) | noise);
      std::memcpy(&out[at], &value, 2);
    }
  }
  return out;
}

void make(const std::string& path, std::uint64_t size, const std::vector<std::string>& files) {
  std::vector<offramp::TensorInfo> originals;
  std::vector<std::vector<std::byte>> values;
  for (std::size_t file = 0; file < files.size(); ++file) {
    const auto source = open(files[file]);
    for (std::size_t i = 0; i < source->tensors().size(); ++i) {
      const auto& info = source->tensors()[i];
      originals.push_back({std::to_string(file) + "." + info.name, info.desc});
      values.emplace_back(info.desc.size());
      source->read(i, 0, values.back());
    }
  }
  std::vector<offramp::TensorInfo> tensors;
  std::uint64_t total = 0;
  for (std::uint64_t copy = 0; total < size; ++copy) {
    for (const auto& info : originals) {
      if (total >= size) break;
      tensors.push_back({"copy" + std::to_string(copy) + "." + info.name, info.desc});
      total += info.desc.size();
    }
    if (total == 0) throw std::runtime_error("the files have no values");
  }
  const Clock clock;
  const auto sink = std::move(offramp::make_sink(path, {.format = {}, .overwrite = true})).value();
  sink->begin(tensors, {});
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto original = i % originals.size();
    const auto copy = i / originals.size();
    sink->write(i, 0, copy ? vary(tensors[i].desc, values[original], copy) : values[original]);
  }
  sink->finish();
  clock.report(total);
}

void read(const std::string& path) {
  const auto source = open(path);
  std::vector<std::byte> chunk(chunk_size);
  std::uint64_t total = 0;
  const Clock clock;
  for (std::size_t i = 0; i < source->tensors().size(); ++i) {
    const auto& desc = source->tensors()[i].desc;
    const offramp::PartPlan plan(desc, chunk_size);
    for (std::uint64_t part = 0; part < plan.count(); ++part) {
      const auto size = plan[part].desc.size();
      source->read(i, plan[part].first_elem, std::span(chunk).first(size));
      total += size;
    }
  }
  clock.report(total);
}

// A file's bytes, mapped and present.
class Mapping {
 public:
  explicit Mapping(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status {};
    if (fd < 0 || fstat(fd, &status) != 0) throw std::runtime_error(path + ": cannot be opened");
    size_ = static_cast<std::size_t>(status.st_size);
    data_ = mmap(nullptr, size_, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
    ::close(fd);
    if (data_ == MAP_FAILED) throw std::runtime_error(path + ": cannot be mapped");
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() { munmap(data_, size_); }

  [[nodiscard]] std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(data_), size_};
  }

 private:
  void* data_{};
  std::size_t size_{};
};

void encode(const std::string& path, const std::string& name, std::size_t threads) {
  const auto source = open(path);
  std::uint64_t total = 0;
  for (const auto& info : source->tensors()) total += info.desc.size();
  const Mapping file(path);
  auto values = file.bytes().last(total);  // safetensors: the values end the file, without gaps

  const auto codec = offramp::Codec::from_name(name).value();
  offramp::Workers workers(threads);
  std::vector<std::byte> out, scratch;
  for (const bool warm : {true, false}) {  // first one tensor, so that the buffers are there
    auto rest = values;
    const Clock clock;
    for (const auto& info : source->tensors()) {
      const offramp::PartPlan plan(info.desc, chunk_size);
      for (std::uint64_t i = 0; i < plan.count(); ++i) {
        const auto part = plan[i].desc;
        if (out.size() < codec.max_encoded_size(part)) out.resize(codec.max_encoded_size(part));
        const auto needed = codec.encode_scratch_size(part, workers.size());
        if (scratch.size() < needed) scratch.resize(needed);
        codec.encode({part, rest.first(part.size())}, out, scratch, workers);
        rest = rest.subspan(part.size());
      }
      if (warm) break;
    }
    if (!warm) clock.report(total);
  }
}

// One record stays in the cache of the processor that writes it; many do not.
void write(const std::string& path, std::uint64_t size, std::size_t record, std::size_t records) {
  const std::vector<std::byte> bytes(record * records, std::byte{0x5a});
  std::size_t turn = 0;
  const Clock clock;
  {
    offramp::OutputFile file(path, offramp::OutputFile::Existing::overwrite);
    for (std::uint64_t left = size; left > 0;) {
      const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(left, record));
      file.append(std::span(bytes).subspan(turn++ % records * record, part));
      left -= part;
    }
    file.commit();
  }
  clock.report(size);
  ::unlink(path.c_str());
}

int run(const std::vector<std::string>& args) {
  const std::string what = args.empty() ? "" : args[0];
  if (what == "make" && args.size() >= 4) {
    make(args[1], std::stoull(args[2]), {args.begin() + 3, args.end()});
  } else if (what == "read" && args.size() == 2) {
    read(args[1]);
  } else if (what == "encode" && args.size() == 4) {
    encode(args[1], args[2], std::stoul(args[3]));
  } else if (what == "write" && (args.size() == 4 || args.size() == 5)) {
    write(args[1], std::stoull(args[2]), std::stoul(args[3]),
          args.size() == 5 ? std::stoul(args[4]) : 1);
  } else {
    std::fprintf(stderr, "usage: pack_stages make|read|encode|write ...: see the source's head\n");
    return 2;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pack_stages: %s\n", error.what());
    return 1;
  }
}
