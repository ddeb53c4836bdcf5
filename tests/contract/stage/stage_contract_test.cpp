// SPDX-License-Identifier: Apache-2.0
#include "contract/stage_contract.hpp"

namespace offramp {
namespace {

std::string test_name(const testing::TestParamInfo<StageRow>& row) {
  std::string name(row.param.name);
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(StageTable, StageContract,
                         testing::ValuesIn(stage_table().begin(), stage_table().end()), test_name);

TEST(CountingNew, CountsAnAllocation) {
  const std::size_t before = testing_samples::allocations();
  // Called by name: a compiler may leave out a `new` whose memory nobody needs, but not this.
  ::operator delete(::operator new(10));
  EXPECT_EQ(testing_samples::allocations(), before + 1);
}

TEST(GuardedBytes, ShowsAWriteOnEitherSide) {
  testing_samples::GuardedBytes bytes(5);
  EXPECT_TRUE(bytes.intact());
  bytes.span().data()[5] = std::byte{1};
  EXPECT_FALSE(bytes.intact());
  testing_samples::GuardedBytes others(0);
  others.span().data()[-1] = std::byte{1};
  EXPECT_FALSE(others.intact());
}

}  // namespace
}  // namespace offramp
