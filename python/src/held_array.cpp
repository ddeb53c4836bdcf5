// SPDX-License-Identifier: Apache-2.0
#include "held_array.hpp"

#include <array>
#include <atomic>
#include <string>

namespace offramp::python {
namespace {

// Arrays that are done, for the next call that has the GIL.
std::atomic<HeldArray*> finished{};

struct TypeRow {
  dlpack::DataType type;
  DType dtype;
};

constexpr std::array<TypeRow, 15> types{{
    {{dlpack::bfloat, 16, 1}, DType::bf16},
    {{dlpack::floating, 16, 1}, DType::fp16},
    {{dlpack::floating, 32, 1}, DType::fp32},
    {{dlpack::floating, 64, 1}, DType::fp64},
    {{dlpack::float8_e4m3fn, 8, 1}, DType::fp8_e4m3},
    {{dlpack::float8_e5m2, 8, 1}, DType::fp8_e5m2},
    {{dlpack::unsigned_integer, 8, 1}, DType::u8},
    {{dlpack::unsigned_integer, 16, 1}, DType::u16},
    {{dlpack::unsigned_integer, 32, 1}, DType::u32},
    {{dlpack::unsigned_integer, 64, 1}, DType::u64},
    {{dlpack::integer, 8, 1}, DType::i8},
    {{dlpack::integer, 16, 1}, DType::i16},
    {{dlpack::integer, 32, 1}, DType::i32},
    {{dlpack::integer, 64, 1}, DType::i64},
    {{dlpack::boolean, 8, 1}, DType::boolean},
}};

nb::object export_of(nb::handle array, void* stream) {
  const nb::object method = array.attr("__dlpack__");
  nb::dict with;
  if (stream) with["stream"] = reinterpret_cast<std::uintptr_t>(stream);
  nb::dict versioned;
  versioned.update(with);
  versioned["max_version"] = nb::make_tuple(1, 0);
  try {
    return method(**versioned);
  } catch (const nb::python_error& error) {
    // Libraries from before version 1.0 do not know the argument.
    if (!error.matches(PyExc_TypeError)) throw;
  }
  return method(**with);
}

}  // namespace

const std::byte* HeldArray::data() const noexcept {
  return static_cast<const std::byte*>(tensor_->data) + tensor_->byte_offset;
}

std::vector<std::uint64_t> HeldArray::shape() const {
  return {tensor_->shape, tensor_->shape + tensor_->ndim};
}

std::vector<std::int64_t> HeldArray::strides() const {
  if (tensor_->strides) return {tensor_->strides, tensor_->strides + tensor_->ndim};
  std::vector<std::int64_t> strides(static_cast<std::size_t>(tensor_->ndim));
  std::int64_t stride = 1;
  for (std::size_t axis = strides.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= tensor_->shape[axis];
  }
  return strides;
}

bool HeldArray::is_contiguous() const {
  if (!tensor_->strides) return true;
  std::int64_t stride = 1;
  bool fits = true;
  for (std::int32_t axis = tensor_->ndim; axis-- > 0;) {
    if (tensor_->shape[axis] == 0) return true;
    fits = fits && (tensor_->shape[axis] == 1 || tensor_->strides[axis] == stride);
    stride *= tensor_->shape[axis];
  }
  return fits;
}

DType HeldArray::dtype() const {
  const dlpack::DataType& type = tensor_->dtype;
  for (const TypeRow& row : types) {
    if (row.type.code == type.code && row.type.bits == type.bits && row.type.lanes == type.lanes) {
      return row.dtype;
    }
  }
  throw nb::type_error("an array's type is none that offramp has: see docs/format.md, dtypes");
}

dlpack::DataType dlpack_type(DType dtype) noexcept {
  for (const TypeRow& row : types) {
    if (row.dtype == dtype) return row.type;
  }
  return {};
}

dlpack::Device device_of(nb::handle array) {
  if (!nb::hasattr(array, "__dlpack_device__")) {
    const std::string what = nb::type_name(array.type()).c_str();
    throw nb::type_error((what + " is no array: it has no __dlpack__").c_str());
  }
  const nb::tuple place(array.attr("__dlpack_device__")());
  if (place.size() != 2) throw nb::type_error("an array's __dlpack_device__ gave no pair");
  // The first may be an enumerator.
  return {nb::cast<int>(nb::int_(place[0])), nb::cast<int>(nb::int_(place[1]))};
}

std::shared_ptr<const HeldArray> hold(nb::handle array, void* stream) {
  const nb::object capsule = export_of(array, stream);
  std::unique_ptr<HeldArray> held(new HeldArray);
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned")) {
    auto* const managed = static_cast<dlpack::ManagedVersioned*>(
        PyCapsule_GetPointer(capsule.ptr(), "dltensor_versioned"));
    if (managed->major != 1) throw nb::type_error("an array speaks a later DLPack than 1.x");
    held->versioned_ = managed;
    held->tensor_ = &managed->tensor;
  } else if (PyCapsule_IsValid(capsule.ptr(), "dltensor")) {
    held->managed_ = static_cast<dlpack::Managed*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
    held->tensor_ = &held->managed_->tensor;
  } else {
    throw nb::type_error("an array's __dlpack__ gave no DLPack capsule");
  }
  std::shared_ptr<const HeldArray> shared(held.get(), [](const HeldArray* done) {
    auto* const array_done = const_cast<HeldArray*>(done);
    array_done->next_ = finished.load(std::memory_order_relaxed);
    while (!finished.compare_exchange_weak(array_done->next_, array_done, std::memory_order_release,
                                           std::memory_order_relaxed)) {
    }
  });
  // The array is ours from here on: the capsule's own end must leave it alone.
  PyCapsule_SetName(capsule.ptr(), held->versioned_ ? "used_dltensor_versioned" : "used_dltensor");
  static_cast<void>(held.release());
  return shared;
}

void release_finished() noexcept {
  HeldArray* next = finished.exchange(nullptr, std::memory_order_acquire);
  while (next) {
    const std::unique_ptr<HeldArray> done(next);
    next = done->next_;
    if (done->versioned_ && done->versioned_->deleter) done->versioned_->deleter(done->versioned_);
    if (done->managed_ && done->managed_->deleter) done->managed_->deleter(done->managed_);
  }
}

}  // namespace offramp::python
