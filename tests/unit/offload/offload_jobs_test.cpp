// SPDX-License-Identifier: Apache-2.0
// pack, unpack and verify on a device. Here it is a host device that is not *the* host device, over
// a slow link, so that the jobs take the way that they take on a GPU.
#include "contract/offload_kit.hpp"
#include "unit/engine/leaky_device.hpp"

#include <offramp/container/archive_reader.hpp>
#include <offramp/container/archive_writer.hpp>
#include <offramp/container/random_access.hpp>
#include <offramp/engine/jobs.hpp>
#include <offramp/transport/memory_sink.hpp>
#include <offramp/transport/memory_source.hpp>

#include <stop_token>

namespace offramp::testing_offload {
namespace {

class OffloadJobs : public testing::Test {
 protected:
  OffloadJobs() {
    add("many parts", {DType::bf16, {3000, 64}}, smooth_bytes(3000 * 128, 1));
    add("noise", {DType::u8, {70'000}}, random_bytes(70'000, 2));
    add("empty", {DType::fp32, {0, 7}}, {});
    add("scalar", {DType::fp32, {}}, random_bytes(4, 3));
    for (unsigned at = 0; at < 50; ++at)
      add("small " + std::to_string(at), bf16(500), smooth_bytes(1000, at));
  }

  void add(std::string name, TensorDesc desc, Bytes data) {
    names.push_back(std::move(name));
    descs.push_back(desc);
    bytes.push_back(std::move(data));
  }
  MemorySource source() const {
    std::vector<NamedTensor> views;
    for (std::size_t at = 0; at < names.size(); ++at)
      views.push_back({.name = names[at], .view = {.desc = descs[at], .bytes = bytes[at]}});
    return MemorySource(std::move(views), {{"model", "test"}});
  }
  JobSettings settings(Device* on) const {
    JobSettings with;
    with.chunk_size = 32 << 10;
    with.device = on;
    return with;
  }
  Bytes pack_on(Device* on, const char* codec_name = "exact") const {
    Bytes archive;
    ArchiveWriter writer(std::make_unique<MemoryByteSink>(archive));
    MemorySource from = source();
    const JobReport report = pack(from, writer, codec(codec_name), settings(on)).value();
    EXPECT_EQ(report.tensors, names.size());
    EXPECT_EQ(report.counters.bytes_done, report.bytes);
    return archive;
  }
  static ArchiveReader open(const Bytes& archive) {
    return ArchiveReader::open(std::make_unique<MemoryAccess>(archive)).value();
  }

  LeakyDevice device{LeftOut::nothing};
  std::vector<std::string> names;
  std::vector<TensorDesc> descs;
  std::vector<Bytes> bytes;
};

TEST_F(OffloadJobs, TheArchiveIsTheHostsByteForByte) {
  for (const auto* name : {"exact", "exact-dense", "store"}) {
    const Bytes expected = pack_on(nullptr, name);
    EXPECT_TRUE(pack_on(&device, name) == expected) << name;
  }
}

TEST_F(OffloadJobs, UnpackAndVerifyOnTheDevice) {
  const Bytes archive = pack_on(nullptr);
  const ArchiveReader reader = open(archive);
  MemorySink sink;
  const JobReport report = unpack(reader, sink, settings(&device)).value();
  EXPECT_EQ(report.tensors, names.size());
  for (std::size_t at = 0; at < names.size(); ++at) {
    ASSERT_EQ(sink.tensors()[at].name, names[at]);
    EXPECT_TRUE(std::ranges::equal(sink.bytes(at), bytes[at])) << names[at];
  }
  EXPECT_TRUE(verify(reader, settings(&device)));
}

TEST_F(OffloadJobs, ADamagedPartIsRefusedWithItsName) {
  // Damage that the archive's checksums do not see: another tensor's codes under a right checksum.
  Bytes archive;
  ArchiveWriter writer(std::make_unique<MemoryByteSink>(archive));
  const Codec exact = codec("exact");
  const std::vector<std::byte> chain = exact.serialize();
  const TensorDesc desc{DType::bf16, {1000, 64}};
  const Bytes nonsense = random_bytes(4000, 5);
  writer.append({.name = "t", .tensor = desc, .first_elem = 0, .part = desc.shape, .chain = chain},
                nonsense);
  writer.finish();
  const auto checked = verify(open(archive), settings(&device));
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, ErrorCode::corrupt_payload);
  EXPECT_NE(checked.error().what.find("tensor 't'"), std::string::npos) << checked.error().what;
}

TEST_F(OffloadJobs, CancelEndsBoth) {
  std::stop_source stop;
  JobSettings with = settings(&device);
  with.cancel = stop.get_token();
  with.on_progress = [&](const JobProgress&) { stop.request_stop(); };
  MemorySource from = source();
  Bytes archive;
  ArchiveWriter writer(std::make_unique<MemoryByteSink>(archive));
  EXPECT_EQ(pack(from, writer, codec("exact"), with).error().code, ErrorCode::cancelled);
  const Bytes whole_archive = pack_on(nullptr);
  const ArchiveReader reader = open(whole_archive);
  stop = {};
  with.cancel = stop.get_token();
  MemorySink sink;
  EXPECT_EQ(unpack(reader, sink, with).error().code, ErrorCode::cancelled);
}

}  // namespace
}  // namespace offramp::testing_offload
