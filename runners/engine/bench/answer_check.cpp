// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/bench/answer_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/base/error.hpp"
#include "runners/engine/exec/output_difference.hpp"

namespace plumb::engine {

AnswerCheck::AnswerCheck(BatchRunner& executor,
                         std::size_t samples,
                         std::string_view type,
                         loadgen::ResponseLog* next)
    : type_(type), next_(next) {
  for (std::size_t index = 0; index < samples; ++index) {
    try {
      expected_.emplace_back(executor.answer_alone(index));
    } catch (const Error&) {
      expected_.emplace_back();  // the load itself will say that it cannot be answered
    }
  }
}

void AnswerCheck::record(std::uint64_t sequence,
                         std::uint64_t index,
                         std::span<const std::byte> data) {
  if (next_ != nullptr) {
    next_->record(sequence, index, data);
  }
  if (!expected_.at(index)) {
    return;
  }
  const model::Tensor& expected = *expected_[index];
  model::Tensor answer{expected.type, {}};
  answer.data.assign(data.begin(), data.end());
  ++agreement_.samples;
  if (answer.data.size() != expected.data.size()) {
    outcome_ = {results::Outcome::Kind::kWrongResult,
                fmt::format("the answer to sample {} has {} bytes under load, but {} alone",
                            index,
                            answer.data.size(),
                            expected.data.size())};
    return;
  }
  const double difference = largest_difference({&answer, 1}, {&expected, 1});
  agreement_.maximum_difference = std::max(agreement_.maximum_difference, difference);
  const double most = tolerated_difference({&answer, 1}, type_);
  if (difference > most && outcome_.ok()) {
    outcome_ = {results::Outcome::Kind::kWrongResult,
                fmt::format("the answer to sample {} under load differs from its answer alone by "
                            "{:.3g} of its largest magnitude; up to {:g} counts as rounding",
                            index,
                            difference,
                            most)};
  }
}

loadgen::RequestedLoad answer_check_load(const loadgen::RequestedLoad& load,
                                         std::uint64_t samples) {
  loadgen::RequestedLoad check = loadgen::accuracy_load(load, samples);
  if (load.scenario == loadgen::LoadScenario::kServer) {
    check.scenario = loadgen::LoadScenario::kOffline;
    check.percentile.reset();
    check.latency_limit.reset();
    check.target_rate.reset();
  }
  return check;
}

}  // namespace plumb::engine
