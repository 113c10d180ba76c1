// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "harness/results/environment.hpp"

namespace plumb {

/// Reads what the machine says of itself: /proc, /sys and uname below `root` ("/" but in tests).
/// identity: cpu.model, cpu.count, memory (GiB, rounded), virtualisation; facts: kernel, microcode,
/// governor, SMT, frequency range, caches, huge pages, our version, commit and compiler. What
/// cannot be read is "unknown".
[[nodiscard]] Environment read_system(const std::filesystem::path& root = "/");

/// Joins the system with what a worker said of its library and device, the thread count and the
/// version of the measurement method (docs/reference/measurement.md): the identity for reuse.
[[nodiscard]] Environment join_environment(const Environment& system,
                                           const Environment& worker,
                                           int threads,
                                           const std::string& stack);

}  // namespace plumb
