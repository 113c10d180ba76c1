// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runners/cuda/driver/cublas_abi.hpp"

namespace plumb::cuda {

/// Name of the row's attribute that holds cuBLASLt's algorithm. Its value means the same only in
/// the version that wrote it.
inline constexpr const char* kAlgorithmAttribute = "algorithm";

/// Returns an algorithm as hexadecimal digits, sixteen for each word.
[[nodiscard]] std::string algorithm_text(const abi::LtAlgorithm& algorithm);

/// Reads what algorithm_text() wrote. Throws Error{kUser} for anything else.
[[nodiscard]] abi::LtAlgorithm parse_algorithm(const std::string& text);

}  // namespace plumb::cuda
