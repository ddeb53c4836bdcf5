// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

/// Marks what a CUDA block may run. All of it is plain C++ too, for the tests on the host.
#ifdef __CUDACC__
#define OFFRAMP_DEVICE __device__
#else
#define OFFRAMP_DEVICE
#endif

namespace offramp::exact::block {

/// A block of threads that work on one tile together. What stands between the calls is the same for
/// all threads, and each runs it; what is given to a call is spread over the threads.
///
/// - `size()`: how many threads.
/// - `for_each(n, f)`: `f(i)` for each i < n, in no order, at once.
/// - `reduce(n, none, f, join)`: `join` of `f(i)` over i < n, in any order; `none` changes nothing
///   when joined.
/// - `scan(n, count, emit)`: `emit(i, sum of count(j) for j < i)` for each i < n; returns the sum
///   over all. `count` is called twice, so `emit` must not write what `count` reads.
/// - `single(f)`: `f()` by one thread.
/// - `add(at, x)`, `raise(at, x)`: from within a call, `at += x` and `at = max(at, x)` in shared
///   memory, atomically.
///
/// A call is made by all threads or none. It sees all that was written before it, and what it
/// writes is seen after it. Between calls nothing is written, and nothing read that the next call
/// writes: some threads may be in it already.
template <class B>
concept Block = requires(B& block, std::uint32_t n, std::uint32_t& at,
                         std::uint32_t (*count)(std::uint32_t), void (*each)(std::uint32_t),
                         void (*emit)(std::uint32_t, std::uint32_t), void (*once)(),
                         std::uint32_t (*join)(std::uint32_t, std::uint32_t)) {
  { block.size() } -> std::same_as<std::uint32_t>;
  block.for_each(n, each);
  { block.reduce(n, n, count, join) } -> std::same_as<std::uint32_t>;
  { block.scan(n, count, emit) } -> std::same_as<std::uint32_t>;
  block.single(once);
  block.add(at, n);
  block.raise(at, n);
};

/// The largest type that `reduce` joins; its size is a multiple of 4.
inline constexpr std::size_t max_reduced_size = 48;

template <class B, class F>
OFFRAMP_DEVICE std::uint32_t sum(B& block, std::uint32_t n, F&& f) {
  return block.reduce(n, std::uint32_t{}, f,
                      [](std::uint32_t a, std::uint32_t b) { return a + b; });
}

template <class T, class B, class F>
OFFRAMP_DEVICE T any_bits(B& block, std::uint32_t n, F&& f) {
  return block.reduce(n, T{}, f, [](T a, T b) { return static_cast<T>(a | b); });
}

/// The largest of `f(i)`, 0 if there is none.
template <class B, class F>
OFFRAMP_DEVICE std::uint32_t largest(B& block, std::uint32_t n, F&& f) {
  return block.reduce(n, std::uint32_t{}, f,
                      [](std::uint32_t a, std::uint32_t b) { return a < b ? b : a; });
}

/// Whether `f(i)` is true for all i < n. `f` is called for all of them.
template <class B, class F>
OFFRAMP_DEVICE bool all_of(B& block, std::uint32_t n, F&& f) {
  return any_bits<std::uint32_t>(block, n, [&](std::uint32_t i) { return f(i) ? 0u : 1u; }) == 0;
}

/// Little-endian load and store of an integer at an address that is a multiple of its size.
template <class T>
[[nodiscard]] OFFRAMP_DEVICE inline T load_aligned(const void* from) {
#ifdef __CUDA_ARCH__
  return *static_cast<const T*>(from);
#else
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
#endif
}
template <class T>
OFFRAMP_DEVICE inline void store_aligned(void* to, T value) {
#ifdef __CUDA_ARCH__
  *static_cast<T*>(to) = value;
#else
  std::memcpy(to, &value, sizeof(T));
#endif
}

/// The same at any address; at one that is a multiple of the size, a device takes one instruction
/// instead of one a byte.
template <class T>
[[nodiscard]] OFFRAMP_DEVICE inline T load(const void* from) {
  if (reinterpret_cast<std::uintptr_t>(from) % sizeof(T) == 0) return load_aligned<T>(from);
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    value |= std::uint64_t{static_cast<const std::uint8_t*>(from)[i]} << (8 * i);
  }
  return static_cast<T>(value);
}
template <class T>
OFFRAMP_DEVICE inline void store(void* to, T value) {
  if (reinterpret_cast<std::uintptr_t>(to) % sizeof(T) == 0) return store_aligned(to, value);
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    static_cast<std::uint8_t*>(to)[i] =
        static_cast<std::uint8_t>(static_cast<std::uint64_t>(value) >> (8 * i));
  }
}

