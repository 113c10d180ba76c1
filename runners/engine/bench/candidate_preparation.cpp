// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/bench/candidate_preparation.hpp"

#include <utility>

#include "harness/base/error.hpp"
#include "runners/engine/bench/random_operands.hpp"

namespace plumb::engine {

CandidatePreparation::CandidatePreparation(worker::Backend& backend,
                                           const measure::Clock& clock,
                                           const worker::MeasureRequest& request,
                                           model::LayerSpec spec)
    : backend_(backend),
      clock_(clock),
      request_(request),
      spec_(std::move(spec)),
      operands_(random_operands(spec_, request.seed)) {}

bool CandidatePreparation::make_ready(Candidate& candidate) {
  if (candidate.program) {
    return true;
  }
  const Seconds begin = clock_();
  results::Measurement& row = candidate.row;
  guarded(row, [&] {
    worker::Prepared prepared = backend_.prepare(request_.key, candidate.variant.text);
    row.outcome = prepared.outcome;
    if (!row.outcome.ok()) {
      return;
    }
    PLUMB_CHECK(prepared.program != nullptr);
    candidate.program = std::move(prepared.program);
    const Seconds bound = clock_();
    candidate.program->bind(0, operands_, false);
    candidate.slots = 1;
    candidate.bind = clock_() - bound;
    const Seconds called = clock_();
    candidate.program->enqueue(0);
    candidate.program->synchronize();
    const Seconds first_call = clock_() - called;
    if (!candidate.verified) {
      candidate.facts = candidate.program->facts();
      row.creation = candidate.facts.creation;
      row.workspace = candidate.facts.workspace;
      row.attributes.merge(results::Attributes(candidate.facts.attributes));
      row.first_call = first_call;
      candidate.execution = first_call;
      verify(candidate);
    }
  });
  row.wall = clock_() - begin;
  if (!row.outcome.ok()) {
    candidate.program.reset();
  }
  return row.outcome.ok();
}

void CandidatePreparation::verify(Candidate& candidate) {
  const std::vector<model::Tensor> outputs = candidate.program->outputs(0);
  candidate.verified = true;
  if (!request_.verify) {
    candidate.row.output_hash = output_hash(outputs);
    return;
  }
  if (!verifier_) {
    VerifyOptions options;
    options.fully_below_macs = request_.verify_fully_below_macs;
    options.seed = request_.seed;
    verifier_.emplace(spec_, operands_, options);
  }
  const Verdict verdict = verifier_->verify(
      outputs, find_arithmetic(candidate.variant.text, candidate.facts.attributes));
  candidate.row.maximum_error = verdict.maximum_error;
  candidate.row.output_hash = verdict.output_hash;
  // Without a reference, the absent error says that nothing was compared.
  if (verdict.outcome.kind != results::Outcome::Kind::kUnsupported) {
    candidate.row.outcome = verdict.outcome;
  }
}

}  // namespace plumb::engine
