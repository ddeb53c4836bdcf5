// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/codec/stage.hpp>
#include <offramp/core/result.hpp>
#include <offramp/core/tensor_view.hpp>
#include <offramp/core/workers.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace offramp {

/// A named chain of stages with their parameters.
///
/// Today's codecs (`store`, `exact`, `exact-dense`) have one stage each; the archive and these
/// calls carry chains of up to `max_stages`. A value type.
class Codec {
 public:
  static constexpr std::size_t max_stages = 8;

  struct Step {
    StageId stage{};
    std::vector<std::byte> params{};
    friend bool operator==(const Step&, const Step&) = default;
  };

  /// The codec of that name: "store", "exact" or "exact-dense".
  static Result<Codec> from_name(std::string_view name);

  /// Reads a chain as `serialize` writes it; refuses unknown stages, by number, and bad lengths.
  static Result<Codec> parse(std::span<const std::byte> bytes);

  /// The chain as records hold it (docs/format.md, Codec chain).
  [[nodiscard]] std::vector<std::byte> serialize() const;

  /// The codec's name, or the stages joined by "+" where the chain has none.
  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::span<const Step> steps() const noexcept { return steps_; }

  /// Largest size that `encode` may need in `out`; never less than the stored tensor.
  [[nodiscard]] std::size_t max_encoded_size(const TensorDesc& desc) const;
  [[nodiscard]] std::size_t encode_scratch_size(const TensorDesc& desc, std::size_t workers) const;
  [[nodiscard]] std::size_t decode_scratch_size(const TensorDesc& desc, std::size_t workers) const;

  struct Encoded {
    std::size_t size{};
    bool stored{};  ///< the chain did not shrink the chunk: `out` holds it as `store` would
  };

  /// Codes one chunk into `out`. Allocates nothing; a chunk that does not shrink is stored.
  /// @throws LogicError if `out` or `scratch` is too small or the view contradicts itself.
  Encoded encode(TensorView in, std::span<std::byte> out, std::span<std::byte> scratch,
                 Workers& workers) const;

  /// Decodes elements `first_elem` and on of the chunk `desc` into `out`. `in` is untrusted.
  Result<void> decode(std::span<const std::byte> in, const TensorDesc& desc,
                      std::uint64_t first_elem, std::span<std::byte> out,
                      std::span<std::byte> scratch, Workers& workers) const;

  friend bool operator==(const Codec&, const Codec&) = default;

 private:
  std::vector<Step> steps_;
};

}  // namespace offramp
