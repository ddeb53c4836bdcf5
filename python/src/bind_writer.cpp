// SPDX-License-Identifier: Apache-2.0
#include "interruptible.hpp"
#include "writer.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <atomic>
#include <chrono>
#include <new>

namespace offramp::python {
namespace {

using Clock = Ticket::Clock;

[[noreturn]] void refuse(const std::string& what) { throw nb::value_error(what.c_str()); }

template <class Value>
Value chosen(const std::string& name, std::initializer_list<std::pair<const char*, Value>> rows) {
  std::string names;
  for (const auto& [known, value] : rows) {
    if (name == known) return value;
    names += (names.empty() ? "" : ", ") + std::string(known);
  }
  refuse("\"" + name + "\" is none of " + names);
}

PixelFormat pixels_of(const std::string& name) {
  if (const auto found = pixel_format_from_name(name)) return *found;
  std::string names;
  for (std::size_t at = 0; at < pixel_format_count; ++at) {
    names += (names.empty() ? "" : ", ") + std::string(name_of(static_cast<PixelFormat>(at)));
  }
  refuse("no pixels are called \"" + name + "\"; there are " + names);
}

struct WriterArgs {
  std::string path;
  std::pair<std::uint32_t, std::uint32_t> fps;
  std::optional<std::pair<double, double>> range;
  std::string axes, pixels, matrix, color_range, format, encoder, preset, trace;
  std::optional<int> quality, level;
  std::optional<std::uint64_t> frames;
  bool overwrite, drop, keep_partial;
  std::size_t threads, encoder_threads, slot_size, device_slots, host_slots;
  double abandon_after;
};

Writer::Options options_of(const WriterArgs& args) {
  Writer::Options options;
  options.path = args.path;
  options.rate = {args.fps.first, args.fps.second};
  options.sink.format = args.format;
  options.sink.encoder = args.encoder;
  options.sink.quality = args.quality;
  options.sink.preset = args.preset;
  options.sink.level = args.level;
  options.sink.threads = args.encoder_threads;
  options.sink.frames = args.frames;
  options.sink.overwrite = args.overwrite;
  options.settings.slot_size = args.slot_size;
  options.settings.device_slots = args.device_slots;
  options.settings.host_slots = args.host_slots;
  options.settings.threads = args.threads;
  options.settings.overflow = args.drop ? Overflow::drop : Overflow::block;
  options.settings.keep_partial = args.keep_partial;
  if (!(args.abandon_after >= 0 && args.abandon_after < 1e9)) refuse("abandon_after is no time");
  options.settings.abandon_after =
      std::chrono::milliseconds(static_cast<std::int64_t>(args.abandon_after * 1000));
  if (args.range) options.range = ValueRange{args.range->first, args.range->second};
  options.axes = args.axes;
  options.trace_path = args.trace;
  if (!args.pixels.empty()) options.pixels = pixels_of(args.pixels);
  options.matrix = chosen<ColorMatrix>(
      args.matrix, {{"bt709", ColorMatrix::bt709}, {"bt601", ColorMatrix::bt601}});
  options.color_range = chosen<ColorRange>(
      args.color_range, {{"limited", ColorRange::limited}, {"full", ColorRange::full}});
  return options;
}

// Waits, as a call that a signal ends.
void wait_for(const Ticket& ticket, bool durable) {
  std::atomic<bool> given_up{false};
  interruptible(
      [&] {
        if (!durable) return ticket.wait_staged().value();
        // In steps, since nothing wakes a ticket's waiter but the writer.
        while (!given_up && ticket.state() != Ticket::State::failed &&
               ticket.state() != Ticket::State::dropped) {
          if (ticket.wait_durable_until(Clock::now() + std::chrono::milliseconds(50))) return;
        }
        if (!given_up) ticket.wait_durable().value();
      },
      [&] { given_up = true; });
}

const char* state_of(const Ticket& ticket) {
  switch (ticket.state()) {
    case Ticket::State::submitted:
      return "submitted";
    case Ticket::State::staged:
      return "staged";
    case Ticket::State::durable:
      return "durable";
    case Ticket::State::failed:
      return "failed";
    default:
      return "dropped";
  }
}

}  // namespace

void bind_writer(nb::module_& module) {
  nb::class_<Ticket>(module, "Ticket",
                     "What a submit returns: the frames become staged, then durable, or fail.")
      .def_prop_ro("state", state_of,
                   "\"submitted\", \"staged\" (the array may be changed), \"durable\" (written), "
                   "\"failed\" or \"dropped\".")
      .def(
          "wait_staged", [](const Ticket& ticket) { wait_for(ticket, false); },
          "Waits until the array may be changed.")
      .def(
          "wait_durable", [](const Ticket& ticket) { wait_for(ticket, true); },
          "Waits until the file has the frames. Raises what went wrong.");

  nb::class_<Writer>(module, "Writer", "What offramp.FrameWriter is made of.")
      .def(
          "__init__",
          [](Writer* at, const std::string& path, std::pair<std::uint32_t, std::uint32_t> fps,
             std::optional<std::pair<double, double>> range, const std::string& axes,
             const std::string& pixels, const std::string& matrix, const std::string& color_range,
             const std::string& format, const std::string& encoder, std::optional<int> quality,
             const std::string& preset, const std::string& trace, std::optional<int> level,
             std::optional<std::uint64_t> frames, bool overwrite, std::size_t threads,
             std::size_t encoder_threads, std::size_t slot_size, std::size_t device_slots,
             std::size_t host_slots, bool drop, bool keep_partial, double abandon_after) {
            new (at) Writer(options_of({path,         fps,        range,           axes,
                                        pixels,       matrix,     color_range,     format,
                                        encoder,      preset,     trace,           quality,
                                        level,        frames,     overwrite,       drop,
                                        keep_partial, threads,    encoder_threads, slot_size,
                                        device_slots, host_slots, abandon_after}));
          },
          nb::arg("path"), nb::kw_only(), nb::arg("fps"), nb::arg("range").none(), nb::arg("axes"),
          nb::arg("pixels"), nb::arg("matrix"), nb::arg("color_range"), nb::arg("format"),
          nb::arg("encoder"), nb::arg("quality").none(), nb::arg("preset"), nb::arg("trace"),
          nb::arg("level").none(), nb::arg("frames").none(), nb::arg("overwrite"),
          nb::arg("threads"), nb::arg("encoder_threads"), nb::arg("slot_size"),
          nb::arg("device_slots"), nb::arg("host_slots"), nb::arg("drop"), nb::arg("keep_partial"),
          nb::arg("abandon_after"))
      .def("begin", &Writer::begin, nb::arg("frames"))
      .def_prop_ro("began", &Writer::began)
      .def("submit", &Writer::submit, nb::arg("frames"))
      .def("close", &Writer::close)
      .def("abandon", &Writer::abandon)
      .def("cancel", &Writer::cancel)
      .def("counters", &Writer::counters)
      .def_prop_ro("failure", &Writer::failure)
      .def_prop_ro("frames_out", &Writer::frames_out)
      .def_prop_ro("path", &Writer::path)
      .def_prop_ro("format", &Writer::format);
}

}  // namespace offramp::python
