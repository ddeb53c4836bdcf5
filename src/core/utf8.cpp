// SPDX-License-Identifier: Apache-2.0
#include "core/utf8.hpp"

namespace offramp {

bool is_utf8(std::string_view text) noexcept {
  const auto* at = reinterpret_cast<const unsigned char*>(text.data());
  const auto* const end = at + text.size();
  while (at != end) {
    const unsigned first = *at++;
    if (first < 0x80) continue;
    if (first < 0xc2 || first > 0xf4) return false;
    const int more = first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
    if (end - at < more) return false;
    // The second byte alone tells overlong forms, surrogates and what is beyond U+10FFFF.
    const unsigned low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    const unsigned high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (*at < low || *at > high) return false;
    for (int i = 1; i < more; ++i) {
      if ((at[i] & 0xc0) != 0x80) return false;
    }
    at += more;
  }
  return true;
}

}  // namespace offramp
