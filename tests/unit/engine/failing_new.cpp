// SPDX-License-Identifier: Apache-2.0
#include "unit/engine/failing_new.hpp"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::size_t> calls{0};
std::atomic<std::size_t> failing{SIZE_MAX};
std::atomic<bool> failed{false};

void* allocate(std::size_t size, std::size_t alignment) noexcept {
  const std::size_t call = calls.fetch_add(1);
  if (call == failing.load()) {
    failed = true;
    return nullptr;
  }
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, size == 0 ? 1 : size) != 0) return nullptr;
  return memory;
}

void* checked(void* memory) {
  if (!memory) throw std::bad_alloc();
  return memory;
}

constexpr std::size_t usual = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

}  // namespace

namespace offramp::testing_engine {

std::size_t allocations() noexcept { return calls.load(); }
void fail_allocation_after(std::size_t skip) noexcept {
  failed = false;
  failing = skip == SIZE_MAX ? SIZE_MAX : calls.load() + skip;
}
bool allocation_failed() noexcept { return failed.load(); }

}  // namespace offramp::testing_engine

void* operator new(std::size_t size) { return checked(allocate(size, usual)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return checked(allocate(size, static_cast<std::size_t>(alignment)));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return allocate(size, usual);
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
