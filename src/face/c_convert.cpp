// SPDX-License-Identifier: Apache-2.0
#include "face/c_convert.hpp"

#include "core/checks.hpp"

#include <offramp/core/error.hpp>
#include <offramp/engine/pipeline.hpp>

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

namespace offramp::face {
namespace {

thread_local std::string error_text;

ofr_status keep(ofr_status status, const char* text) noexcept {
  try {
    error_text = text;
  } catch (...) {
    error_text.clear();
  }
  return status;
}

}  // namespace

static_assert(static_cast<int>(ErrorCode::device) == OFR_DEVICE);
static_assert(static_cast<int>(ErrorCode::truncated) == OFR_TRUNCATED);
static_assert(static_cast<int>(DType::u64) == OFR_U64);
static_assert(Shape::max_rank == OFR_MAX_RANK);

const char* last_error() noexcept { return error_text.c_str(); }

ofr_status keep_error() noexcept {
  try {
    throw;
  } catch (const DataError& error) {
    return keep(static_cast<ofr_status>(error.error().code), error.what());
  } catch (const MachineError& error) {
    return keep(static_cast<ofr_status>(error.error().code), error.what());
  } catch (const LogicError& error) {
    return keep(OFR_LOGIC, error.what());
  } catch (const std::bad_alloc&) {
    return keep(OFR_OUT_OF_MEMORY, "no memory left");
  } catch (const std::exception& error) {
    return keep(OFR_UNEXPECTED, error.what());
  } catch (...) {
    return keep(OFR_UNEXPECTED, "an exception of unknown type");
  }
}

TensorDesc to_desc(const ofr_tensor_desc& desc) {
  const auto dtype =
      desc.dtype <= max_dtype ? dtype_from_id(static_cast<std::uint8_t>(desc.dtype)) : std::nullopt;
  OFFRAMP_EXPECTS(dtype, "no dtype has that number");
  OFFRAMP_EXPECTS(desc.rank <= Shape::max_rank, "rank is above OFR_MAX_RANK");
  const TensorDesc tensor{.dtype = *dtype, .shape = Shape(std::span(desc.extents, desc.rank))};
  OFFRAMP_EXPECTS(tensor.checked_size(), "the tensor's size does not fit 64 bits");
  return tensor;
}

ofr_tensor_desc from_desc(const TensorDesc& desc) {
  ofr_tensor_desc to{.dtype = static_cast<std::uint32_t>(desc.dtype),
                     .rank = static_cast<std::uint32_t>(desc.shape.rank()),
                     .extents = {}};
  std::ranges::copy(desc.shape.extents(), to.extents);
  return to;
}

ofr_options with_defaults(const ofr_options* options) {
  ofr_options set{};
  if (options) {
    OFFRAMP_EXPECTS(options->struct_size >= sizeof(std::size_t),
                    "ofr_options.struct_size is not set to sizeof(ofr_options)");
    // A program built against an older header has a shorter struct; what it lacks stays zero.
    std::memcpy(&set, options, std::min(options->struct_size, sizeof set));
  }
  set.struct_size = sizeof set;
  const PipelineSettings defaults;
  if (!set.codec) set.codec = "exact";
  if (set.chunk_size == 0) set.chunk_size = defaults.chunk_size;
  if (set.host_slots == 0) set.host_slots = defaults.host_slots;
  return set;
}

}  // namespace offramp::face
