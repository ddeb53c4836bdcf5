// SPDX-License-Identifier: Apache-2.0
#include "golden/golden_codecs.hpp"

#include "core/bytes.hpp"
#include "core/hash.hpp"
#include "unit/container/sample_archive.hpp"

#include <offramp/codec/codec.hpp>
#include <offramp/container/archive_reader.hpp>
#include <offramp/container/archive_writer.hpp>

#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace offramp::test {
namespace {

// splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t operator()() {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

struct FloatForm {
  int exponent_bits{};
  int mantissa_bits{};
};

FloatForm form_of(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return {8, 7};
    case DType::fp16:
      return {5, 10};
    case DType::fp64:
      return {11, 52};
    case DType::fp8_e4m3:
      return {4, 3};
    case DType::fp8_e5m2:
      return {5, 2};
    default:
      return {8, 23};
  }
}

// A number as activations have them: its channel's scale, halved as often as a coin falls, any
// mantissa and sign; one in 500 is any bit pattern.
std::uint64_t float_bits(DType dtype, Random& random, std::uint64_t channel) {
  const auto [exponent_bits, mantissa_bits] = form_of(dtype);
  const std::uint64_t drawn = random();
  const std::uint64_t width = 8 * size_of(dtype);
  if (drawn % 500 == 0)
    return width == 64 ? random() : random() & ((std::uint64_t{1} << width) - 1);
  const std::uint64_t middle = std::uint64_t{1} << (exponent_bits - 1);
  const std::uint64_t scale = middle + channel * 7 % (exponent_bits < 8 ? 3 : 13);
  const auto halvings = static_cast<std::uint64_t>(std::countr_zero(drawn >> 32 | 0x200)) / 2;
  const std::uint64_t sign = (drawn >> 12) & 1;
  const std::uint64_t mantissa = random() & ((std::uint64_t{1} << mantissa_bits) - 1);
  return (sign << exponent_bits | (scale - halvings)) << mantissa_bits | mantissa;
}

using Value = std::function<std::uint64_t(Random&, std::uint64_t index)>;

class CodecArchive {
 public:
  explicit CodecArchive(std::string_view codec)
      : codec_(Codec::from_name(codec).value()),
        writer_(std::make_unique<MemoryByteSink>(bytes_), ArchiveWriter::Settings{.version = 1}) {}

  void add(const std::string& name, const TensorDesc& desc, const Value& value) {
    Random random(xxh3_64(std::as_bytes(std::span(name))));
    const std::size_t size = size_of(desc.dtype);
    Bytes raw(desc.size() + sizeof(std::uint64_t));
    for (std::uint64_t i = 0; i < desc.shape.elems(); ++i) {
      store(raw.data() + i * size, value(random, i));  // the bytes above are the next value's
    }
    raw.resize(desc.size());
    Workers workers(1);
    Bytes payload(codec_.max_encoded_size(desc));
    Bytes scratch(codec_.encode_scratch_size(desc, workers.size()));
    const auto encoded = codec_.encode({desc, raw}, payload, scratch, workers);
    writer_.append({.name = name,
                    .tensor = desc,
                    .first_elem = 0,
                    .part = desc.shape,
                    .chain = encoded.stored ? store_chain() : codec_.serialize()},
                   std::span(payload).first(encoded.size));
  }

  Bytes finish() && {
    writer_.finish();
    return std::move(bytes_);
  }

 private:
  Codec codec_;
  Bytes bytes_;
  ArchiveWriter writer_;
};

Value floats(DType dtype, std::uint64_t channels) {
  return [=](Random& random, std::uint64_t i) { return float_bits(dtype, random, i % channels); };
}

// The value of `other` where `kept` says so, else zero.
Value only(Value other, std::function<bool(Random&, std::uint64_t)> kept) {
  return [=](Random& random, std::uint64_t i) {
    const std::uint64_t value = other(random, i);
    return kept(random, i) ? value : 0;
  };
}

}  // namespace

