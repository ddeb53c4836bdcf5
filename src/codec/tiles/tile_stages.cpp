// SPDX-License-Identifier: Apache-2.0
#include "codec/tiles/tile_stages.hpp"

#include "codec/tiles/tile_stage.hpp"

namespace offramp {
namespace {

tiles::TileStageName exact_name() noexcept {
  return {.id = StageId::exact, .name = "exact", .coder = tiles::exact_tile_coder};
}

tiles::TileStageName exact_dense_name() noexcept {
  return {
      .id = StageId::exact_dense, .name = "exact-dense", .coder = tiles::exact_dense_tile_coder};
}

}  // namespace

StageRow exact_stage() noexcept { return tiles::tile_stage<exact_name>(); }

StageRow exact_dense_stage() noexcept { return tiles::tile_stage<exact_dense_name>(); }

}  // namespace offramp
