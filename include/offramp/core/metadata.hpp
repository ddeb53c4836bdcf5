// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace offramp {

/// Key-value text that travels with a file's tensors, such as safetensors' `__metadata__`: UTF-8,
/// no key twice, in the order of the file, so that a restored file can equal the original byte for
/// byte.
using Metadata = std::vector<std::pair<std::string, std::string>>;

}  // namespace offramp
