// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "harness/worker/worker_process.hpp"

namespace plumb {

/// Asks one stack what it would choose for layers on a described device, one after the other. A
/// layer that kills the worker costs itself.
class StackInquiry {
 public:
  /// Throws what starting a worker throws.
  explicit StackInquiry(WorkerOptions options);

  [[nodiscard]] const Environment& environment() const { return environment_; }

  /// Returns the worker's death as the outcome where it dies. Throws Error{kEnvironment} when it
  /// dies time after time: then it is not the layer.
  [[nodiscard]] EngineChoices ask(const PreviewRequest& request);

 private:
  void start();

  WorkerOptions options_;
  std::optional<WorkerProcess> worker_;
  Environment environment_;
  int deaths_ = 0;  ///< in a row
};

}  // namespace plumb
