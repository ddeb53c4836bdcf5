// SPDX-License-Identifier: Apache-2.0
// Tensors written while the program makes the next: the producer never waits for the disk.
#include <offramp/offramp.hpp>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

int main(int argc, char** argv) try {
  const std::string path = argc > 1 ? argv[1] : "steps.ofr";
  const auto codec = offramp::Codec::from_name("exact").value();
  offramp::ArchiveWriter archive(path, offramp::OutputFile::Existing::overwrite);
  offramp::Device& device = *offramp::find_device("auto").value();
  const offramp::Stream stream = device.make_stream();
  offramp::Pipeline pipeline({.device = &device}, codec,
                             std::make_shared<offramp::ArchiveSink>(archive, codec));

  const offramp::TensorDesc desc{offramp::DType::fp32, {256, 512}};
  for (int step = 0; step < 8; ++step) {
    // Made anew each step and given away: the pipeline frees it when it is copied.
    auto values = std::make_shared<std::vector<float>>(256 * 512, 0.5f * static_cast<float>(step));
    const std::string name = "step." + std::to_string(step);
    const offramp::ChunkTensor tensor{
        .what = {.name = name, .tensor = desc, .part = {.first_elem = 0, .desc = desc}},
        .data = reinterpret_cast<const std::byte*>(values->data())};
    pipeline.submit(stream, {.tensors = {&tensor, 1}, .keep_alive = values});
  }
  pipeline.close();  // everything is written, and the file has its name

  const auto reader = offramp::ArchiveReader::open(path).value();
  std::printf("%s: %zu tensors, %llu bytes\n", path.c_str(), reader.tensors().size(),
              static_cast<unsigned long long>(reader.size()));
  return reader.tensors().size() == 8 ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
