// SPDX-License-Identifier: Apache-2.0
#include "frame_job.hpp"

#include "frame_feed.hpp"
#include "frame_times.hpp"

#include <offramp/core/buffer.hpp>
#include <offramp/core/error.hpp>
#include <offramp/device/host_slab.hpp>
#include <offramp/engine/frame_writer.hpp>
#include <offramp/frames/convert.hpp>
#include <offramp/generators/generator.hpp>
#include <offramp/transport/frame_transport.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace offramp::cli {
namespace {

constexpr std::size_t submits = 4;

std::shared_ptr<Trace> make_trace(std::optional<std::uint64_t> frames) {
  // A frame leaves up to six spans.
  return std::make_shared<Trace>(
      std::clamp<std::size_t>(frames.value_or(0) * 8, 1u << 16, 1u << 19));
}

// Adds spans of one thread that does one thing after the other.
class Stopwatch {
 public:
  explicit Stopwatch(Trace& trace) : trace_(trace) {}
  /// What was done since the last call, or since this was made.
  void lap(const char* stage, std::uint64_t chunk, std::uint64_t bytes = 0) {
    const std::uint64_t now = Trace::now_ns();
    trace_.add({.stage = stage,
                .thread = 0,
                .chunk = chunk,
                .bytes = bytes,
                .start_ns = last_,
                .end_ns = now});
    last_ = now;
  }
  void skip() { last_ = Trace::now_ns(); }

 private:
  Trace& trace_;
  std::uint64_t last_{Trace::now_ns()};
};

class Clock {
 public:
  void stop(FrameRun& run) const {
    const std::uint64_t end = Trace::now_ns();
    run.wall_s = static_cast<double>(end - start_) * 1e-9;
    run.trace->add({.stage = whole_job, .thread = 0, .start_ns = start_, .end_ns = end});
  }

 private:
  std::uint64_t start_{Trace::now_ns()};
};

[[noreturn]] void throw_cancelled(const FrameJob& job) {
  throw DataError(
      {.code = ErrorCode::cancelled, .what = "cancelled", .path = job.options.out, .remedy = {}});
}

// Frames of a generator, a few of small ones at once.
struct Generated {
  Generated(const FrameJob& job, const FrameFormat& format)
      : stream(job.device.make_stream()),
        generator(make_generator(job.options.source, job.device, stream,
                                 {.width = format.width, .height = format.height})),
        total(job.options.frame_count()),
        chunk(std::clamp<std::size_t>((1u << 20) / generator->frame_size(), 1, 16)) {}

  [[nodiscard]] std::uint64_t next(std::uint64_t done) const {
    return std::min<std::uint64_t>(chunk, total - done);
  }
  [[nodiscard]] Buffer room(Device& device) const {
    return Buffer(stream, device.memory(), chunk * generator->frame_size());
  }

  Stream stream;
  std::unique_ptr<Generator> generator;
  std::uint64_t total;
  std::size_t chunk;
};

// When a chunk was computed, taken by the stream itself: the writer sees only that it is done, and
// late where it is held up.
struct Stamp {
  Trace* trace{};
  std::uint64_t chunk{};
  std::uint64_t bytes{};
  std::uint64_t start_ns{};

  static void start(void* stamp) noexcept {
    static_cast<Stamp*>(stamp)->start_ns = Trace::now_ns();
  }
  static void end(void* stamp) noexcept {
    const Stamp& own = *static_cast<Stamp*>(stamp);
    own.trace->add({.stage = "generate",
                    .thread = 0,
                    .chunk = own.chunk,
                    .bytes = own.bytes,
                    .start_ns = own.start_ns,
                    .end_ns = Trace::now_ns()});
  }
};

// A GPU's stream stops for a moment at each stamp: there only where a timeline was asked for.
bool takes_stamps(const FrameJob& job) {
  return !job.device.name().starts_with("cuda") || !job.options.report_path.empty() ||
         !job.options.trace_path.empty();
}

// What the stream still does uses what lies above this.
class Finished {
 public:
  explicit Finished(StreamRef stream) : stream_(stream) {}
  ~Finished() {
    try {
      stream_.sync();
    } catch (const MachineError&) {
    }
  }
  Finished(const Finished&) = delete;
  Finished& operator=(const Finished&) = delete;

