// SPDX-License-Identifier: Apache-2.0
#include "engine/restore_lane.hpp"

#include "core/bytes.hpp"
#include "core/checks.hpp"
#include "engine/await.hpp"
#include "engine/progress.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace offramp {
namespace {

constexpr std::size_t alignment = 128;
constexpr std::size_t most_chunks = 4096;  // of a launch

Error wrong_size(const CodedPieces& chunk) {
  return {.code = ErrorCode::corrupt_payload,
          .what = fmt::format("a stored chunk has {} bytes instead of {}", chunk.size,
                              chunk.desc.size()),
          .path = {},
          .remedy = {}};
}

}  // namespace

CodedPieces::CodedPieces(const CodedChunk& chunk)
    : codec(chunk.codec),
      desc(chunk.desc),
      pieces{chunk.payload},
      size(chunk.payload.size()),
      out(chunk.out) {}

void RestoreState::add() noexcept {
  const std::lock_guard lock(mutex_);
  ++pending_;
}

void RestoreState::settle(std::optional<Error> error) noexcept {
  const std::lock_guard lock(mutex_);
  --pending_;
  if (error && !error_) error_ = std::move(error);
  moved_.notify_all();
}

bool RestoreState::is_done() const {
  const std::lock_guard lock(mutex_);
  return pending_ == 0;
}

Result<void> RestoreState::wait() const {
  std::unique_lock lock(mutex_);
  moved_.wait(lock, [&] { return pending_ == 0; });
  if (error_) return *error_;
  return {};
}

RestoreLane::RestoreLane(Device& device, const Settings& settings)
    : device_(device),
      kernels_(device_codec(device)),
      settings_(settings),
      copy_stream_(device.make_stream()),
      decode_stream_(kernels_.make_stream(device, settings.priority)),
      slots_(settings.slots),
      // Twice as many as slots, so that the host need not be quick for the device to go on.
      calls_(2 * settings.slots) {
  OFFRAMP_EXPECTS(settings.slots > 0, "a way back needs a device slot");
  for (Slot& slot : slots_)
    slot.bytes = Buffer(decode_stream_, device_.memory(), settings_.slot_size);
  // Once, so that the copies of any slot may begin: they are another stream's.
  Event made = device_.make_event();
  made.record(decode_stream_);
  copy_stream_.ref().wait(made);
  // All that host memory at once: locking some later would stop the device.
  std::size_t table_size = 0;
  const std::vector<TensorDesc> most(most_chunks, {.dtype = DType::bf16, .shape = {1}});
  for (const StageRow& row : stage_table()) {
    if (row.id == StageId::store || !kernels_.has_kernels(row.id, DType::bf16)) continue;
    table_size = std::max(table_size, kernels_.decode_scratch_size(row.id, most).host);
  }
  words_ =
      HostSlab(device_, {.slots = calls_.size(), .slot_size = most_chunks * sizeof(std::uint32_t)});
  tables_ = HostSlab(device_, {.slots = calls_.size(), .slot_size = table_size});
  for (std::size_t at = 0; at < calls_.size(); ++at) {
    Call& call = calls_[at];
    call.words = {reinterpret_cast<std::uint32_t*>(words_.slot(at).data()), most_chunks};
    call.table = tables_.slot(at);
    call.ready = device_.make_event();
    call.arrived = device_.make_event();
    call.decoded = device_.make_event();
  }
}

void RestoreLane::start() {
  ended_ = false;
  try {
    thread_ = std::thread([self = shared_from_this()] {
      pthread_setname_np(pthread_self(), "offramp-restore");
      self->work();
    });
  } catch (...) {
    ended_ = true;
    throw;
  }
}

