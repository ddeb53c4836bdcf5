// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/stage_checks.hpp"
#include "codec/tiles/frame.hpp"
#include "codec/tiles/tile.hpp"
#include "core/checks.hpp"

#include <offramp/codec/stage.hpp>

#include <string_view>

namespace offramp::tiles {

/// What a stage made of tiles is, besides its tile code.
struct TileStageName {
  StageId id{};
  std::string_view name{};
  const TileCoder& (*coder)() noexcept {};
};

/// The stage row of a tile code in the frame. `names` is a function, so that it can be a template
/// argument: a row holds bare function pointers.
template <TileStageName (*names)() noexcept>
StageRow tile_stage() noexcept {
  return {.id = names().id,
          .name = names().name,
          .first_format_version = 1,
          .max_encoded_size = max_encoded_size,
          .encode_scratch_size =
              [](const TensorDesc& desc, std::size_t workers) {
                return encode_scratch_size(names().coder(), desc, workers);
              },
          .decode_scratch_size =
              [](const TensorDesc& desc, std::size_t workers) {
                return decode_scratch_size(names().coder(), desc, workers);
              },
          .encode =
              [](const EncodeArgs& args) {
                check_encode(tile_stage<names>(), args);
                OFFRAMP_EXPECTS(args.params.empty(), "this stage takes no parameters");
                return encode_chunk(names().coder(), args);
              },
          .decode = [](const DecodeArgs& args) -> Result<void> {
            OFFRAMP_TRY_VOID(check_decode(tile_stage<names>(), args));
            OFFRAMP_TRY_VOID(check_no_params(tile_stage<names>(), args.params));
            return decode_chunk(names().coder(), args);
          }};
}

}  // namespace offramp::tiles
