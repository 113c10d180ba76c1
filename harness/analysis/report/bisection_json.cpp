// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/report/bisection_json.hpp"

#include <array>
#include <utility>

#include "harness/analysis/report/run_json.hpp"
#include "harness/base/error.hpp"

namespace plumb::analysis {
namespace {

template <typename Word, std::size_t count>
Word read_word(const Json& document, const std::array<Word, count>& words) {
  const auto text = document.get<std::string>();
  for (const Word word : words) {
    if (to_text(word) == text) {
      return word;
    }
  }
  throw Error(Error::Kind::kUser, "a step of a search says '" + text + "'");
}

void read_test(const Json& document, MetricComparison& test) {
  using enum ComparisonVerdict;
  test.verdict = read_word(document.at("verdict"),
                           std::array{kBroken, kRegressed, kImproved, kEquivalent, kInconclusive});
  test.reason = document.at("reason").get<std::string>();
  if (document.at("ratio").is_number()) {
    test.ratio = document.at("ratio").get<double>();
    test.baseline = document.at("baseline_seconds").get<double>();
    test.candidate = document.at("candidate_seconds").get<double>();
    test.low = document.at("interval").at(0).get<double>();
    test.high = document.at("interval").at(1).get<double>();
  }
  if (document.at("q").is_number()) {
    test.q = document.at("q").get<double>();
  }
}

BisectionStep read_step(const Json& document) {
  BisectionStep step;
  using enum SearchTask::Purpose;
  step.task.purpose = read_word(document.at("purpose"), std::array{kEnds, kSearch, kConfirmation});
  step.task.candidate = document.at("candidate").get<std::size_t>();
  step.task.against = document.at("against").get<std::size_t>();
  using enum CandidateState;
  step.state = read_word(document.at("state"), std::array{kGood, kBad, kUnknown, kSkipped});
  if (document.at("subject").is_string()) {
    step.subject.name = document.at("subject").get<std::string>();
    step.subject.mode =
        document.at("mode").is_string() ? document.at("mode").get<std::string>() : "";
  }
  step.baseline_variant = document.at("baseline_variant").get<std::string>();
  step.candidate_variant = document.at("candidate_variant").get<std::string>();
  step.pairs = document.at("pairs").get<std::size_t>();
  step.baseline_run = document.at("baseline_run").get<std::string>();
  step.run = document.at("run").get<std::string>();
  step.problem =
      document.at("problem").is_string() ? document.at("problem").get<std::string>() : "";
  step.tail = document.at("log_tail").get<std::vector<std::string>>();
  step.log = document.at("log").is_string() ? document.at("log").get<std::string>() : "";
  step.builds = document.at("builds").get<std::size_t>();
  read_test(document, step.test);
  return step;
}

}  // namespace

Json step_json(const BisectionStep& step, const Bisection& bisection) {
  const MetricComparison& test = step.test;
  const bool compared = test.ratio.has_value();
  const BisectionCandidate& candidate = bisection.line[step.task.candidate];
  Json document{{"purpose", to_text(step.task.purpose)},
                {"candidate", step.task.candidate},
                {"against", step.task.against},
                {bisection.unit, candidate.name}};
  document[bisection.unit == "commit" ? "commit_subject" : "version"] = candidate.about;
  document.update({{"state", to_text(step.state)},
                   {"subject", text_or_null(step.subject.name)},
                   {"mode", text_or_null(step.subject.mode)},
                   {"verdict", to_text(test.verdict)},
                   {"reason", test.reason},
                   {"baseline_seconds", compared ? Json(test.baseline) : Json()},
                   {"candidate_seconds", compared ? Json(test.candidate) : Json()},
                   {"ratio", compared ? Json(*test.ratio) : Json()},
                   {"interval", compared ? Json{test.low, test.high} : Json()},
                   {"q", test.q ? Json(*test.q) : Json()},
                   {"pairs", step.pairs},
                   {"baseline_variant", step.baseline_variant},
                   {"candidate_variant", step.candidate_variant},
                   {"baseline_run", step.baseline_run},
                   {"run", step.run},
                   {"problem", text_or_null(step.problem)},
                   {"log", text_or_null(step.log)},
                   {"log_tail", step.tail},
                   {"builds", step.builds}});
  return document;
}

BisectionStep step_from_json(const Json& document) {
  try {
    return read_step(document);
  } catch (const nlohmann::json::exception& error) {
    throw Error(Error::Kind::kUser,
                std::string("a step of a search cannot be read: ") + error.what());
  }
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
