// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace offramp::cli {

/// Puts something that cannot be used in the place of a standard stream that is closed. Otherwise
/// the next file to be opened would get its number, and messages would be written into it.
void hold_standard_streams() noexcept;

/// Writes to stderr as far as that goes: nobody to tell is no reason to fail.
void say(std::string_view text) noexcept;

/// Writes to stdout and flushes. @throws IoError.
void put_out(std::string_view text);

}  // namespace offramp::cli
