// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "harness/measure/sampler.hpp"
#include "harness/model/layer_spec.hpp"
#include "harness/worker/worker_service.hpp"
#include "runners/engine/candidate.hpp"
#include "runners/engine/verification.hpp"

namespace plumb {

/// Makes the programs of one key's variants ready to be timed: all with the same seeded operands,
/// each verified at its first execution. References must outlive it.
class CandidatePreparation {
 public:
  CandidatePreparation(Backend& backend,
                       const Clock& clock,
                       const MeasureRequest& request,
                       LayerSpec spec);

  /// Prepares, binds slot 0, executes once and verifies, unless that is done. False: the
  /// candidate's row says why not.
  bool make_ready(Candidate& candidate);

  [[nodiscard]] const std::vector<Tensor>& operands() const { return operands_; }

 private:
  void verify(Candidate& candidate);

  Backend& backend_;
  const Clock& clock_;
  const MeasureRequest& request_;
  LayerSpec spec_;
  std::vector<Tensor> operands_;
  std::optional<Verifier> verifier_;
};

}  // namespace plumb
