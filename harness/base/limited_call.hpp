// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string_view>

namespace plumb {

/// Call of a foreign library that may never return, from construction to destruction. It costs
/// nothing until limit_calls() was called. At most one at a time in a thread.
class LimitedCall {
 public:
  /// `what` begins the message of a call that does not return: "the rule of Einsum for node 'x'".
  explicit LimitedCall(std::string_view what);
  ~LimitedCall();
  LimitedCall(const LimitedCall&) = delete;
  LimitedCall& operator=(const LimitedCall&) = delete;
  LimitedCall(LimitedCall&&) = delete;
  LimitedCall& operator=(LimitedCall&&) = delete;
};

/// Gives every LimitedCall from now on a limit of its thread's processor time. A call beyond it
/// ends the process with a message on standard error and the status of Error::Kind::kUser. No
/// exception can leave a library that does not return. For the `main` of a program only.
void limit_calls(std::chrono::milliseconds limit);

}  // namespace plumb
