// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "harness/results/run.hpp"

namespace plumb::session {

/// Reads what the machine says of itself: /proc and /sys below `root` ("/" but in tests), and
/// uname. Identity: cpu.model, cpu.count, memory (GiB, rounded up), virtualisation. Facts: kernel,
/// boot, microcode, governor, SMT, frequencies, caches, huge pages, load, and plumb's version,
/// commit, compiler and build type. What cannot be read is "unknown".
[[nodiscard]] results::Environment read_system(const std::filesystem::path& root = "/");

/// Returns the name of this host; "unknown" if it has none.
[[nodiscard]] std::string host_name();

/// Returns the name of what an environment was measured on: this host, and the identifier of its
/// GPU, if one was measured. Two GPUs of one host may differ in speed.
[[nodiscard]] std::string measuring_host(const results::Environment& environment);

/// Joins the system with what a worker said of its library and device. The thread count and the
/// version of the measurement method complete the identity for reuse
/// (docs/reference/measurement.md). The name of the stack is a fact.
[[nodiscard]] results::Environment join_environment(const results::Environment& system,
                                                    const results::Environment& worker,
                                                    int threads,
                                                    const std::string& stack);

}  // namespace plumb::session
