// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/tiles/cuda/batch.cuh"
#include "codec/tiles/tile.hpp"
#include "codec/tiles/tiling.hpp"

#include <offramp/core/tensor_view.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace offramp::tiles::gpu {

/// Counts the tiles, records and pieces of work of a batch, and fills its chunks.
class Plan {
 public:
  explicit Plan(const Coding& coding) noexcept : coding_(coding) {}

  /// Counts a chunk. All are counted before any is filled.
  /// @throws LogicError for a chunk too large for the frame or a batch too large for 32 bits.
  void count(const TensorDesc& desc);

  /// The next chunk in the order of counting, without addresses.
  [[nodiscard]] Chunk fill(const TensorDesc& desc);

  [[nodiscard]] std::uint32_t chunks() const noexcept { return chunks_; }

  /// Whether the chunk is nothing but full tiles of bf16, one behind the other.
  [[nodiscard]] bool is_flat(const Chunk& chunk) const noexcept;

  /// Bytes of device memory: records, scratch of the general coders, and the table of chunks where
  /// they do not travel with the launches.
  [[nodiscard]] std::size_t device_size() const noexcept;
  /// Bytes of page-locked host memory from which the table is copied.
  [[nodiscard]] std::size_t host_size() const noexcept;

  /// Sets all of a batch but its chunks and `is_flat`, once these are filled. `device` has
  /// `device_size()`.
  void complete(std::byte* device, Batch& batch) const noexcept;
  [[nodiscard]] std::byte* table_in(std::byte* device) const noexcept;

 private:
  void look_at(const TensorDesc& desc);
  void place_staging(const TensorDesc& desc, const Tiling& tiling, Chunk& chunk) const;
  [[nodiscard]] std::uint32_t work_tiles() const noexcept;
  [[nodiscard]] std::uint32_t rest_blocks() const noexcept;
  [[nodiscard]] std::size_t records_size() const noexcept;
  [[nodiscard]] std::size_t scratch_size() const noexcept;

  Coding coding_;
  std::size_t block_scratch_{};
  std::uint32_t chunks_{};
  std::uint32_t tiles_{};
  std::uint32_t records_{};
  std::uint32_t first_chunk_tiles_{};
  bool all_alike_{true};
  // The chunk of the description last seen: paged caches have thousands alike.
  TensorDesc seen_{};
  Chunk seen_chunk_{};
  // What has been filled.
  std::uint32_t filled_tiles_{};
  std::uint32_t filled_records_{};
  std::uint32_t filled_works_{};
};

}  // namespace offramp::tiles::gpu
