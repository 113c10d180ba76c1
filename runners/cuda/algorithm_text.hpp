// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runners/cuda/cublas_abi.hpp"

namespace plumb::cuda {

/// Names the attribute of a row that holds cuBLASLt's algorithm: what it is for the version that
/// wrote it, and no other.
inline constexpr const char* kAlgorithmAttribute = "algorithm";

/// Writes an algorithm as hexadecimal digits, sixteen a word.
[[nodiscard]] std::string algorithm_text(const abi::LtAlgorithm& algorithm);

/// Reads what algorithm_text() wrote. Throws Error{kUser} for anything else.
[[nodiscard]] abi::LtAlgorithm algorithm_of(const std::string& text);

}  // namespace plumb::cuda
