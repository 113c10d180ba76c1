// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "harness/worker/client/worker_process.hpp"

namespace plumb::stacks {

/// Inquiry into what a stack would choose for layers on a described device, one by one. A layer
/// that kills the worker costs only its own answer.
class StackInquiry {
 public:
  /// Starts a worker. Throws what starting a worker throws.
  explicit StackInquiry(worker::WorkerOptions options);

  [[nodiscard]] const results::Environment& environment() const { return environment_; }

  /// Returns the stack's choices for one layer. If the worker dies, its death is the outcome.
  /// Throws Error{kEnvironment} when the fifth worker in a row dies: then the layer is not the
  /// cause.
  [[nodiscard]] results::EngineChoices ask(const worker::PreviewRequest& request);

 private:
  void start();

  worker::WorkerOptions options_;
  std::optional<worker::WorkerProcess> worker_;
  results::Environment environment_;
  int deaths_ = 0;  ///< in a row
};

}  // namespace plumb::stacks
