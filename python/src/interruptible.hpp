// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace offramp::python {

/// Runs `work` without the GIL and throws what it throws. In Python's main thread, which alone sees
/// signals, it runs in another thread: a signal's handler then runs while it waits, and where that
/// raises (KeyboardInterrupt), `give_up` is called, the work is waited for, and the exception
/// thrown. Called and left with the GIL.
void interruptible(const std::function<void()>& work, const std::function<void()>& give_up);

}  // namespace offramp::python