std::vector<std::byte> codec_archive(std::string_view codec) {
  CodecArchive archive(codec);
  archive.add("groups", {DType::bf16, {2, 300, 64}}, floats(DType::bf16, 64));
  for (const DType dtype :
       {DType::bf16, DType::fp16, DType::fp32, DType::fp64, DType::fp8_e4m3, DType::fp8_e5m2}) {
    archive.add("float." + std::string(name_of(dtype)), {dtype, {80, 70}}, floats(dtype, 70));
  }
  archive.add("narrow", {DType::bf16, {500, 3}}, floats(DType::bf16, 3));
  archive.add("vector", {DType::bf16, {1000}}, floats(DType::bf16, 1));
  archive.add("page", {DType::bf16, {16, 128}}, floats(DType::bf16, 128));
  archive.add("bf16 as fp32", {DType::fp32, {128, 64}}, [](Random& random, std::uint64_t i) {
    return float_bits(DType::bf16, random, i % 64) << 16;
  });
  archive.add("fp16 as fp32", {DType::fp32, {128, 64}}, [](Random& random, std::uint64_t i) {
    return float_bits(DType::fp32, random, i % 64) & ~std::uint64_t{0x1fff};
  });
  archive.add("wide fp64", {DType::fp64, {64, 64}},
              [](Random& random, std::uint64_t) { return random(); });
  archive.add("constant", {DType::fp32, {100, 64}},
              [](Random&, std::uint64_t) { return std::uint64_t{0x3fc00000}; });
  archive.add("zeros", {DType::i64, {1000}},
              [](Random&, std::uint64_t) { return std::uint64_t{0}; });
  archive.add("a third", {DType::bf16, {256, 64}},
              only(floats(DType::bf16, 64),
                   [](Random& random, std::uint64_t) { return random() % 3 == 0; }));
  archive.add("one in fifty", {DType::bf16, {256, 64}},
              only(floats(DType::bf16, 64),
                   [](Random& random, std::uint64_t) { return random() % 50 == 0; }));
  archive.add("padded rows", {DType::bf16, {256, 64}},
              only(floats(DType::bf16, 64), [](Random&, std::uint64_t i) { return i / 64 < 100; }));
  archive.add("small i32", {DType::i32, {5000}},
              [](Random& random, std::uint64_t) { return (random() % 41 - 20) & 0xffffffff; });
  archive.add("counter", {DType::u64, {2000}},
              [](Random&, std::uint64_t i) { return 1'000'000 + i; });
  archive.add("i16", {DType::i16, {2000}},
              [](Random& random, std::uint64_t) { return (random() % 2001 - 1000) & 0xffff; });
  archive.add("bool", {DType::boolean, {3000}},
              [](Random& random, std::uint64_t) { return random() & 1; });
  archive.add("noise", {DType::u8, {777}},
              [](Random& random, std::uint64_t) { return random() & 0xff; });
  archive.add("scalar", {DType::fp64, {}},
              [](Random&, std::uint64_t) { return std::uint64_t{0x7ff0000000000001}; });
  archive.add("empty", {DType::bf16, {0, 64}},
              [](Random&, std::uint64_t) { return std::uint64_t{0}; });
  return std::move(archive).finish();
}

std::vector<std::byte> undecodable_archive(std::string_view codec) {
  Bytes bytes = codec_archive(codec);
  const auto reader = open_bytes(bytes);
  const ArchivePart& part = reader->tensors().front().parts.front();
  const std::uint64_t payload = part.record_offset + part.header_size;
  bytes.at(payload) ^= std::byte{1};  // the number of tiles
  const std::span changed = std::span(bytes).subspan(payload, part.payload_size);
  store(bytes.data() + part.record_offset + 40, xxh3_64(changed));
  mend_header(bytes, part.record_offset);
  return bytes;
}

}  // namespace offramp::test
