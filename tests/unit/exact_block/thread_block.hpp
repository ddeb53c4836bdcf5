// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/exact/block/block.hpp"

#include <atomic>
#include <barrier>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

namespace offramp::exact::block {

/// A block of true threads with the barriers of `CudaBlock` and no others: under TSan, what one
/// thread reads between calls while another is writing it in the next shows.
class ThreadBlock {
 public:
  /// What the threads of a block share.
  struct Team {
    explicit Team(std::uint32_t threads)
        : barrier(static_cast<std::ptrdiff_t>(threads)), partial(threads) {}
    std::barrier<> barrier;
    struct Partial {
      alignas(8) std::byte bytes[max_reduced_size];
    };
    std::vector<Partial> partial;
  };

  ThreadBlock(Team& team, std::uint32_t thread) : team_(team), thread_(thread) {}

  [[nodiscard]] std::uint32_t size() const {
    return static_cast<std::uint32_t>(team_.partial.size());
  }

  template <class F>
  void for_each(std::uint32_t n, F&& f) {
    for (std::uint32_t i = thread_; i < n; i += size()) f(i);
    sync();
  }

  template <class F>
  void single(F&& f) {
    if (thread_ == 0) f();
    sync();
  }

  template <class T, class F, class Join>
  T reduce(std::uint32_t n, T none, F&& f, Join&& join) {
    sync();
    T mine = none;
    for (std::uint32_t i = thread_; i < n; i += size()) mine = join(mine, f(i));
    std::memcpy(team_.partial[thread_].bytes, &mine, sizeof mine);
    sync();
    T all = none;
    for (const auto& partial : team_.partial) {
      T part;
      std::memcpy(&part, partial.bytes, sizeof part);
      all = join(all, part);
    }
    return all;
  }

  template <class Count, class Emit>
  std::uint32_t scan(std::uint32_t n, Count&& count, Emit&& emit) {
    sync();
    const std::uint32_t run = div_up(n, size());
    const std::uint32_t begin = lesser(thread_ * run, n), end = lesser(begin + run, n);
    std::uint32_t mine = 0;
    for (std::uint32_t i = begin; i < end; ++i) mine += count(i);
    store(team_.partial[thread_].bytes, mine);
    sync();
    std::uint32_t before = 0, total = 0;
    for (std::uint32_t t = 0; t < size(); ++t) {
      const auto part = load<std::uint32_t>(team_.partial[t].bytes);
      if (t < thread_) before += part;
      total += part;
    }
    for (std::uint32_t i = begin; i < end; ++i) {
      const std::uint32_t here = count(i);
      emit(i, before);
      before += here;
    }
    sync();
    return total;
  }

  void add(std::uint32_t& at, std::uint32_t x) { std::atomic_ref(at).fetch_add(x); }
  void raise(std::uint32_t& at, std::uint32_t x) {
    std::atomic_ref shared(at);
    for (std::uint32_t seen = shared; seen < x && !shared.compare_exchange_weak(seen, x);) {
    }
  }

  /// Runs `f(block)` on that many threads.
  template <class F>
  static void run(std::uint32_t threads, F&& f) {
    Team team(threads);
    std::vector<std::jthread> running;
    for (std::uint32_t t = 0; t < threads; ++t) {
      running.emplace_back([&team, &f, t] {
        ThreadBlock block(team, t);
        f(block);
      });
    }
  }

 private:
  void sync() { team_.barrier.arrive_and_wait(); }

  Team& team_;
  std::uint32_t thread_;
};

static_assert(Block<ThreadBlock>);

}  // namespace offramp::exact::block
