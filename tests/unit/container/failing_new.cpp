// SPDX-License-Identifier: Apache-2.0
#include "unit/container/failing_new.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace offramp::test {
namespace {

std::size_t countdown = 0;
bool failed = false;
std::size_t live = 0;
std::size_t largest = 0;
std::size_t count = 0;

void* allocate(std::size_t size) {
  largest = std::max(largest, size);
  ++count;
  if (countdown > 0 && --countdown == 0) {
    failed = true;
    throw std::bad_alloc();
  }
  void* block = std::malloc(std::max<std::size_t>(size, 1));
  if (!block) throw std::bad_alloc();
  ++live;
  return block;
}

void release(void* block) noexcept {
  if (block) --live;
  std::free(block);
}

}  // namespace

void fail_allocation(std::size_t nth) noexcept {
  countdown = nth;
  failed = false;
  largest = 0;
  count = 0;
}

bool allocation_failed() noexcept { return failed; }
std::size_t live_allocations() noexcept { return live; }
std::size_t largest_allocation() noexcept { return largest; }
std::size_t allocation_count() noexcept { return count; }

}  // namespace offramp::test

void* operator new(std::size_t size) { return offramp::test::allocate(size); }
void* operator new[](std::size_t size) { return offramp::test::allocate(size); }
void operator delete(void* block) noexcept { offramp::test::release(block); }
void operator delete[](void* block) noexcept { offramp::test::release(block); }
void operator delete(void* block, std::size_t) noexcept { offramp::test::release(block); }
void operator delete[](void* block, std::size_t) noexcept { offramp::test::release(block); }
