// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace offramp {

/// Whether the text is UTF-8 as the Unicode Standard defines it: no overlong forms, no surrogates,
/// nothing beyond U+10FFFF. NUL is allowed.
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

}  // namespace offramp
