// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

namespace offramp {

/// A fixed set of threads for loops over blocks. What a loop writes never depends on their number.
///
/// Thread-safe: several threads may call `for_each` at once; their loops share the workers. The
/// calling thread works too, so `Workers(1)` starts no thread. Move-only; the destructor joins.
class Workers {
 public:
  /// `threads` counts the caller; 0 means one for each processor this process may run on.
  explicit Workers(std::size_t threads = 0);
  Workers(Workers&&) noexcept;
  Workers& operator=(Workers&&) noexcept;
  ~Workers();

  /// Threads that may work on one loop, the caller counted: the range of `worker` below.
  [[nodiscard]] std::size_t size() const noexcept;

  /// Calls `body(index, worker)` for every index below `count`, in no promised order, and returns
  /// when all have returned. `worker` is below `size()` and no two calls that run at one time in
  /// this loop have the same, so it can pick scratch. Allocates nothing. If a body throws, the rest
  /// of the loop is skipped and the first exception is thrown on.
  template <class Body>
  void for_each(std::size_t count, Body&& body) {
    using Fn = std::remove_reference_t<Body>;
    run(count, const_cast<void*>(static_cast<const void*>(&body)),
        [](void* fn, std::size_t index, std::size_t worker) {
          (*static_cast<Fn*>(fn))(index, worker);
        });
  }

 private:
  using Thunk = void (*)(void*, std::size_t, std::size_t);
  void run(std::size_t count, void* body, Thunk thunk);

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace offramp
