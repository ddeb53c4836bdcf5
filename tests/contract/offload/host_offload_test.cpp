// SPDX-License-Identifier: Apache-2.0
// The offloader over the host device, whose kernels are the stages themselves.
#include "contract/offload_contract.hpp"

namespace offramp::testing_offload {

INSTANTIATE_TEST_SUITE_P(Host, OffloadContract, testing::Values(+[] { return &host_device(); }));

}  // namespace offramp::testing_offload
