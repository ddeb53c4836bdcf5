// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/tensor_view.hpp>
#include <offramp/offramp.h>

#include <exception>

namespace offramp::face {

/// What failed last on this thread, or "".
[[nodiscard]] const char* last_error() noexcept;

/// Keeps the exception in flight as this thread's last error and gives its number.
[[nodiscard]] ofr_status keep_error() noexcept;

/// Runs the body of a C function; nothing it throws passes.
template <class Body>
[[nodiscard]] ofr_status guarded(Body&& body) noexcept {
  try {
    body();
    return OFR_OK;
  } catch (...) {
    return keep_error();
  }
}

/// @throws LogicError for a dtype or rank that there is not, or a size over 64 bits.
[[nodiscard]] TensorDesc to_desc(const ofr_tensor_desc& desc);
[[nodiscard]] ofr_tensor_desc from_desc(const TensorDesc& desc);

/// The options with nothing left at its default; fields that the caller's struct lacks too.
/// @throws LogicError if struct_size was not set.
[[nodiscard]] ofr_options with_defaults(const ofr_options* options);

}  // namespace offramp::face
