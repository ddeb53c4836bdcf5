// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/error.hpp>

/// Throws LogicError where a precondition that the calling program owes is broken.
#define OFFRAMP_EXPECTS(condition, what)                 \
  do {                                                   \
    if (!(condition)) throw ::offramp::LogicError(what); \
  } while (false)
