// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dlpack.hpp"

#include <offramp/core/dtype.hpp>

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace offramp::python {

namespace nb = nanobind;

/// Somebody else's array, lent through DLPack.
///
/// Its owner is told that it is done only by `release_finished`, with the GIL: any thread may drop
/// the last reference, and most of offramp's threads must never wait for Python.
class HeldArray {
 public:
  HeldArray(const HeldArray&) = delete;
  HeldArray& operator=(const HeldArray&) = delete;

  [[nodiscard]] const std::byte* data() const noexcept;
  [[nodiscard]] dlpack::Device device() const noexcept { return tensor_->device; }
  [[nodiscard]] std::vector<std::uint64_t> shape() const;
  /// In elements.
  [[nodiscard]] std::vector<std::int64_t> strides() const;
  [[nodiscard]] bool is_contiguous() const;

  /// @throws nb::type_error for a type that offramp does not have.
  [[nodiscard]] DType dtype() const;

 private:
  friend std::shared_ptr<const HeldArray> hold(nb::handle array, void* stream);
  friend void release_finished() noexcept;
  HeldArray() = default;

  const dlpack::Tensor* tensor_{};
  dlpack::Managed* managed_{};
  dlpack::ManagedVersioned* versioned_{};
  HeldArray* next_{};
};

/// Where an array is, by its own word. @throws nb::type_error for what is no array.
[[nodiscard]] dlpack::Device device_of(nb::handle array);

/// Borrows the array. One on a GPU is ready when `stream`, the CUDA stream that will read it, gets
/// past what its owner has put there; null for arrays of the host.
[[nodiscard]] std::shared_ptr<const HeldArray> hold(nb::handle array, void* stream);

/// Gives back the arrays that nobody uses any more. With the GIL.
void release_finished() noexcept;

[[nodiscard]] dlpack::DataType dlpack_type(DType dtype) noexcept;

}  // namespace offramp::python
