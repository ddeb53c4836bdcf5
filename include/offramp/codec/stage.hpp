// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/result.hpp>
#include <offramp/core/tensor_view.hpp>
#include <offramp/core/workers.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace offramp {

/// Number of a stage in archives. Never reused, never renumbered.
enum class StageId : std::uint16_t {
  store = 1,
  exact = 2,
  exact_dense = 3,
};

/// What an encode call reads and writes. The bytes it makes are a function of `in` and `params`
/// alone.
struct EncodeArgs {
  TensorView in{};                      ///< the chunk: contiguous, row-major
  std::span<const std::byte> params{};  ///< the stage's parameters, as an archive holds them
  std::span<std::byte> out{};           ///< at least `max_encoded_size(in.desc)`
  std::span<std::byte> scratch{};  ///< at least `encode_scratch_size(in.desc, workers->size())`
  Workers* workers{};              ///< threads to share the blocks
};

/// What a decode call reads and writes: elements `first_elem` and on, as many as `out` holds.
struct DecodeArgs {
  std::span<const std::byte> in{};      ///< the coded chunk, whole; untrusted
  TensorDesc desc{};                    ///< of the whole chunk
  std::span<const std::byte> params{};  ///< untrusted
  std::uint64_t first_elem{0};     ///< blocks that hold none of the wanted elements are not read
  std::span<std::byte> out{};      ///< a whole number of elements; nothing outside is written
  std::span<std::byte> scratch{};  ///< at least `decode_scratch_size(desc, workers->size())`
  Workers* workers{};
};

/// One row of the stage table: a stage's number, name, and its functions on the host device.
///
/// The host functions are the definition; another device's must give the same bytes. None
/// allocates. Encode and the sizing calls throw LogicError on a broken precondition; decode returns
/// what is wrong with the bytes and never reads or writes outside its spans, whatever they hold.
struct StageRow {
  StageId id{};
  std::string_view name{};
  std::uint16_t first_format_version{};

  std::size_t (*max_encoded_size)(const TensorDesc& desc){};
  std::size_t (*encode_scratch_size)(const TensorDesc& desc, std::size_t workers){};
  std::size_t (*decode_scratch_size)(const TensorDesc& desc, std::size_t workers){};
  std::size_t (*encode)(const EncodeArgs& args){};  ///< returns the size written to `out`
  Result<void> (*decode)(const DecodeArgs& args){};
};

/// All stages of this build, by ascending number.
[[nodiscard]] std::span<const StageRow> stage_table() noexcept;

/// The row with that number or name, or nullptr.
[[nodiscard]] const StageRow* find_stage(StageId id) noexcept;
[[nodiscard]] const StageRow* find_stage(std::string_view name) noexcept;

}  // namespace offramp
