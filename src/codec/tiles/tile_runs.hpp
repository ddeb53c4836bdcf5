// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/bytes.hpp"

#include <offramp/core/workers.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace offramp::tiles {

/// Tiles cut into one share a worker, and a share into runs of neighbours, the last of which are
/// short. Runs may be empty.
class TileRuns {
 public:
  TileRuns(std::uint64_t tiles, std::size_t workers) noexcept
      : tiles_(tiles),
        shares_(workers),
        share_tiles_(ceil_div(tiles, workers)),
        long_tiles_(std::clamp<std::uint64_t>(ceil_div(share_tiles_, workers == 1 ? 1 : 4), 1,
                                              max_run_tiles)),
        short_tiles_(workers == 1 ? long_tiles_ : std::max<std::uint64_t>(1, long_tiles_ / 4)),
        long_runs_((share_tiles_ - (workers == 1 ? 0 : std::min(share_tiles_, long_tiles_))) /
                   long_tiles_),
        share_runs_(long_runs_ + ceil_div(share_tiles_ - long_runs_ * long_tiles_, short_tiles_)) {}

  [[nodiscard]] std::uint64_t count() const noexcept { return shares_ * share_runs_; }
  [[nodiscard]] std::size_t shares() const noexcept { return shares_; }
  [[nodiscard]] std::uint64_t share_runs() const noexcept { return share_runs_; }

  /// The first tile of a run; of `count()`, the number of tiles.
  [[nodiscard]] std::uint64_t begin(std::uint64_t run) const noexcept {
    if (run == count()) return tiles_;
    const std::uint64_t share = run / share_runs_, inner = run % share_runs_;
    const std::uint64_t longs = std::min(inner, long_runs_);
    const std::uint64_t first = longs * long_tiles_ + (inner - longs) * short_tiles_;
    return std::min(share * share_tiles_ + std::min(first, share_tiles_), tiles_);
  }

 private:
  static constexpr std::uint64_t max_run_tiles = 32;

  std::uint64_t tiles_;
  std::size_t shares_;
  std::uint64_t share_tiles_;
  std::uint64_t long_tiles_;
  std::uint64_t short_tiles_;
  std::uint64_t long_runs_;   // in a share
  std::uint64_t share_runs_;  // in a share
};

/// Hands the runs out: to each worker its own share from the front, then what is left of another's
/// from the back. So workers keep apart, where side by side they would write to both sides of one
/// cache line row by row, and who did a share last time has what it needs in its cache.
class RunQueue {
 public:
  /// Bytes of scratch, at a multiple of 64.
  [[nodiscard]] static constexpr std::size_t scratch_size(std::size_t workers) noexcept {
    return workers * sizeof(Share);
  }

  /// `scratch` outlives the queue.
  RunQueue(const TileRuns& runs, std::byte* scratch) noexcept
      : runs_(&runs), shares_(reinterpret_cast<Share*>(scratch)) {
    for (std::size_t i = 0; i < runs.shares(); ++i) {
      ::new (static_cast<void*>(shares_ + i)) Share{Share::pack(0, runs.share_runs())};
    }
  }

  /// Calls body(run, worker) once for each run, by all of `workers`.
  template <class Body>
  void for_each(Workers& workers, Body&& body) {
    workers.for_each(std::min<std::uint64_t>(runs_->shares(), runs_->count()),
                     [&](std::size_t, std::size_t worker) {
                       for (std::uint64_t run = 0; take(worker, run);) body(run, worker);
                     });
  }

 private:
  struct alignas(64) Share {
    std::atomic<std::uint64_t> left;  // the first run, the end behind the last; of this share

    static constexpr std::uint64_t pack(std::uint64_t begin, std::uint64_t end) noexcept {
      return begin << 32 | end;
    }
    static constexpr std::uint64_t begin(std::uint64_t left) noexcept { return left >> 32; }
    static constexpr std::uint64_t end(std::uint64_t left) noexcept { return left & 0xffff'ffffu; }
    static constexpr std::uint64_t size(std::uint64_t left) noexcept {
      return end(left) - begin(left);
    }
  };

  // Takes the first run of a share, or the last; false where none is left.
  bool take_of(std::size_t share, bool first, std::uint64_t& run) noexcept {
    std::uint64_t left = shares_[share].left.load(std::memory_order_relaxed);
    while (Share::size(left) != 0) {
      const std::uint64_t begin = Share::begin(left), end = Share::end(left);
      const std::uint64_t rest = first ? Share::pack(begin + 1, end) : Share::pack(begin, end - 1);
      if (shares_[share].left.compare_exchange_weak(left, rest, std::memory_order_relaxed)) {
        run = share * runs_->share_runs() + (first ? begin : end - 1);
        return true;
      }
    }
    return false;
  }

  bool take(std::size_t worker, std::uint64_t& run) noexcept {
    if (take_of(worker, true, run)) return true;
    while (true) {
      std::size_t most = 0;
      std::uint64_t most_left = 0;
      for (std::size_t i = 0; i < runs_->shares(); ++i) {
        const std::uint64_t left = Share::size(shares_[i].left.load(std::memory_order_relaxed));
        if (left > most_left) most = i, most_left = left;
      }
      if (most_left == 0) return false;
      if (take_of(most, false, run)) return true;
    }
  }

  const TileRuns* runs_;
  Share* shares_;
};

}  // namespace offramp::tiles
