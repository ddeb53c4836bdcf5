// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/folder/manifest.hpp"

#include <offramp/core/result.hpp>

#include <optional>
#include <string>

namespace offramp {

/// The manifest of the folder, or nothing where it has none. @throws IoError.
Result<std::optional<Manifest>> read_manifest(const std::string& folder);

}  // namespace offramp
