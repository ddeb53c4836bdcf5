// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/result.hpp>
#include <offramp/core/shape.hpp>

#include <string>
#include <string_view>

namespace offramp {

/// What the dictionary in an .npy header says, not yet judged.
struct NpyDict {
  std::string descr{};
  bool structured{false};  ///< `descr` was a list of fields, or a tuple
  bool fortran_order{false};
  Shape shape{};
};

/// Reads the Python literal of an .npy header: a dictionary with the three keys, each once.
Result<NpyDict> parse_npy_dict(std::string_view text);

}  // namespace offramp
