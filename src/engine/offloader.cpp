// SPDX-License-Identifier: Apache-2.0
#include "codec/device_codec.hpp"
#include "core/checks.hpp"
#include "engine/offload_core.hpp"

#include <offramp/engine/offloader.hpp>

#include <fmt/format.h>

#include <utility>

namespace offramp {
namespace {

OffloadCore& core_of(const std::shared_ptr<OffloadCore>& core) {
  OFFRAMP_EXPECTS(core, "the offloader was moved from");
  return *core;
}

std::shared_ptr<OffloadCore> start(OffloaderSettings settings, Codec codec,
                                   std::shared_ptr<RecordSink> sink) {
  auto core = std::make_shared<OffloadCore>(std::move(settings), std::move(codec), std::move(sink));
  try {
    core->start();
  } catch (...) {
    core->end_all();
    throw;
  }
  return core;
}

}  // namespace

Offloader::Offloader(OffloaderSettings settings, Codec codec, std::shared_ptr<RecordSink> sink) {
  OFFRAMP_EXPECTS(sink, "an offloader to a sink needs one");
  core_ = start(std::move(settings), std::move(codec), std::move(sink));
}

Offloader::Offloader(OffloaderSettings settings, Codec codec)
    : core_(start(std::move(settings), std::move(codec), nullptr)) {}

Offloader::Offloader(Offloader&&) noexcept = default;

Offloader& Offloader::operator=(Offloader&& other) noexcept {
  if (this != &other) {
    if (core_) core_->end_all();
    core_ = std::move(other.core_);
  }
  return *this;
}

Offloader::~Offloader() {
  if (core_) core_->end_all();
}

Result<void> Offloader::check_supported(const Device& device, const Codec& codec, DType dtype) {
  if (codec == Codec::from_name("store").value()) return {};
  if (codec.steps().size() == 1 &&
      device_codec(device).has_kernels(codec.steps().front().stage, dtype)) {
    return {};
  }
  return Error{.code = ErrorCode::unsupported,
               .what = fmt::format("{} has no kernels for the codec {} and {} in this build",
                                   device.name(), codec.name(), name_of(dtype)),
               .path = {},
               .remedy = "use --codec exact, or --device host"};
}

Ticket Offloader::submit(StreamRef producer, const Chunk& chunk) {
  OffloadCore& core = core_of(core_);
  OFFRAMP_EXPECTS(core.has_sink(), "an offloader without a sink keeps chunks: use `keep`");
  return core.submit(producer, chunk, nullptr);
}

Result<Kept> Offloader::keep(StreamRef producer, const Chunk& chunk) {
  OffloadCore& core = core_of(core_);
  OFFRAMP_EXPECTS(!core.has_sink(), "an offloader to a sink keeps nothing: use `submit`");
  OFFRAMP_EXPECTS(!chunk.tensors.empty(), "a chunk has at least one tensor");
  OFFRAMP_TRY(kept, core.make_room(chunk));
  Ticket ticket = core.submit(producer, chunk, kept);
  return Kept(std::move(kept), std::move(ticket));
}

Restoring Offloader::restore(StreamRef consumer, const Kept& kept,
                             std::span<std::byte* const> outs) {
  OffloadCore& core = core_of(core_);
  OFFRAMP_EXPECTS(kept.chunk_, "nothing is kept here");
  OFFRAMP_EXPECTS(outs.size() == kept.chunk_->tensors,
                  "a restore names a place for each tensor of its chunk");
  kept.ticket_.wait_durable().value();
  OFFRAMP_EXPECTS(kept.ticket_.state() == Ticket::State::durable, "the chunk was dropped");
  std::vector<CodedPieces> chunks(kept.chunk_->parts.size());
  for (std::size_t at = 0; at < chunks.size(); ++at) {
    const KeptPart& part = kept.chunk_->parts[at];
    chunks[at].codec = part.stored ? &core.store_codec() : &core.codec();
    chunks[at].desc = part.desc;
    chunks[at].out = outs[part.tensor] + part.offset;
    for (const HostStore::Block& block : part.blocks) {
      chunks[at].pieces.push_back(block.bytes());
      chunks[at].size += block.bytes().size();
    }
  }
  return Restoring(core.lane().restore(consumer, chunks, kept.chunk_));
}

Restoring Offloader::restore(StreamRef consumer, std::span<const CodedChunk> chunks,
                             std::shared_ptr<const void> keep_alive) {
  const std::vector<CodedPieces> pieces(chunks.begin(), chunks.end());
  return Restoring(core_of(core_).lane().restore(consumer, pieces, keep_alive));
}

void Offloader::close() { core_of(core_).close(std::nullopt); }

bool Offloader::stop(Ticket::Clock::time_point deadline) { return core_of(core_).close(deadline); }

void Offloader::cancel() noexcept {
  if (core_) core_->cancel();
}

Counters Offloader::counters() const { return core_of(core_).counters(); }

std::size_t Offloader::device_memory() const { return core_of(core_).device_memory(); }

Kept::Kept(std::shared_ptr<KeptChunk> chunk, Ticket ticket) noexcept
    : chunk_(std::move(chunk)), ticket_(std::move(ticket)) {}

std::size_t Kept::stored_size() const noexcept { return chunk_ ? chunk_->stored_size.load() : 0; }

Restoring::Restoring(std::shared_ptr<RestoreState> state) noexcept : state_(std::move(state)) {}

bool Restoring::is_done() const {
  OFFRAMP_EXPECTS(state_, "no restore was begun here");
  return state_->is_done();
}

Result<void> Restoring::wait() const {
  OFFRAMP_EXPECTS(state_, "no restore was begun here");
  return state_->wait();
}

}  // namespace offramp
