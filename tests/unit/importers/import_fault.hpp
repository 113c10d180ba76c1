// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "harness/base/error.hpp"

namespace plumb::test {

/// Returns the message of the user's error that `read` throws, or "taken".
template <typename Read>
std::string import_fault(const Read& read) {
  try {
    static_cast<void>(read());
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kUser);
    return error.what();
  }
  return "taken";
}

}  // namespace plumb::test
