// SPDX-License-Identifier: Apache-2.0
#include "codec/store/store.hpp"
#include "codec/tiles/tile_stages.hpp"

#include <offramp/codec/stage.hpp>

#include <algorithm>
#include <array>

namespace offramp {

std::span<const StageRow> stage_table() noexcept {
  static const std::array rows{store_stage(), exact_stage(), exact_dense_stage()};
  return rows;
}

const StageRow* find_stage(StageId id) noexcept {
  const auto rows = stage_table();
  const auto row = std::ranges::find(rows, id, &StageRow::id);
  return row == rows.end() ? nullptr : &*row;
}

const StageRow* find_stage(std::string_view name) noexcept {
  const auto rows = stage_table();
  const auto row = std::ranges::find(rows, name, &StageRow::name);
  return row == rows.end() ? nullptr : &*row;
}

}  // namespace offramp
