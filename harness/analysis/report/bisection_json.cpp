// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/report/bisection_json.hpp"

#include <array>
#include <utility>

#include "harness/analysis/compare/metric_fields.hpp"
#include "harness/analysis/report/run_json.hpp"

namespace plumb::analysis {
namespace {

constexpr std::array kPurposes{
    SearchTask::Purpose::kEnds, SearchTask::Purpose::kSearch, SearchTask::Purpose::kConfirmation};
constexpr std::array kStates{CandidateState::kGood,
                             CandidateState::kBad,
                             CandidateState::kUnknown,
                             CandidateState::kSkipped};

/// Describes a step. What is written also names the candidate, for which the search is needed.
template <typename Fields>
void describe_step(Fields& fields, Described<Fields, BisectionStep>& value, const Bisection* of) {
  fields("purpose", value.task.purpose, kPurposes);
  fields("candidate", value.task.candidate);
  fields("against", value.task.against);
  if (of != nullptr) {
    const BisectionCandidate& candidate = of->line[value.task.candidate];
    fields.derived(of->unit.c_str(), [&] { return candidate.name; });
    fields.derived(of->unit == "commit" ? "commit_subject" : "version",
                   [&] { return candidate.about; });
  }
  fields("state", value.state, kStates);
  fields.null_if_empty("subject", value.subject.name);
  fields.null_if_empty("mode", value.subject.mode);
  fields("verdict", value.test.verdict, kVerdicts);
  fields("reason", value.test.reason);
  describe_change(fields, value.test);
  fields("pairs", value.pairs);
  fields("baseline_variant", value.baseline_variant);
  fields("candidate_variant", value.candidate_variant);
  fields("baseline_run", value.baseline_run);
  fields("run", value.run);
  fields.null_if_empty("problem", value.problem);
  fields.null_if_empty("log", value.log);
  fields("log_tail", value.tail);
  fields("builds", value.builds);
}

}  // namespace

Json step_json(const BisectionStep& step, const Bisection& bisection) {
  results::FieldWriter<Json> fields;
  describe_step(fields, step, &bisection);
  return fields.take();
}

BisectionStep step_from_json(const nlohmann::json& document) {
  BisectionStep step;
  results::FieldReader fields{results::JsonObject(document)};
  describe_step(fields, step, nullptr);
  return step;
}

Json bisection_document(const Bisection& bisection) {
  Json names = Json::array();
  for (const BisectionCandidate& candidate : bisection.line) {
    names.push_back(candidate.name);
  }
  Json steps = Json::array();
  for (const BisectionStep& step : bisection.steps) {
    steps.push_back(step_json(step, bisection));
  }
  Json range = Json::array();
  for (std::size_t i = bisection.last_good + 1; bisection.found() && i <= bisection.first_bad;
       ++i) {
    range.push_back(bisection.line[i].name);
  }
  const std::optional<BisectionSubject>& subject = bisection.subject;
  Json document = new_document();
  document["what"] = bisection.what;
  document["key"] = subject && subject->mode.empty() ? Json(subject->name) : Json();
  document["model"] = subject && !subject->mode.empty() ? Json(subject->name) : Json();
  document["mode"] = subject ? text_or_null(subject->mode) : Json();
  document[bisection.unit + "s"] = std::move(names);
  document["last_good"] = bisection.line.at(bisection.last_good).name;
  document["first_bad"] =
      bisection.found() ? Json(bisection.line.at(bisection.first_bad).name) : Json();
  document["exact"] = bisection.exact();
  document["confirmed"] = bisection.confirmed();
  document["range"] = std::move(range);
  document["complete"] = bisection.complete;
  document["builds"] = bisection.builds;
  document["reason"] = conclusion(bisection);
  document["steps"] = std::move(steps);
  return document;
}

}  // namespace plumb::analysis
