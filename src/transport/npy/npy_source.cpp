// SPDX-License-Identifier: Apache-2.0
#include "transport/npy/npy_source.hpp"

#include "transport/npy/npy_header.hpp"
#include "transport/one_tensor_source.hpp"
#include "transport/tensor_checks.hpp"

#include <offramp/core/file.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace offramp {

Result<std::unique_ptr<TensorSource>> open_npy_source(const std::string& path) {
  InputFile file(path);
  OFFRAMP_TRY_VOID(expect_not_empty(file));
  std::vector<std::byte> front(std::min<std::uint64_t>(file.size(), max_npy_header_size));
  file.read(0, front);
  OFFRAMP_TRY(header, parse_npy_header(front, file.size()));
  return OneTensorSource::make(std::move(file), header.desc, header.data);
}

}  // namespace offramp
