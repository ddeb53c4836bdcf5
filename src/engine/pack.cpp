// SPDX-License-Identifier: Apache-2.0
#include "core/bytes.hpp"
#include "engine/job.hpp"
#include "engine/upload_slots.hpp"

#include <offramp/container/archive_writer.hpp>
#include <offramp/device/device_table.hpp>
#include <offramp/engine/archive_sink.hpp>
#include <offramp/engine/jobs.hpp>
#include <offramp/engine/pipeline.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

namespace offramp {
namespace {

// Host slots of a pipeline. Small tensors share a slot, but never so many that a short job would be
// one chunk and keep one coder busy.
class PipelineSlots {
 public:
  using Slot = Pipeline::Slot;

  PipelineSlots(Pipeline& pipeline, std::size_t slot_size)
      : pipeline_(&pipeline), slot_size_(slot_size) {}

  [[nodiscard]] Slot acquire() { return pipeline_->acquire(); }
  Ticket submit(Slot slot, std::span<const TensorPart> parts) {
    return pipeline_->submit(std::move(slot), parts);
  }
  [[nodiscard]] std::size_t slot_size() const noexcept { return slot_size_; }
  [[nodiscard]] std::size_t enough() const noexcept { return slot_size_ / 8; }

 private:
  Pipeline* pipeline_;
  std::size_t slot_size_;
};

// Fills slots from the source.
template <class Slots>
class PackReader {
 public:
  PackReader(TensorSource& source, Slots& slots, const JobSettings& settings)
      : source_(&source), slots_(&slots), settings_(&settings) {}

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
    if (!parts_.empty() && (used_ >= slots_->enough() || offset + size > slots_->slot_size())) {
      submit();
      offset = 0;
    }
    if (parts_.empty()) slot_ = slots_->acquire();
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
    static_cast<void>(slots_->submit(std::move(slot_), parts_));
    parts_.clear();
    used_ = 0;
    ++chunk_;
  }

  TensorSource* source_;
  Slots* slots_;
  const JobSettings* settings_;
  typename Slots::Slot slot_;
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

// Who codes, and into how many slots.
struct Crew {
  std::size_t threads{};
  std::size_t coders{};
  std::size_t host_slots{};
  std::size_t coded_slots{};
};

// Threads that code a slot each take less time than threads that share one out, but each needs a
// slot at both ends. From 8 on, the thread that writes is what limits the job (docs/design/0005).
Crew crew_for(const JobSettings& settings) {
  constexpr std::size_t enough = 8;
  Crew crew{.threads = settings.threads, .coders = 2};
  if (crew.threads == 0) {
    crew.threads = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, enough);
  }
  if (!settings.workers) crew.coders = std::min(crew.threads, enough);
  const std::size_t more = crew.coders > 2 ? crew.coders : 0;
  crew.host_slots = settings.host_slots ? settings.host_slots : usual_host_slots + more;
  crew.coded_slots = settings.coded_slots ? settings.coded_slots : usual_coded_slots + more;
  return crew;
}

void pack_on_host(TensorSource& source, ArchiveWriter& writer, const Codec& codec,
                  const JobSettings& settings, JobReport& report) {
  const Crew crew = crew_for(settings);
  PipelineSettings pipeline_settings{
      .device = nullptr,
      .chunk_size = settings.chunk_size,
      .device_slots = 0,
      .host_slots = crew.host_slots,
      .coded_slots = crew.coded_slots,
      .threads = crew.threads,
      .coders = crew.coders,
      .workers = settings.workers,
      .overflow = Overflow::block,
      .on_progress = progress_for(settings, report.bytes),
      .trace = settings.trace,
      // The writer and the source are the caller's: no thread may be left behind with them.
      .abandon_after = std::chrono::milliseconds::max()};
  Pipeline pipeline(std::move(pipeline_settings), codec,
                    std::make_shared<ArchiveSink>(writer, codec));
  const std::stop_callback on_cancel(settings.cancel, [&] { pipeline.cancel(); });
  PipelineSlots slots(pipeline, settings.chunk_size);
  PackReader(source, slots, settings).read_all();
  pipeline.close();
  report.counters = pipeline.counters();
}

// Page-locked slots are slow to make: some, and for small jobs no more than the job fills.
std::size_t chunks_of_a_launch(const JobSettings& settings, std::uint64_t total) {
  constexpr std::size_t most = 4;
  return static_cast<std::size_t>(
      std::clamp<std::uint64_t>(total / settings.chunk_size / 4, 1, most));
}

void pack_on_device(TensorSource& source, ArchiveWriter& writer, const Codec& codec,
                    const JobSettings& settings, JobReport& report) {
  OffloaderSettings offloader_settings;
  offloader_settings.device = settings.device;
  offloader_settings.chunk_size = settings.chunk_size;
  offloader_settings.chunks_per_launch = chunks_of_a_launch(settings, report.bytes);
  offloader_settings.on_progress = progress_for(settings, report.bytes);
  offloader_settings.trace = settings.trace;
  offloader_settings.abandon_after = std::chrono::milliseconds::max();
  Offloader offloader(offloader_settings, codec, std::make_shared<ArchiveSink>(writer, codec));
  const std::stop_callback on_cancel(settings.cancel, [&] { offloader.cancel(); });
  UploadSlots slots(
      *settings.device, offloader,
      {.slots = 3,
       .slot_size = offloader_settings.chunks_per_launch * offloader_settings.chunk_size});
  PackReader(source, slots, settings).read_all();
  offloader.close();
  report.counters = offloader.counters();
}

}  // namespace

Result<JobReport> pack(TensorSource& source, ArchiveWriter& writer, const Codec& codec,
                       const JobSettings& settings) {
  OFFRAMP_TRY(total, check_tensors(source));
  if (settings.device) {
    for (const TensorInfo& info : source.tensors())
      OFFRAMP_TRY_VOID(Offloader::check_supported(*settings.device, codec, info.desc.dtype));
  }
  return run_job([&]() -> JobReport {
    if (!source.metadata().empty()) writer.append_metadata(source.metadata());
    JobReport report{.tensors = source.tensors().size(), .bytes = total};
    if (!settings.device || settings.device == &host_device()) {
      pack_on_host(source, writer, codec, settings, report);
    } else {
      pack_on_device(source, writer, codec, settings, report);
    }
    return report;
  });
}

}  // namespace offramp
