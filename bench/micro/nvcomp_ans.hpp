// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>

/// The batched ANS coder of nvCOMP 6 for half-precision floats, from the library that is found at
/// run time: nothing of it is needed to build. Declared from its documented C interface.
///
/// All pointers are device memory; lists have one entry a chunk. Inputs are aligned to 16 bytes.
class NvcompAns {
 public:
  /// `path` or $OFFRAMP_NVCOMP or the loader's libnvcomp.so.6. @throws std::runtime_error with the
  /// loader's words.
  NvcompAns() {
    const char* const named = std::getenv("OFFRAMP_NVCOMP");
    const char* const path = named != nullptr ? named : "libnvcomp.so.6";
    library_ = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) throw std::runtime_error(dlerror());
    find(compress_scratch_, "nvcompBatchedANSCompressGetTempSize");
    find(max_output_, "nvcompBatchedANSCompressGetMaxOutputChunkSize");
    find(compress_, "nvcompBatchedANSCompressAsync");
    find(decompress_scratch_, "nvcompBatchedANSDecompressGetTempSize");
    find(decompress_, "nvcompBatchedANSDecompressAsync");
  }
  NvcompAns(const NvcompAns&) = delete;
  NvcompAns& operator=(const NvcompAns&) = delete;
  ~NvcompAns() { dlclose(library_); }

  [[nodiscard]] std::size_t max_output(std::size_t chunk) const {
    std::size_t size = 0;
    expect(max_output_(chunk, compress_options(), &size));
    return size;
  }
  [[nodiscard]] std::size_t scratch_size(std::size_t chunks, std::size_t chunk,
                                         cudaStream_t stream) const {
    std::size_t encode = 0, decode = 0;
    expect(compress_scratch_(chunks, chunk, compress_options(), &encode, chunks * chunk, stream));
    expect(
        decompress_scratch_(chunks, chunk, decompress_options(), &decode, chunks * chunk, stream));
    return encode > decode ? encode : decode;
  }

  struct Lists {
    void** values{};
    std::size_t* value_sizes{};
    void** coded{};
    std::size_t* coded_sizes{};
    std::size_t* decoded_sizes{};
    int* status{};
  };

  void encode(std::size_t chunks, std::size_t chunk, const Lists& lists, void* scratch,
              std::size_t scratch_size, cudaStream_t stream) const {
    expect(compress_(lists.values, lists.value_sizes, chunk, chunks, scratch, scratch_size,
                     lists.coded, lists.coded_sizes, compress_options(), lists.status, stream));
  }
  void decode(std::size_t chunks, const Lists& lists, void** out, void* scratch,
              std::size_t scratch_size, cudaStream_t stream) const {
    expect(decompress_(lists.coded, lists.coded_sizes, lists.value_sizes, lists.decoded_sizes,
                       chunks, scratch, scratch_size, out, decompress_options(), lists.status,
                       stream));
  }

 private:
  static constexpr int float16 = 10;

  // 64 bytes each, of which those not named must be 0: each is a choice left to the library.
  struct CompressOptions {
    int algorithm{};
    int data_type{};
    std::uint8_t defaults[56]{};
  };
  struct DecompressOptions {
    int backend{};
    int data_type{};
    std::uint8_t defaults[56]{};
  };
  static CompressOptions compress_options() { return {.algorithm = 0, .data_type = float16}; }
  static DecompressOptions decompress_options() { return {.backend = 0, .data_type = float16}; }

  template <class F>
  void find(F*& function, const char* name) {
    function = reinterpret_cast<F*>(dlsym(library_, name));
    if (function == nullptr) throw std::runtime_error(std::string("nvCOMP has no ") + name);
  }
  static void expect(int status) {
    if (status != 0) throw std::runtime_error("nvCOMP says " + std::to_string(status));
  }

  using CompressScratch = int(std::size_t, std::size_t, CompressOptions, std::size_t*, std::size_t,
                              cudaStream_t);
  using MaxOutput = int(std::size_t, CompressOptions, std::size_t*);
  using Compress = int(const void* const*, const std::size_t*, std::size_t, std::size_t, void*,
                       std::size_t, void* const*, std::size_t*, CompressOptions, int*,
                       cudaStream_t);
  using DecompressScratch = int(std::size_t, std::size_t, DecompressOptions, std::size_t*,
                                std::size_t, cudaStream_t);
  using Decompress = int(const void* const*, const std::size_t*, const std::size_t*, std::size_t*,
                         std::size_t, void*, std::size_t, void* const*, DecompressOptions, int*,
                         cudaStream_t);

  void* library_{};
  CompressScratch* compress_scratch_{};
  MaxOutput* max_output_{};
  Compress* compress_{};
  DecompressScratch* decompress_scratch_{};
  Decompress* decompress_{};
};
