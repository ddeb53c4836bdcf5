// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace offramp {

/// Keeps what FFmpeg's libraries have to say off standard error, for the whole process, and
/// remembers the last error of it for our own messages.
void take_over_av_log();

/// The last error line since this was called last; empty where there was none.
[[nodiscard]] std::string last_av_error();

/// Words for FFmpeg's number of an error.
[[nodiscard]] std::string av_words(int code);

}  // namespace offramp
