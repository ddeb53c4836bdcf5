// SPDX-License-Identifier: Apache-2.0
#include "frame_setting.hpp"

#include <offramp/device/host_slab.hpp>
#include <offramp/frames/convert.hpp>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace offramp::cli {
namespace {

// The old way's places for a chunk: converted on the device, and on the host.
struct SyncPlaces {
  SyncPlaces(const FrameJob& job, const Generated& from, std::size_t size)
      : made(from.room(job.device)),
        converted(from.stream, job.device.memory(), size),
        host(job.device, {.slots = 1, .slot_size = size}) {}
  Buffer made;
  Buffer converted;
  HostSlab host;
};

class SyncWriter {
 public:
  SyncWriter(const FrameJob& job, Setting& with, Trace& trace)
      : job_(job), with_(with), watch_(trace) {}

  void run() {
    as_asked([&] { with_.sink->begin(with_.format); });
    watch_.lap("start", 0);
    with_.generated ? generate() : read();
    if (job_.stop.stop_requested()) throw_cancelled(job_);
    with_.sink->finish();
    watch_.lap("finish", number_);
  }
  [[nodiscard]] std::uint64_t frames() const noexcept { return number_; }

 private:
  void generate() {
    Generated& from = *with_.generated;
    const std::size_t size = with_.format.size();
    SyncPlaces at(job_, from, from.chunk * size);
    while (number_ < from.total && !job_.stop.stop_requested()) {
      const std::uint64_t frames = from.next(number_);
      watch_.skip();
      const FrameView view = from.generator->next_async(frames, at.made.data());
      from.stream.ref().sync();
      watch_.lap("compute", number_);
      convert_async(job_.device, from.stream, view, with_.format, at.converted.data());
      from.stream.ref().sync();
      watch_.lap("convert", number_);
      job_.device.copy_async(from.stream,
                             {at.host.slot(0).data(), at.converted.data(), frames * size});
      from.stream.ref().sync();
      watch_.lap("copy", number_);
      for (std::uint64_t frame = 0; frame < frames; ++frame)
        write(at.host.slot(0).subspan(frame * size, size));
    }
  }

  void read() {
    std::vector<std::byte> frame(with_.format.size());
    const std::uint64_t limit = job_.options.frames.value_or(UINT64_MAX);
    while (number_ < limit && !job_.stop.stop_requested()) {
      watch_.skip();
      if (!with_.source->read(frame)) break;
      watch_.lap("read", number_);
      write(frame);
    }
  }

  void write(std::span<const std::byte> frame) {
    if (with_.sink->codes_alone()) {
      with_.sink->encode(frame, coded_);
      watch_.lap("encode", number_);
      frame = coded_;
    }
    with_.sink->write(number_, frame);
    watch_.lap("write", number_, frame.size());
    ++number_;
    if (job_.on_progress) job_.on_progress({.frames = number_, .total = with_.frames});
  }

  const FrameJob& job_;
  Setting& with_;
  Stopwatch watch_;
  std::vector<std::byte> coded_{};
  std::uint64_t number_{0};
};

}  // namespace

FrameRun run_sync(const FrameJob& job, Setting& with) {
  FrameRun run{.format = with.format, .trace = make_trace(with.frames)};
  Clock clock(job.device);
  SyncWriter writer(job, with, *run.trace);
  const auto in_words = [&](Error error) {
    if (writer.frames() > 0) with.sink->keep_partial();
    return with_partial(std::move(error), *with.sink);
  };
  try {
    writer.run();
  } catch (const UsageError&) {
    throw;
  } catch (const DataError& failed) {
    throw DataError(in_words(failed.error()));
  } catch (const MachineError& failed) {
    throw MachineError(in_words(failed.error()));
  }
  clock.stop(run);
  run.frames_in = writer.frames();
  run.frames_out = with.sink->frames_out();
  run.bytes_out = with.sink->bytes_out();
  return run;
}

FrameRun run_alone(const FrameJob& job, Setting& with) {
  FrameRun run{.format = with.format, .trace = make_trace(with.frames)};
  std::vector<std::byte> frame(with.format.size());
  std::optional<Buffer> room;
  if (with.generated) room = with.generated->room(job.device);
  Clock clock(job.device);
  if (with.generated) {
    Generated& from = *with.generated;
    while (run.frames_in < from.total && !job.stop.stop_requested()) {
      const std::uint64_t frames = from.next(run.frames_in);
      from.generator->next_async(frames, room->data());
      run.frames_in += frames;
    }
    from.stream.ref().sync();
  } else {
    const std::uint64_t limit = job.options.frames.value_or(UINT64_MAX);
    while (run.frames_in < limit && !job.stop.stop_requested() && with.source->read(frame))
      ++run.frames_in;
  }
  clock.stop(run);
  if (job.stop.stop_requested()) throw_cancelled(job);
  return run;
}

}  // namespace offramp::cli
