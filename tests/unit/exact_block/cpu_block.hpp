// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/exact/block/block.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace offramp::exact::block {

/// A block whose threads run one after the other within a call, in an order of one's choice: what
/// depends on the order, or on what another thread does in the same call, comes out differently.
class CpuBlock {
 public:
  enum class Order { rising, falling, shuffled };

  explicit CpuBlock(std::uint32_t threads, Order order = Order::rising)
      : threads_(threads), order_(order) {
    std::iota(threads_in_order_.begin(), threads_in_order_.end(), 0u);
  }

  [[nodiscard]] std::uint32_t size() const {
    return static_cast<std::uint32_t>(threads_in_order_.size());
  }

  template <class F>
  void for_each(std::uint32_t n, F&& f) {
    const Call call(*this);
    for (const std::uint32_t t : threads_in_order_) {
      for (std::uint32_t i = t; i < n; i += size()) f(i);
    }
  }

  template <class F>
  void single(F&& f) {
    const Call call(*this);
    f();
  }

  template <class T, class F, class Join>
  T reduce(std::uint32_t n, T none, F&& f, Join&& join) {
    static_assert(sizeof(T) <= max_reduced_size && sizeof(T) % 4 == 0);
    const Call call(*this);
    T all = none;
    for (const std::uint32_t t : threads_in_order_) {
      T mine = none;
      for (std::uint32_t i = t; i < n; i += size()) mine = join(mine, f(i));
      all = join(mine, join(none, all));
    }
    return all;
  }

  template <class Count, class Emit>
  std::uint32_t scan(std::uint32_t n, Count&& count, Emit&& emit) {
    const Call call(*this);
    std::vector<std::uint32_t> counts(n), before(n);
    const std::uint32_t run = div_up(n, size());
    const auto each_of = [&](std::uint32_t t, auto&& f) {
      for (std::uint32_t i = t * run; i < std::min(t * run + run, n); ++i) f(i);
    };
    for (const std::uint32_t t : threads_in_order_) {
      each_of(t, [&](std::uint32_t i) { counts[i] = count(i); });
    }
    std::exclusive_scan(counts.begin(), counts.end(), before.begin(), 0u);
    for (const std::uint32_t t : threads_in_order_) {
      each_of(t, [&](std::uint32_t i) {
        EXPECT_EQ(count(i), counts[i]) << "emit writes what count reads";
        emit(i, before[i]);
      });
    }
    return n == 0 ? 0 : before.back() + counts.back();
  }

  void add(std::uint32_t& at, std::uint32_t x) {
    EXPECT_TRUE(in_call_);
    at += x;
  }
  void raise(std::uint32_t& at, std::uint32_t x) {
    EXPECT_TRUE(in_call_);
    at = std::max(at, x);
  }

 private:
  // Sets up the order of a call, and shows calls made within one.
  class Call {
   public:
    explicit Call(CpuBlock& block) : block_(block) {
      EXPECT_FALSE(block.in_call_);
      block.in_call_ = true;
      block.arrange();
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    ~Call() { block_.in_call_ = false; }

   private:
    CpuBlock& block_;
  };

  void arrange() {
    switch (order_) {
      case Order::rising:
        break;
      case Order::falling:
        std::sort(threads_in_order_.rbegin(), threads_in_order_.rend());
        break;
      case Order::shuffled:
        std::shuffle(threads_in_order_.begin(), threads_in_order_.end(), random_);
        break;
    }
  }

  std::uint32_t threads_;
  Order order_;
  std::vector<std::uint32_t> threads_in_order_ = std::vector<std::uint32_t>(threads_);
  std::mt19937 random_{1};
  bool in_call_{};
};

static_assert(Block<CpuBlock>);

}  // namespace offramp::exact::block
