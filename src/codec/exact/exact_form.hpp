// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/exact/exact_bases.hpp"
#include "codec/exact/exact_kernels.hpp"
#include "codec/exact/exact_workspace.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace offramp::exact {

/// n values in rows of `width`.
struct Extent {
  std::size_t n{};
  std::size_t width{};
};

/// Writes the sections of `form` for the planes in `work`: `form_size` bytes to `body`, and the
/// heap. `bases` are for the tiered plane, if there is one. Returns the heap's size.
std::size_t encode_form(const Kernels& kernels, const Form& form, const BaseSet& bases,
                        Extent extent, std::byte* body, std::byte* heap, const Workspace& work);

/// Restores the values that the planes make. The spans are untrusted; `form` must be sound. Bases
/// of their own for the channels are refused unless `by_channel`. Where false is returned, some
/// values may have been written.
bool decode_form(const Kernels& kernels, DType dtype, const Form& form, bool by_channel,
                 Extent extent, std::span<const std::byte> body, std::span<const std::byte> heap,
                 tiles::Lines values, const Workspace& work);

/// Writes `form_header_size` bytes.
void write_form_header(const Form& form, std::byte* to) noexcept;

/// Nothing where no encoder writes such a header for that dtype. `from` has `form_header_size`.
[[nodiscard]] std::optional<Form> read_form_header(const PlaneView& view,
                                                   std::span<const std::byte> from) noexcept;

}  // namespace offramp::exact
