// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <csignal>
#include <vector>

namespace plumb::engine {

using SignalHandler = void (*)(int, siginfo_t*, void*);

/// Sets the handler of a signal. Null: the signal is ignored.
void set_signal_handler(int signal, SignalHandler handler, int flags = 0) noexcept;

/// Gives threads of this process alternate stacks, on which handlers with SA_ONSTACK run, and
/// returns the threads that have one. A thread with a stack of its own keeps it. Threads that have
/// ended or block the signal get none.
///
/// Code that a library makes at run time may keep data below the stack pointer, where a handler on
/// the thread's own stack would overwrite them. So no thread may execute such code meanwhile: it is
/// one such handler, for `signal`, that sets its stack. The signal is ignored afterwards. A stack
/// lasts as long as its thread. Throws Error{kEnvironment} if a thread does not answer.
[[nodiscard]] std::vector<pid_t> give_signal_stacks(const std::vector<pid_t>& threads, int signal);

}  // namespace plumb::engine
