// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "harness/measure/sampler.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/worker/protocol/worker_service.hpp"
#include "runners/engine/bench/candidate.hpp"
#include "runners/engine/bench/verification.hpp"

namespace plumb::engine {

/// Preparation of the programs of one key's variants, until they can be timed.
///
/// All programs get the same seeded operands. Each is verified at its first execution. The
/// arguments of the constructor must outlive it.
class CandidatePreparation {
 public:
  CandidatePreparation(worker::Backend& backend,
                       const measure::Clock& clock,
                       const worker::MeasureRequest& request,
                       model::LayerSpec spec);

  /// Prepares the candidate's program, binds slot 0, executes it once and verifies the output. Does
  /// nothing if the program exists. Returns false if this fails; the candidate's row then says why.
  bool make_ready(Candidate& candidate);

  [[nodiscard]] const std::vector<model::Tensor>& operands() const { return operands_; }

 private:
  void verify(Candidate& candidate);

  worker::Backend& backend_;
  const measure::Clock& clock_;
  const worker::MeasureRequest& request_;
  model::LayerSpec spec_;
  std::vector<model::Tensor> operands_;
  std::optional<Verifier> verifier_;
};

}  // namespace plumb::engine
