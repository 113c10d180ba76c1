// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

/// Ends a test that lacks NVIDIA's headers or run-time compiler: with a failure where ci/setup test
/// has fetched them (PLUMB_NVIDIA_REQUIRED), else as skipped.
#ifdef PLUMB_NVIDIA_REQUIRED
#define PLUMB_WITHOUT_NVIDIA() FAIL() << "run ci/setup test: "
#else
#define PLUMB_WITHOUT_NVIDIA() GTEST_SKIP()
#endif