 private:
  StreamRef stream_;
};

struct Counted {
  std::uint64_t in{};
  std::uint64_t dropped{};
};

Counted generate_behind(const FrameJob& job, Generated& from, FrameWriter& writer, Trace& trace) {
  // One more than wait in the writer: the producer is held back by the writer alone.
  struct Place {
    std::shared_ptr<Buffer> room{};
    Ticket ticket{};
    Stamp stamp{};
  };
  std::vector<Place> places(submits + 2);
  for (Place& place : places) place.room = std::make_shared<Buffer>(from.room(job.device));
  const Finished finished(from.stream);
  const bool stamps = takes_stamps(job);
  std::size_t turn = 0;
  Counted frames;
  while (frames.in < from.total && !job.stop.stop_requested()) {
    Place& place = places[turn++ % places.size()];
    if (turn > places.size()) place.ticket.wait_staged().value();
    const std::uint64_t count = from.next(frames.in);
    place.stamp = {
        .trace = &trace, .chunk = turn - 1, .bytes = count * from.generator->frame_size()};
    if (stamps) job.device.call_async(from.stream, Stamp::start, &place.stamp);
    const FrameView view = from.generator->next_async(count, place.room->data());
    if (stamps) job.device.call_async(from.stream, Stamp::end, &place.stamp);
    place.ticket = writer.submit(from.stream, view, place.room);
    frames.in += view.frames;
    if (place.ticket.state() == Ticket::State::dropped) frames.dropped += view.frames;
  }
  return frames;
}

Counted read_behind(const FrameJob& job, FrameSource& from, FrameWriter& writer, Trace& trace) {
  const std::size_t size = from.format().size();
  const std::uint64_t limit = job.options.frames.value_or(UINT64_MAX);
  std::uint64_t done = 0;
  Ticket last;
  for (std::uint64_t chunk = 0; done < limit && !job.stop.stop_requested(); ++chunk) {
    FrameWriter::Slot slot = writer.acquire();
    Stopwatch watch(trace);
    const std::uint64_t room =
        std::min<std::uint64_t>(std::max<std::size_t>(1, slot.bytes().size() / size), limit - done);
    std::size_t frames = 0;
    try {
      while (frames < room && from.read(slot.bytes().subspan(frames * size, size))) ++frames;
    } catch (...) {
      // What was read before is worth keeping.
      if (frames > 0) last = writer.submit(std::move(slot), frames);
      if (done + frames > 0 && !job.stop.stop_requested()) static_cast<void>(last.wait_durable());
      throw;
    }
    watch.lap("read", chunk, frames * size);
    if (frames > 0) last = writer.submit(std::move(slot), frames);
    done += frames;
    if (frames < room) break;
  }
  return {.in = done};
}

// Says where the frames before the failure are, if they are kept.
Error with_partial(Error error, const FrameSink& sink) {
  const std::string kept = sink.partial_path();
  if (kept.empty()) return error;
  if (!error.remedy.empty()) error.remedy += "; ";
  error.remedy += fmt::format("the frames before it are kept in {}", kept);
  return error;
}

// What a job is run on, made anew for each run.
struct Setting {
  std::shared_ptr<FrameSink> sink{};
  std::unique_ptr<FrameSource> source{};  // or
  std::optional<Generated> generated{};
  FrameFormat format{};
  std::optional<std::uint64_t> frames{};  // in all, where that is known
};

Setting prepare(const FrameJob& job) {
  Setting setting;
  FrameSinkOptions how = job.options.sink_options();
  how.overwrite = how.overwrite || job.overwrite;
  try {
    setting.sink = make_frame_sink(job.options.out, how);
  } catch (const DataError& refused) {
    // Nothing was read yet: it is what was asked for that does not fit.
    throw CLI::ValidationError(refused.error().message());
  }
  if (job.options.is_generator()) {
    setting.format = generated_format(job.options, setting.sink->formats());
    setting.generated.emplace(job, setting.format);
    setting.frames = setting.generated->total;
  } else {
    setting.source = open_feed(job.options, setting.sink->formats(), job.stop);
    setting.format = setting.source->format();
    setting.frames = setting.source->count();
    if (job.options.frames)
      setting.frames = std::min(*job.options.frames, setting.frames.value_or(*job.options.frames));
  }
  return setting;
}

FrameRun run_behind(const FrameJob& job, Setting& with) {
  FrameRun run{.format = with.format, .trace = make_trace(with.frames)};
  std::optional<FrameWriter> writer;
  const Clock clock;
  try {
    FrameWriterSettings settings;
    settings.device = &job.device;
    settings.submits = submits;
    settings.host_slots = job.options.slots;
    settings.threads = job.options.threads;
    settings.overflow = job.options.drop ? Overflow::drop : Overflow::block;
    settings.trace = run.trace;
    if (job.on_progress) {
      settings.on_progress = [&job, total = with.frames](const Counters& now) {
        job.on_progress(now.parts_out, total);
      };
    }
    writer.emplace(std::move(settings), with.format, with.sink);
    const std::stop_callback cancel(job.stop, [&] { writer->cancel(); });
    const Counted counted = with.generated
                                ? generate_behind(job, *with.generated, *writer, *run.trace)
                                : read_behind(job, *with.source, *writer, *run.trace);
    run.frames_in = counted.in;
    run.dropped = counted.dropped;
    if (job.stop.stop_requested()) throw_cancelled(job);
    writer->close();
    clock.stop(run);
  } catch (...) {
    // The writer's own words name the frame. What a source or generator threw is not among them.
    const std::optional<Error> latched = writer ? writer->error() : std::nullopt;
    writer.reset();
    try {
      throw;
    } catch (const DataError& failed) {
      throw DataError(with_partial(latched.value_or(failed.error()), *with.sink));
    } catch (const MachineError& failed) {
      throw MachineError(with_partial(latched.value_or(failed.error()), *with.sink));
    }
  }
  run.counters = writer->counters();
  run.frames_out = with.sink->frames_out();
  run.bytes_out = with.sink->bytes_out();
  return run;
}

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
    with_.sink->begin(with_.format);
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
    if (job_.on_progress) job_.on_progress(number_, with_.frames);
  }

  const FrameJob& job_;
  Setting& with_;
  Stopwatch watch_;
  std::vector<std::byte> coded_{};
  std::uint64_t number_{0};
};

FrameRun run_sync(const FrameJob& job, Setting& with) {
  FrameRun run{.format = with.format, .trace = make_trace(with.frames)};
  const Clock clock;
  SyncWriter writer(job, with, *run.trace);
  const auto in_words = [&](Error error) {
    if (writer.frames() > 0) with.sink->keep_partial();
    return with_partial(std::move(error), *with.sink);
  };
  try {
    writer.run();
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
  const Clock clock;
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

}  // namespace

FrameRun FrameJob::run(Way way) const {
  Setting setting = prepare(*this);
  FrameRun run;
  switch (way) {
    case Way::behind:
      run = run_behind(*this, setting);
      break;
    case Way::sync:
      run = run_sync(*this, setting);
      break;
    case Way::alone:
      return run_alone(*this, setting);
  }
  if (run.frames_out + run.dropped != run.frames_in) {
    throw MachineError(
        {.code = ErrorCode::mismatch,
         .what = fmt::format("{} frames went in, the file holds {}", run.frames_in, run.frames_out),
         .path = options.out,
         .remedy = "do not use the file, and report this"});
  }
  return run;
}

}  // namespace offramp::cli
