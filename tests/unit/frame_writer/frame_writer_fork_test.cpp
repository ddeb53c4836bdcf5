// SPDX-License-Identifier: Apache-2.0
// A process forked while a writer works has the writer, and none of its threads.
#include "unit/frame_writer/frame_writer_kit.hpp"

#include <offramp/core/error.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>

namespace offramp::testing_frame_writer {
namespace {

class FrameWriterFork : public FrameWriterBase {};

INSTANTIATE_TEST_SUITE_P(Devices, FrameWriterFork,
                         testing::Values(Case{0, false}, Case{0, true}, Case{2, false}),
                         name_of_case);

template <class Call>
bool is_refused(Call call) {
  try {
    call();
    return false;
  } catch (const LogicError&) {
    return true;
  }
}

// What `body` returns, as an exit status, in a process of its own; nothing where it does not end.
template <class Body>
std::optional<int> in_fork(Body body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  const bool ended = eventually([&] { return ::waitpid(child, &status, WNOHANG) == child; });
  if (!ended) {
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
    return std::nullopt;
  }
  return WIFEXITED(status) ? std::optional<int>(WEXITSTATUS(status)) : std::nullopt;
}

TEST_P(FrameWriterFork, TheChildRefusesAndLeavesTheFileToTheParent) {
  const Sample sample = frames_of(3, 1);
  std::optional<FrameWriter> writer(this->writer());
  std::optional<FrameWriter::Slot> slot(writer->acquire());
  sink->gate.shut();
  static_cast<void>(writer->submit(stream, sample.view));
  expect(sample.view);
  ASSERT_TRUE(sink->gate.wait_for_someone());  // who writes is in the middle of a frame
  const auto status = in_fork([&] {
    bool gone = false;
    sink->when_gone = [&] { gone = true; };
    if (!is_refused([&] { static_cast<void>(writer->submit(stream, sample.view)); })) return 1;
    if (!is_refused([&] { static_cast<void>(writer->acquire()); })) return 2;
    if (!is_refused([&] { static_cast<void>(writer->counters()); })) return 3;
    if (!is_refused([&] { writer->close(); })) return 4;
    writer->cancel();
    slot.reset();
    writer.reset();
    const bool kept = sink->kept;
    sink.reset();
    return gone || kept ? 5 : 42;
  });
  EXPECT_EQ(status, 42);
  sink->gate.open();
  slot.reset();
  writer->close();
  EXPECT_TRUE(sink->finished);
  check();
}

// Here no thread holds the writer any more: its end in the child would keep what was written.
TEST_P(FrameWriterFork, TheChildOfAWriterThatFailedKeepsNothing) {
  const Sample sample = frames_of(3, 1);
  sink->throw_at = 2;
  std::optional<FrameWriter> writer(this->writer());
  EXPECT_FALSE(writer->submit(stream, sample.view).wait_durable());
  const auto status = in_fork([&] {
    writer.reset();
    return sink->kept ? 5 : 42;
  });
  EXPECT_EQ(status, 42);
  writer.reset();
  EXPECT_TRUE(sink->kept);
}

}  // namespace
}  // namespace offramp::testing_frame_writer
