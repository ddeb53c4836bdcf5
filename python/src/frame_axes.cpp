// SPDX-License-Identifier: Apache-2.0
#include "frame_axes.hpp"

#include <vector>

namespace offramp::python {
namespace {

bool is_channels(std::uint64_t extent) { return extent == 1 || extent == 3 || extent == 4; }

std::string text_of(std::span<const std::uint64_t> shape) {
  std::string text = "(";
  for (const std::uint64_t extent : shape) {
    text += (text.size() == 1 ? "" : ", ") + std::to_string(extent);
  }
  return text + ")";
}

[[noreturn]] void refuse(std::span<const std::uint64_t> shape, const std::string& why) {
  const std::string what = "frames of shape " + text_of(shape) + " " + why;
  throw nb::value_error(what.c_str());
}

}  // namespace

std::string guess_axes(std::span<const std::uint64_t> shape) {
  if (shape.size() == 2) return "hw";
  if (shape.size() == 3) {
    if (is_channels(shape[2])) return "hwc";
    return is_channels(shape[0]) ? "chw" : "nhw";
  }
  const bool batch = shape.size() == 5 && shape[0] == 1;
  if (batch) shape = shape.subspan(1);
  if (shape.size() != 4) refuse(shape, "have no known axes: name them, such as axes=\"nhwc\"");
  // No picture is 4 columns wide.
  if (is_channels(shape[3])) return "nhwc";
  const bool first = is_channels(shape[0]);
  const bool second = is_channels(shape[1]);
  if (first && second && shape[0] != shape[1]) {
    // A batch of one video has three colours if any: (1, 3, 4, h, w) is what a decoder gives, (1,
    // 4, 3, h, w) what a pipeline does. One of something beside three is one frame of three
    // colours.
    if (shape[1] == 3 && (batch || shape[0] == 1)) return "nchw";
    if (shape[0] == 3 && (batch || shape[1] == 1)) return "cnhw";
  }
  if (first && second) refuse(shape, "may be axes=\"nchw\" or axes=\"cnhw\": say which");
  if (second) return "nchw";
  if (first) return "cnhw";
  refuse(shape,
         "have no axis of 1, 3 or 4 channels where one is looked for: name the axes, such "
         "as axes=\"nhwc\"");
}

FrameView frames_of(const HeldArray& array, const std::string& axes,
                    std::optional<ValueRange> range) {
  std::vector<std::uint64_t> shape = array.shape();
  std::vector<std::int64_t> strides = array.strides();
  if (shape.size() == axes.size() + 1 && shape[0] == 1) {
    shape.erase(shape.begin());
    strides.erase(strides.begin());
  }
  if (shape.size() != axes.size()) refuse(shape, "do not have the axes \"" + axes + "\"");
  FrameView view = range ? frame_view(array.data(), array.dtype(), shape, axes, *range)
                         : frame_view(array.data(), array.dtype(), shape, axes);
  for (std::size_t at = 0; at < axes.size(); ++at) {
    switch (axes[at]) {
      case 'n':
        view.frame_stride = strides[at];
        break;
      case 'h':
        view.row_stride = strides[at];
        break;
      case 'w':
        view.column_stride = strides[at];
        break;
      default:
        view.channel_stride = strides[at];
    }
  }
  return view;
}

}  // namespace offramp::python
