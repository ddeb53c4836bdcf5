// SPDX-License-Identifier: Apache-2.0
#include "core/bytes.hpp"
#include "engine/job.hpp"

#include <offramp/container/archive_writer.hpp>
#include <offramp/engine/archive_sink.hpp>
#include <offramp/engine/jobs.hpp>
#include <offramp/engine/pipeline.hpp>

#include <fmt/format.h>

#include <chrono>
#include <unordered_set>
#include <utility>
#include <vector>

namespace offramp {
namespace {

// Fills slots from the source. Small tensors share a slot, but never so many that a short job
// would be one chunk and keep one coder busy.
class PackReader {
 public:
  PackReader(TensorSource& source, Pipeline& pipeline, const JobSettings& settings)
      : source_(&source), pipeline_(&pipeline), settings_(&settings) {}

  void read_all() {
    const auto tensors = source_->tensors();
    for (std::size_t tensor = 0; tensor < tensors.size(); ++tensor) {
      const PartPlan plan(tensors[tensor].desc, settings_->chunk_size);
      for (std::uint64_t part = 0; part < plan.count(); ++part) read(tensor, plan[part]);
    }
    submit();
  }

 private:
  void read(std::size_t tensor, const Part& part) {
    const std::size_t size = part.desc.size();
    std::size_t offset = round_up(used_, Pipeline::part_alignment);
    if (!parts_.empty() &&
        (used_ >= settings_->chunk_size / 8 || offset + size > settings_->chunk_size)) {
      submit();
      offset = 0;
    }
    if (parts_.empty()) slot_ = pipeline_->acquire();
    const std::uint64_t start = Trace::now_ns();
    if (size != 0) source_->read(tensor, part.first_elem, slot_.bytes().subspan(offset, size));
    if (settings_->trace) {
      settings_->trace->add({.stage = "read",
                             .thread = 0,
                             .chunk = chunk_,
                             .bytes = size,
                             .start_ns = start,
                             .end_ns = Trace::now_ns()});
    }
    const TensorInfo& info = source_->tensors()[tensor];
    parts_.push_back({.name = info.name, .tensor = info.desc, .part = part});
    used_ = offset + size;
  }

  void submit() {
    if (parts_.empty()) return;
    static_cast<void>(pipeline_->submit(std::move(slot_), parts_));
    parts_.clear();
    used_ = 0;
    ++chunk_;
  }

  TensorSource* source_;
  Pipeline* pipeline_;
  const JobSettings* settings_;
  Pipeline::Slot slot_;
  std::vector<TensorPart> parts_;
  std::size_t used_{0};
  std::uint64_t chunk_{1};
};

Result<std::uint64_t> check_tensors(const TensorSource& source) {
  std::unordered_set<std::string_view> names;
  std::uint64_t total = 0;
  for (const TensorInfo& info : source.tensors()) {
    if (!names.insert(info.name).second) {
      return Error{.code = ErrorCode::duplicate,
                   .what = fmt::format("two tensors have the name '{}'", info.name),
                   .path = source.name(),
                   .remedy = "rename one of them"};
    }
    const auto size = info.desc.checked_size();
    if (!size || __builtin_add_overflow(total, *size, &total)) {
      return Error{.code = ErrorCode::limit_exceeded,
                   .what = fmt::format("tensor '{}' {} is too large for any file", info.name,
                                       info.desc.shape.to_string()),
                   .path = source.name(),
                   .remedy = {}};
    }
  }
  return total;
}

}  // namespace

Result<JobReport> pack(TensorSource& source, ArchiveWriter& writer, const Codec& codec,
                       const JobSettings& settings) {
  OFFRAMP_TRY(total, check_tensors(source));
  return run_job([&]() -> JobReport {
    if (!source.metadata().empty()) writer.append_metadata(source.metadata());
    PipelineSettings pipeline_settings{
        .device = nullptr,
        .chunk_size = settings.chunk_size,
        .device_slots = 0,
        .host_slots = settings.host_slots,
        .coded_slots = settings.coded_slots,
        .threads = settings.threads,
        .workers = settings.workers,
        .overflow = Overflow::block,
        .on_progress = progress_for(settings, total),
        .trace = settings.trace,
        // The writer and the source are the caller's: no thread may be left behind with them.
        .abandon_after = std::chrono::milliseconds::max()};
    Pipeline pipeline(std::move(pipeline_settings), codec,
                      std::make_shared<ArchiveSink>(writer, codec));
    const std::stop_callback on_cancel(settings.cancel, [&] { pipeline.cancel(); });
    PackReader(source, pipeline, settings).read_all();
    pipeline.close();
    return {.tensors = source.tensors().size(), .skipped = {}, .counters = pipeline.counters()};
  });
}

}  // namespace offramp
