// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "runners/cuda/dnn/legacy/recurrent_problem.hpp"
#include "runners/cuda/reproducer/main_text.hpp"

namespace plumb::cuda {

/// Recurrent layer executed by one of cuDNN's algorithms.
struct RecurrentVariant {
  results::Measurement row;  ///< with its time
  abi::RecurrentAlgorithm algorithm = abi::RecurrentAlgorithm::kStandard;
};

/// Writes main.cpp of a program that executes a recurrent layer by cuDNN's call.
[[nodiscard]] std::string recurrent_source(const ReproducerTitle& title,
                                           const RecurrentProblem& problem,
                                           const std::vector<RecurrentVariant>& variants);

}  // namespace plumb::cuda
