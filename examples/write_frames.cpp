// SPDX-License-Identifier: Apache-2.0
// Frames written while the program makes the next: docs/guide/frames.md shows it.
#include <offramp/device/device_table.hpp>
#include <offramp/engine/frame_writer.hpp>
#include <offramp/transport/frame_transport.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

int main(int argc, char** argv) try {
  const std::string path = argc > 1 ? argv[1] : "out.y4m";
  offramp::Device& device = *offramp::find_device("host").value();  // or "cuda:0"
  const offramp::Stream stream = device.make_stream();
  std::shared_ptr<offramp::FrameSink> sink = offramp::make_frame_sink(path, {.overwrite = true});
  offramp::FrameWriter writer(
      {.device = &device}, {.pixels = sink->formats().front(), .width = 320, .height = 240}, sink);

  constexpr std::array<std::uint64_t, 4> extents{2, 240, 320, 3};
  for (int chunk = 0; chunk < 12; ++chunk) {
    // Made anew for each chunk and given away: the writer frees it when it is converted.
    const auto gray = static_cast<std::uint8_t>(20 * chunk);
    auto pixels = std::make_shared<std::vector<std::uint8_t>>(2 * 240 * 320 * 3, gray);
    const auto* data = reinterpret_cast<const std::byte*>(pixels->data());
    writer.submit(stream, frame_view(data, offramp::DType::u8, extents, "nhwc"), pixels);
  }
  writer.close();  // everything is written, and the file has its name; throws the first error

  std::printf("%s: %llu frames\n", path.c_str(),
              static_cast<unsigned long long>(sink->frames_out()));
  return sink->frames_out() == 24 ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
