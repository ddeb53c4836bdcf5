// SPDX-License-Identifier: Apache-2.0
#include "writer.hpp"

#include <offramp/probe/gpu_activity.hpp>

#include <nanobind/stl/string.h>

#include <optional>

namespace offramp::python {
namespace {

// A recording that ends once. Python's wrapper (offramp/_activity.py) has the names and the words.
class Recording {
 public:
  void start() { activity_.emplace(GpuActivity::start()); }

  nb::dict stop() {
    if (!activity_) throw nb::value_error("no recording is under way");
    const GpuActivityReport report = [&] {
      const nb::gil_scoped_release released;
      return activity_->stop();
    }();
    activity_.reset();
    nb::dict found;
    const auto seconds = [](std::uint64_t ns) { return static_cast<double>(ns) * 1e-9; };
    found["wall"] = seconds(report.window.end_ns - report.window.start_ns);
    found["busy"] = seconds(report.busy_ns);
    found["to_host"] = seconds(report.to_host_ns);
    found["to_device"] = seconds(report.to_device_ns);
    found["kernels"] = report.kernels;
    found["lost"] = report.lost_records;
    return found;
  }

 private:
  std::optional<GpuActivity> activity_;
};

}  // namespace

void bind_activity(nb::module_& module) {
  nb::class_<Recording>(module, "Recording")
      .def(nb::init<>())
      .def("start", &Recording::start)
      .def("stop", &Recording::stop);
  module.def("why_no_activity", &GpuActivity::why_not);
}

}  // namespace offramp::python
