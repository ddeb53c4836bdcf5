// SPDX-License-Identifier: Apache-2.0
#include "contract/device_contract.hpp"

#include <offramp/device/device_table.hpp>

namespace offramp::testing_device {

INSTANTIATE_TEST_SUITE_P(Host, DeviceContract, testing::Values([] { return &host_device(); }),
                         [](const auto&) { return "host"; });

TEST(DeviceTable, FindsTheHostByItsNamesAndOnlyByThese) {
  for (const auto* name : {"host", "host:0"}) {
    const auto found = find_device(name);
    ASSERT_TRUE(found) << name;
    EXPECT_EQ(*found, &host_device());
  }
  for (const auto* name : {"", "hos", "host:", "host:1", "host:-1", "host:0x", "tpu:0", "Host"}) {
    const auto found = find_device(name);
    ASSERT_FALSE(found) << name;
    EXPECT_EQ(found.error().code, ErrorCode::not_found);
    EXPECT_NE(found.error().remedy.find("host"), std::string::npos) << name;
  }
}

TEST(DeviceTable, AutoIsOfTheLastKindThatIsThere) {
  Device* best = nullptr;
  for (const DeviceRow& row : device_table()) {
    if (row.count() > 0) best = &row.get(0);
  }
  const auto found = find_device("auto");
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, best);
}

TEST(DeviceTable, EveryRowSaysWhetherItIsThere) {
  ASSERT_FALSE(device_table().empty());
  EXPECT_EQ(device_table().front().kind, "host");
  for (const DeviceRow& row : device_table()) {
    EXPECT_EQ(row.count() == 0, !row.why_not().empty()) << row.kind;
    for (int at = 0; at < row.count(); ++at) EXPECT_EQ(&row.get(at), &row.get(at));
  }
}

}  // namespace offramp::testing_device
