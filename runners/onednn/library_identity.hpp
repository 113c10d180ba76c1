// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/results/environment.hpp"

namespace plumb::onednn {

/// Describes the oneDNN library that is mapped: what a series must not mix (library, instruction
/// set, threading runtime) and, as facts, where it came from.
[[nodiscard]] Environment describe_library();

/// Names an instruction set as ONEDNN_MAX_CPU_ISA does: "AVX512_CORE_BF16"; unknown ones as a hex
/// number.
[[nodiscard]] std::string isa_text(unsigned isa);

}  // namespace plumb::onednn
