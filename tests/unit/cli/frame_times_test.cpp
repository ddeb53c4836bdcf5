// SPDX-License-Identifier: Apache-2.0
#include "frame_times.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace offramp::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

// Ten seconds of a job that made frames for `compute_s` and wrote for `write_s`.
FrameTimes times_of(double compute_s, double write_s, double stall_s) {
  FrameTimes times;
  times.rows[0].busy_s = compute_s;
  times.rows[4].busy_s = write_s;
  times.stall_s = stall_s;
  return times;
}

TEST(WhatLimited, MoreSlotsAreAdvisedWhereProcessorsAreFree) {
  const FrameTimes waited = times_of(6, 7, 2);
  EXPECT_THAT(what_limited(waited, 10, 0.5), HasSubstr("more --slots let them run ahead"));
  const std::string shared = what_limited(waited, 10, 0.97);
  EXPECT_THAT(shared, HasSubstr("The processors were busy for 97.0 %"));
  EXPECT_THAT(shared, HasSubstr("more --slots would not help"));
}

TEST(WhatLimited, AStepThatWasBusyAllTheTimeIsNamedWhateverElseWas) {
  EXPECT_THAT(what_limited(times_of(9.8, 3, 0), 10, 1), HasSubstr("Computing limited the job"));
  EXPECT_THAT(what_limited(times_of(3, 9.8, 5), 10, 1), HasSubstr("Writing limited the job"));
  EXPECT_THAT(what_limited(times_of(3, 4, 0), 10, 0.2), Not(HasSubstr("--slots")));
}

}  // namespace
}  // namespace offramp::cli