/// The first `size` <= 8 bytes there as the low bytes of a word.
[[nodiscard]] OFFRAMP_DEVICE inline std::uint64_t load_some(const std::uint8_t* from,
                                                            std::uint32_t size) {
  if (size == 8) return load<std::uint64_t>(from);
  std::uint64_t word = 0;
  for (std::uint32_t i = 0; i < size; ++i) word |= std::uint64_t{from[i]} << (8 * i);
  return word;
}
OFFRAMP_DEVICE inline void store_some(std::uint8_t* to, std::uint64_t word, std::uint32_t size) {
  if (size == 8) return store(to, word);
  for (std::uint32_t i = 0; i < size; ++i) to[i] = static_cast<std::uint8_t>(word >> (8 * i));
}

/// The same where the address is known to be a multiple of 8: a group of 8 bytes in scratch.
[[nodiscard]] OFFRAMP_DEVICE inline std::uint64_t load_group(const std::uint8_t* from,
                                                             std::uint32_t size) {
  return size == 8 ? load_aligned<std::uint64_t>(from) : load_some(from, size);
}
OFFRAMP_DEVICE inline void store_group(std::uint8_t* to, std::uint64_t word) {
  store_aligned(to, word);
}

/// What std::popcount and std::countr_zero give. nvcc 13.0 compiles those for the device to
/// nothing, or to a constant, without a word.
[[nodiscard]] constexpr std::uint32_t count_ones(std::uint64_t x) {
  x -= x >> 1 & 0x5555555555555555;
  x = (x & 0x3333333333333333) + (x >> 2 & 0x3333333333333333);
  x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0f;
  return static_cast<std::uint32_t>(x * 0x0101010101010101 >> 56);
}
[[nodiscard]] constexpr std::uint32_t lowest_one(std::uint64_t x) {
  return count_ones((x & (~x + 1)) - 1);
}

[[nodiscard]] constexpr std::uint8_t byte_of(std::uint64_t word, std::uint32_t i) {
  return static_cast<std::uint8_t>(word >> (8 * i));
}

/// The low `size` <= 8 bytes of a word.
[[nodiscard]] constexpr std::uint64_t low_bytes(std::uint32_t size) {
  return size == 8 ? ~std::uint64_t{} : (std::uint64_t{1} << (8 * size)) - 1;
}

[[nodiscard]] constexpr std::uint32_t div_up(std::uint32_t a, std::uint32_t b) {
  return (a + b - 1) / b;
}
[[nodiscard]] constexpr std::uint32_t lesser(std::uint32_t a, std::uint32_t b) {
  return a < b ? a : b;
}

/// Quotient and remainder of numbers below 2^16 by a row's width, which is small, without a
/// division: (k * (floor(2^32 / d) + 1)) / 2^32 is exact where k * d < 2^32.
class RowDivider {
 public:
  constexpr explicit RowDivider(std::uint32_t width)
      : width_(width), inverse_((std::uint64_t{1} << 32) / width + 1) {}

  [[nodiscard]] constexpr std::uint32_t row(std::uint32_t k) const {
    return static_cast<std::uint32_t>((k * inverse_) >> 32);
  }
  [[nodiscard]] constexpr std::uint32_t column(std::uint32_t k) const {
    return k - row(k) * width_;
  }
  [[nodiscard]] constexpr std::uint32_t width() const { return width_; }

 private:
  std::uint32_t width_;
  std::uint64_t inverse_;
};

/// Whether bytes `from` to before `to` are 0: a few bytes of padding, which every thread looks at.
[[nodiscard]] OFFRAMP_DEVICE inline bool is_padding(const std::uint8_t* bytes, std::uint32_t from,
                                                    std::uint32_t to) {
  unsigned any = 0;
  for (std::uint32_t i = from; i < to; ++i) any |= bytes[i];
  return any == 0;
}

/// Zeros to bytes `from` to before `to`.
template <class B>
OFFRAMP_DEVICE void zero(B& block, std::uint8_t* bytes, std::uint32_t from, std::uint32_t to) {
  block.for_each(to - from, [&](std::uint32_t i) { bytes[from + i] = 0; });
}

}  // namespace offramp::exact::block
