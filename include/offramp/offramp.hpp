// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The usual includes of a C++ program: one tensor in one call, pipelines, jobs over files,
/// archives.

#include <offramp/codec/codec.hpp>
#include <offramp/compress.hpp>
#include <offramp/container/archive_reader.hpp>
#include <offramp/container/archive_writer.hpp>
#include <offramp/core/compare.hpp>
#include <offramp/core/error.hpp>
#include <offramp/core/result.hpp>
#include <offramp/core/tensor_view.hpp>
#include <offramp/device/device_table.hpp>
#include <offramp/engine/archive_sink.hpp>
#include <offramp/engine/archive_source.hpp>
#include <offramp/engine/jobs.hpp>
#include <offramp/engine/offloader.hpp>
#include <offramp/engine/pipeline.hpp>
#include <offramp/transport/memory_sink.hpp>
#include <offramp/transport/memory_source.hpp>
#include <offramp/transport/transport.hpp>
