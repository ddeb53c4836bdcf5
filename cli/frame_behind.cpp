// SPDX-License-Identifier: Apache-2.0
#include "frame_setting.hpp"

#include <offramp/engine/frame_writer.hpp>

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

namespace offramp::cli {
namespace {

constexpr std::size_t submits = 4;

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

// @returns how many went in; `dropped` counts on while others read it.
std::uint64_t generate_behind(const FrameJob& job, Generated& from, FrameWriter& writer,
                              Trace& trace, std::atomic<std::uint64_t>& dropped) {
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
  std::uint64_t frames = 0;
  while (frames < from.total && !job.stop.stop_requested()) {
    Place& place = places[turn++ % places.size()];
    if (turn > places.size()) place.ticket.wait_staged().value();
    const std::uint64_t count = from.next(frames);
    place.stamp = {
        .trace = &trace, .chunk = turn - 1, .bytes = count * from.generator->frame_size()};
    if (stamps) job.device.call_async(from.stream, Stamp::start, &place.stamp);
    const FrameView view = from.generator->next_async(count, place.room->data());
    if (stamps) job.device.call_async(from.stream, Stamp::end, &place.stamp);
    place.ticket = writer.submit(from.stream, view, place.room);
    frames += view.frames;
    if (place.ticket.state() == Ticket::State::dropped) dropped += view.frames;
  }
  return frames;
}

std::uint64_t read_behind(const FrameJob& job, FrameSource& from, FrameWriter& writer,
                          Trace& trace) {
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
  return done;
}

}  // namespace

FrameRun run_behind(const FrameJob& job, Setting& with) {
  FrameRun run{.format = with.format, .trace = make_trace(with.frames)};
  std::optional<FrameWriter> writer;
  std::atomic<std::uint64_t> dropped{0};
  const auto report = [&job, &dropped, total = with.frames](std::uint64_t written) {
    const std::uint64_t lost = dropped;
    if (job.on_progress) job.on_progress({written + lost, lost, total});
  };
  Clock clock(job.device);
  try {
    FrameWriterSettings settings;
    settings.device = &job.device;
    settings.submits = submits;
    settings.host_slots = job.options.slots;
    settings.threads = job.options.threads;
    settings.overflow = job.options.drop ? Overflow::drop : Overflow::block;
    settings.trace = run.trace;
    if (job.on_progress) settings.on_progress = [&](const Counters& now) { report(now.parts_out); };
    as_asked([&] { writer.emplace(std::move(settings), with.format, with.sink); });
    const std::stop_callback cancel(job.stop, [&] { writer->cancel(); });
    run.frames_in = with.generated
                        ? generate_behind(job, *with.generated, *writer, *run.trace, dropped)
                        : read_behind(job, *with.source, *writer, *run.trace);
    run.dropped = dropped;
    if (job.stop.stop_requested()) throw_cancelled(job);
    writer->close();
    clock.stop(run);
    if (run.dropped > 0) report(run.frames_in - run.dropped);  // those behind the last one written
  } catch (...) {
    // The writer's own words name the frame. What a source or generator threw is not among them.
    const std::optional<Error> latched = writer ? writer->error() : std::nullopt;
    writer.reset();
    try {
      throw;
    } catch (const UsageError&) {
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

}  // namespace offramp::cli
