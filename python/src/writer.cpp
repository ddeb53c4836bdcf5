// SPDX-License-Identifier: Apache-2.0
#include "writer.hpp"

#include "frame_axes.hpp"
#include "interruptible.hpp"

#include <offramp/core/error.hpp>
#include <offramp/device/device_table.hpp>
#include <offramp/frames/convert.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

namespace offramp::python {
namespace {

bool is_on_gpu(dlpack::Device place) {
  return place.type == dlpack::cuda || place.type == dlpack::cuda_managed;
}

std::string name_of(dlpack::Device place) {
  if (is_on_gpu(place)) return "cuda:" + std::to_string(place.id);
  if (place.type == dlpack::cpu || place.type == dlpack::cuda_host) return "host";
  const std::string what = "frames are on a device of DLPack's kind " + std::to_string(place.type) +
                           ": move them to the host or a CUDA device";
  throw nb::value_error(what.c_str());
}

[[noreturn]] void refuse_use_after_close() {
  throw nb::value_error("the writer is closed: make another one for another file");
}

Writer::Options cancelled_by(Writer::Options options, std::stop_token token) {
  options.sink.cancel = std::move(token);
  return options;
}

}  // namespace

Writer::Writer(Options options)
    : options_(cancelled_by(std::move(options), stop_.get_token())),
      sink_(make_frame_sink(options_.path, options_.sink)),
      process_(::getpid()) {
  if (!options_.trace_path.empty()) options_.settings.trace = std::make_shared<Trace>();
}

Writer::~Writer() {
  if (!is_at_home()) {
    leave();
  } else {
    const nb::gil_scoped_release released;
    writer_.reset();
    sink_.reset();
    stream_ = {};
  }
  release_finished();
}

bool Writer::is_at_home() const noexcept { return ::getpid() == process_; }

// In a process forked from the writer's: its threads are not here, and its file is not ours.
void Writer::leave() noexcept {
  struct Left {
    std::shared_ptr<FrameWriter> writer;
    std::shared_ptr<FrameSink> sink;
    Stream stream;
  };
  static_cast<void>(new Left{std::move(writer_), std::move(sink_), std::move(stream_)});
}

void Writer::choose_device(dlpack::Device place) {
  const std::string name = name_of(place);
  if (!options_.settings.device) {
    options_.settings.device = find_device(name).value();
    stream_ = options_.settings.device->make_stream();
  } else if (options_.settings.device->name() != name && name != "host") {
    const std::string what = "frames are on " + name + ", and those before were on " +
                             std::string(options_.settings.device->name()) +
                             ": a writer takes them from one device";
    throw nb::value_error(what.c_str());
  }
}

Writer::Borrowed Writer::borrow(nb::handle frames) {
  release_finished();
  if (ended_) refuse_use_after_close();
  const dlpack::Device place = device_of(frames);
  choose_device(place);
  auto array = hold(frames, is_on_gpu(place) ? stream_.ref().native() : nullptr);
  const FrameView view = frames_of(*array, axes_of(*array), options_.range);
  return {std::move(array), view};
}

// As named, or as guessed: once for arrays of one rank, so that a chunk that could be two things is
// what the ones before it were.
std::string Writer::axes_of(const HeldArray& array) {
  if (!options_.axes.empty()) return options_.axes;
  const std::vector<std::uint64_t> shape = array.shape();
  if (guessed_axes_.empty() || guessed_rank_ != shape.size()) {
    guessed_axes_ = guess_axes(shape);
    guessed_rank_ = shape.size();
  }
  return guessed_axes_;
}

// The first one that the sink takes and that has the source's channels, neither more nor fewer.
PixelFormat Writer::choose_pixels(std::uint64_t channels) const {
  if (options_.pixels) return *options_.pixels;
  const auto formats = sink_->formats();
  const auto with = [&](std::uint64_t wanted) {
    return std::find_if(formats.begin(), formats.end(), [&](PixelFormat format) {
      return static_cast<std::uint64_t>(channels_of(format)) == wanted;
    });
  };
  auto found = with(channels);
  if (found == formats.end()) found = with(3);
  if (found == formats.end()) {
    throw nb::value_error("the file takes no pixels that such frames become");
  }
  return *found;
}

void Writer::begin(nb::handle frames) {
  const Borrowed first = borrow(frames);
  const FrameView& view = first.view;
  constexpr std::uint64_t most = UINT32_MAX;
  if (view.width > most || view.height > most) throw nb::value_error("frames are too large");
  format_ = {.pixels = choose_pixels(view.channels),
             .width = static_cast<std::uint32_t>(view.width),
             .height = static_cast<std::uint32_t>(view.height),
             .matrix = options_.matrix,
             .range = options_.color_range,
             .rate = options_.rate};
  expect_convertible(view, format_);
  std::shared_ptr<FrameWriter> writer;
  interruptible([&] { writer = std::make_shared<FrameWriter>(options_.settings, format_, sink_); },
                [&] { stop_.request_stop(); });
  writer_ = std::move(writer);
  if (stop_.stop_requested()) writer_->cancel();
}

Ticket Writer::submit(nb::handle frames) {
  const Borrowed all = borrow(frames);
  const std::shared_ptr<FrameWriter> writer = writer_;
  if (!writer) throw nb::value_error("the writer has not begun");
  Ticket ticket;
  interruptible([&] { ticket = writer->submit(stream_, all.view, all.array); },
                [&] { writer->cancel(); });
  return ticket;
}

void Writer::close() {
  if (ended_) return;
  ended_ = true;
  if (std::shared_ptr<FrameWriter> writer = writer_) {
    interruptible([&] { writer->close(); }, [&] { writer->cancel(); });
    counters_ = writer->counters().to_json();
    frames_out_ = sink_->frames_out();
    const nb::gil_scoped_release released;
    writer_.reset();
    writer.reset();
    if (!options_.trace_path.empty()) options_.settings.trace->write(options_.trace_path);
  }
  release_finished();
}

std::string Writer::abandon() {
  ended_ = true;
  std::string partial;
  if (!is_at_home()) {
    leave();
    return partial;
  }
  std::shared_ptr<FrameWriter> writer = std::exchange(writer_, nullptr);
  std::shared_ptr<FrameSink> sink = std::exchange(sink_, nullptr);
  if (writer) {
    const auto error = writer->error();
    if (error && error->code != ErrorCode::cancelled) failure_ = error->message();
    writer->cancel();
    counters_ = writer->counters().to_json();
  }
  {
    const nb::gil_scoped_release released;
    const bool began = writer != nullptr;
    // A call of another thread may hold the writer until it finds out that it is cancelled.
    const bool shared = writer.use_count() > 1;
    const auto patience = std::chrono::steady_clock::now() + options_.settings.abandon_after;
    writer.reset();  // the sink knows what is to become of its file once the writer is gone
    while (shared && sink.use_count() > 1 && std::chrono::steady_clock::now() < patience) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (began && sink) partial = sink->partial_path();
    sink.reset();  // completes what it holds
    if (began && !options_.trace_path.empty()) {
      try {
        options_.settings.trace->write(options_.trace_path);
      } catch (const IoError&) {  // the job's own failure is what counts
      }
    }
  }
  release_finished();
  return partial;
}

void Writer::cancel() noexcept {
  stop_.request_stop();
  if (const std::shared_ptr<FrameWriter> writer = writer_) writer->cancel();
}

std::string Writer::counters() const {
  return writer_ && !ended_ ? writer_->counters().to_json() : counters_;
}

nb::object Writer::format() const {
  if (format_.width == 0) return nb::none();
  nb::dict format;
  const std::string_view name = offramp::name_of(format_.pixels);
  format["pixels"] = nb::str(name.data(), name.size());
  format["width"] = format_.width;
  format["height"] = format_.height;
  format["fps"] = nb::make_tuple(format_.rate.num, format_.rate.den);
  return format;
}

}  // namespace offramp::python
