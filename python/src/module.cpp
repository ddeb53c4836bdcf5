// SPDX-License-Identifier: Apache-2.0
#include "frame_axes.hpp"
#include "writer.hpp"

#include <offramp/device/device_table.hpp>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

NB_MODULE(_offramp, module) {
  namespace nb = nanobind;
  using namespace offramp;
  using namespace offramp::python;

  bind_errors();
  bind_writer(module);
  bind_archives(module);
  bind_activity(module);
  module.def(
      "devices",
      [] {
        std::vector<std::string> names;
        for (const DeviceRow& row : device_table()) {
          const std::string kind(row.kind);
          for (int at = 0; at < row.count(); ++at) {
            names.push_back(kind == "host" ? kind : kind + ":" + std::to_string(at));
          }
        }
        return names;
      },
      "Devices that frames may be on: \"host\", \"cuda:0\", ...");
  module.def(
      "guess_axes", [](const std::vector<std::uint64_t>& shape) { return guess_axes(shape); },
      nb::arg("shape"), "What the axes of frames of this shape are taken for.");
  module.def("release_finished", release_finished);
}