void RestoreLane::end(std::chrono::milliseconds patience) noexcept {
  bool ended = true;
  {
    std::unique_lock lock(mutex_);
    ending_ = true;
    moved_.notify_all();
    if (patience == std::chrono::milliseconds::max()) {
      moved_.wait(lock, [&] { return ended_; });
    } else {
      ended = moved_.wait_for(lock, patience, [&] { return ended_; });
    }
  }
  if (!thread_.joinable()) return;
  if (ended) {
    thread_.join();
  } else {
    thread_.detach();  // it owns the lane with everything that it uses
  }
}

std::size_t RestoreLane::device_memory() {
  const std::lock_guard lock(restore_mutex_);
  std::size_t sum = scratch_.size();
  for (const Slot& slot : slots_) sum += slot.bytes.size();
  return sum;
}

std::shared_ptr<RestoreState> RestoreLane::restore(StreamRef consumer,
                                                   std::span<const CodedPieces> chunks,
                                                   const std::shared_ptr<const void>& keep_alive) {
  OFFRAMP_EXPECTS(&consumer.driver() == &device_, "the stream belongs to another device");
  for (const CodedPieces& chunk : chunks) {
    OFFRAMP_EXPECTS(chunk.codec && chunk.codec->steps().size() == 1,
                    "a coded chunk needs a codec of one stage");
    const StageId stage = chunk.codec->steps().front().stage;
    OFFRAMP_EXPECTS(stage == StageId::store || kernels_.has_kernels(stage, chunk.desc.dtype),
                    "the device has no kernels for that codec and dtype: ask "
                    "Offloader::check_supported first");
    OFFRAMP_EXPECTS(chunk.desc.checked_size(), "a tensor's size does not fit 64 bits");
  }
  for (const CodedPieces& chunk : chunks) {
    const StageId stage = chunk.codec->steps().front().stage;
    if (stage != StageId::store) kernels_.load(device_, stage);
  }
  auto state = std::make_shared<RestoreState>();
  const std::lock_guard one_at_a_time(restore_mutex_);
  while (!chunks.empty()) {
    // As many as fit a slot and are of one stage; what is stored goes with any of them.
    std::size_t count = 0;
    std::size_t used = 0;
    std::size_t raw = 0;
    auto stage = StageId::store;
    for (const CodedPieces& chunk : chunks.first(std::min(chunks.size(), most_chunks))) {
      const StageId own = chunk.codec->steps().front().stage;
      if (own != StageId::store && stage != StageId::store && own != stage) break;
      const std::size_t end = own == StageId::store ? used : round_up(used, alignment) + chunk.size;
      if (count > 0 && (end > settings_.slot_size || raw + chunk.desc.size() > settings_.slot_size))
        break;
      if (own != StageId::store) stage = own;
      used = end;
      raw += chunk.desc.size();
      ++count;
    }
    pace(raw);
    const std::size_t number = begin_call();
    Call& call = calls_[number % calls_.size()];
    call.state = state;
    call.keep_alive = keep_alive;
    state->add();
    try {
      enqueue(call, number, consumer, chunks.first(count));
    } catch (...) {
      call.error = describe(std::current_exception(), "restore", "chunk", number);
    }
    {
      const std::lock_guard lock(mutex_);
      ++passed_;
      moved_.notify_all();
    }
    chunks = chunks.subspan(count);
  }
  return state;
}

void RestoreLane::pace(std::size_t bytes) {
  if (settings_.rate == 0) return;
  const auto now = std::chrono::steady_clock::now();
  next_ = std::max(next_, now);
  std::this_thread::sleep_until(next_);
  next_ += std::chrono::nanoseconds(static_cast<std::int64_t>(static_cast<double>(bytes) * 1e9 /
                                                              static_cast<double>(settings_.rate)));
}

std::size_t RestoreLane::begin_call() {
  std::unique_lock lock(mutex_);
  moved_.wait(lock, [&] { return begun_ - settled_ < calls_.size(); });
  return begun_++;
}

