// SPDX-License-Identifier: Apache-2.0
#include "contract/frame_writer/frame_writer_contract.hpp"

namespace offramp::testing_frame_writer {

INSTANTIATE_TEST_SUITE_P(Host, FrameWriterContract,
                         testing::Values(+[] { return &host_device(); }));

}  // namespace offramp::testing_frame_writer
