// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/dtype.hpp>
#include <offramp/core/result.hpp>
#include <offramp/core/shape.hpp>
#include <offramp/transport/tensor_sink.hpp>
#include <offramp/transport/tensor_source.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace offramp {

/// How to open a source. What is empty follows from the path.
struct SourceOptions {
  std::string format{};          ///< "safetensors", "npy", "raw" or "folder"; empty: by extension
  std::optional<DType> dtype{};  ///< of a raw file, which must state it; refused for the others
  std::optional<Shape> shape{};  ///< of a raw file; absent: one axis as long as the file
};

/// How to make a sink.
struct SinkOptions {
  std::string format{};   ///< as above
  bool overwrite{false};  ///< replace what stands under the path
};

/// What `open_source` and `make_sink` take a path for: "safetensors", "npy", "raw" or "folder".
/// Refuses what they refuse by path and options alone (`unsupported`), whatever is there.
[[nodiscard]] Result<std::string_view> source_format(const std::string& path,
                                                     const SourceOptions& options = {});
[[nodiscard]] Result<std::string_view> sink_format(const std::string& path,
                                                   const SinkOptions& options = {});

/// Opens the tensors at `path` and checks the file as a whole but for its values.
///
/// Formats: `.safetensors`; `.npy` (one tensor, named after the file); `.bin` and `.raw` (likewise,
/// of the dtype and shape given); a folder, either one that a folder sink wrote or any whose
/// `.safetensors` and `.npy` files together name no tensor twice. Of such a folder, metadata whose
/// values differ from file to file is kept for each, under "FILE:KEY".
/// @throws IoError where the system fails; all that is wrong with the bytes is in the Result.
[[nodiscard]] Result<std::unique_ptr<TensorSource>> open_source(const std::string& path,
                                                                const SourceOptions& options = {});

/// Makes the sink for `path`; nothing is created before its `begin`.
///
/// The formats are those of open_source; a path that ends in '/', is a folder or has no extension
/// is a folder of one file a tensor: `.npy` where npy has the dtype, else `.safetensors`, and a
/// list of them (`offramp.json`). Tensor names become file names that cannot leave the folder.
/// `.npy`, `.bin` and `.raw` hold one tensor and neither its name nor metadata.
[[nodiscard]] Result<std::unique_ptr<TensorSink>> make_sink(const std::string& path,
                                                            const SinkOptions& options = {});

}  // namespace offramp