void RestoreLane::enqueue(Call& call, std::size_t number, StreamRef consumer,
                          std::span<const CodedPieces> chunks) {
  Slot& slot = slots_[number % slots_.size()];
  const StreamRef copies = copy_stream_;
  const StreamRef decodes = decode_stream_;
  call.error.reset();
  call.chunks.clear();
  call.descs.clear();
  copies_.clear();
  call.ready.record(consumer);
  if (number >= slots_.size())
    copies.wait(calls_[(number - slots_.size()) % calls_.size()].decoded);

  std::size_t need = 0;
  for (const CodedPieces& chunk : chunks) need = round_up(need, alignment) + chunk.size;
  if (need > slot.bytes.size()) {
    // Its last decoder is done before the stream that it is freed in goes on; so is the allocation
    // before the copy.
    slot.bytes = {};
    slot.bytes = Buffer(decodes, device_.memory(), need);
    call.arrived.record(decodes);
    copies.wait(call.arrived);
  }
  const auto copy_in = [&](const CodedPieces& chunk, std::byte* to) {
    for (const auto piece : chunk.pieces) {
      copies_.push_back({.to = to, .from = piece.data(), .size = piece.size()});
      to += piece.size();
    }
  };
  StageId stage = StageId::store;
  std::size_t used = 0;
  bool writes_out = false;
  for (const CodedPieces& chunk : chunks) {
    const StageId own = chunk.codec->steps().front().stage;
    if (own == StageId::store) {
      if (chunk.size != chunk.desc.size()) {
        call.error = wrong_size(chunk);
        continue;
      }
      writes_out = writes_out || chunk.size > 0;
      copy_in(chunk, chunk.out);
      continue;
    }
    stage = own;
    std::byte* const at = slot.bytes.data() + round_up(used, alignment);
    used = round_up(used, alignment) + chunk.size;
    copy_in(chunk, at);
    const std::size_t word = call.chunks.size();
    call.words[word] = 0;
    call.chunks.push_back({.desc = chunk.desc,
                           .in = at,
                           .in_size = chunk.size,
                           .out = chunk.out,
                           .status = &call.words[word]});
    call.descs.push_back(chunk.desc);
  }
  if (writes_out) copies.wait(call.ready);
  device_.copy_batch_async(copies, copies_);
  call.arrived.record(copies);
  decodes.wait(call.arrived);
  decodes.wait(call.ready);
  if (!call.chunks.empty()) {
    const ScratchSize size = kernels_.decode_scratch_size(stage, call.descs);
    if (scratch_.size() < size.device) {
      scratch_ = {};
      scratch_ = Buffer(decodes, device_.memory(), size.device);
    }
    kernels_.decode_async(
        decodes, stage, call.chunks,
        {.device = {scratch_.data(), scratch_.size()}, .host = call.table.first(size.host)});
  }
  call.decoded.record(decodes);
  consumer.wait(call.decoded);
}

void RestoreLane::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    moved_.wait(lock, [&] { return settled_ < passed_ || ending_; });
    if (settled_ == passed_) break;
    Call& call = calls_[settled_ % calls_.size()];
    lock.unlock();
    settle(call);
    lock.lock();
    ++settled_;
    moved_.notify_all();
  }
  ended_ = true;
  moved_.notify_all();
}

void RestoreLane::settle(Call& call) noexcept {
  try {
    if (call.error) {
      // Enqueued in part: what is under way still reads and writes.
      copy_stream_.ref().sync();
      decode_stream_.ref().sync();
    } else {
      await(call.decoded);
    }
    for (std::size_t at = 0; at < call.chunks.size() && !call.error; ++at) {
      if (const auto checked = kernels_.check_status(call.words[at]); !checked)
        call.error = checked.error();
    }
  } catch (...) {
    if (!call.error) call.error = describe(std::current_exception(), "restore", "chunk", 0);
  }
  call.keep_alive.reset();
  std::exchange(call.state, nullptr)->settle(std::exchange(call.error, std::nullopt));
}

}  // namespace offramp
