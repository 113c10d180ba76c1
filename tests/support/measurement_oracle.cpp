// SPDX-License-Identifier: Apache-2.0
//
// Answers for the workers in Python: what the C++ side makes of the same samples, clocks, counters
// and seeds. Reads one JSON document from standard input and writes one.
#include <fmt/core.h>

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "harness/measure/disturbance.hpp"
#include "harness/measure/sample_summary.hpp"
#include "harness/measure/sampler.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "runners/engine/bench/random_operands.hpp"
#include "runners/engine/number_formats.hpp"

namespace plumb {
namespace {

using nlohmann::json;

std::vector<Seconds> read_seconds(const json& numbers) {
  std::vector<Seconds> result;
  for (const double number : numbers) {
    result.emplace_back(number);
  }
  return result;
}

json write_summary(const measure::SampleSummary& summary) {
  const auto width = measure::relative_half_width(summary);
  return {{"n", summary.n},
          {"median", summary.median.count()},
          {"low", summary.interval.low.count()},
          {"high", summary.interval.high.count()},
          {"min", summary.min.count()},
          {"p90", summary.p90.count()},
          {"mean", summary.mean.count()},
          {"min_has_company", summary.min_has_company},
          {"width", width ? json(*width) : json()}};
}

/// Region whose executions take scripted times on a scripted clock.
class ScriptedRegion final : public measure::TimedRegion {
 public:
  explicit ScriptedRegion(std::vector<Seconds> durations) : durations_(std::move(durations)) {}
  void run(std::size_t repetitions) override {
    now_ += durations_[runs_++ % durations_.size()] * static_cast<double>(repetitions);
  }
  [[nodiscard]] Seconds now() const { return now_; }

 private:
  std::vector<Seconds> durations_;
  std::size_t runs_ = 0;
  Seconds now_{};
};

json answer_sampler(const json& question) {
  const json& given = question.at("plan");
  measure::SamplingPlan plan;
  plan.warm_up_at_least = Seconds(given.at("warm_up_at_least").get<double>());
  plan.warm_up_at_most = Seconds(given.at("warm_up_at_most").get<double>());
  plan.budget = Seconds(given.at("budget").get<double>());
  plan.relative_half_width = given.at("relative_half_width");
  plan.samples_at_least = given.at("samples_at_least");
  plan.samples_at_most = given.at("samples_at_most");
  plan.sample_at_least = Seconds(given.at("sample_at_least").get<double>());
  plan.repetitions_at_most = given.at("repetitions_at_most");
  ScriptedRegion region(read_seconds(question.at("durations")));
  const measure::Samples samples = measure::sample(region, plan, [&] { return region.now(); });
  json seconds = json::array();
  for (const Seconds sample : samples.seconds) {
    seconds.push_back(sample.count());
  }
  return {
      {"seconds", seconds}, {"repetitions", samples.repetitions}, {"converged", samples.converged}};
}

json answer_disturbance(const json& question) {
  // The wall clock and this process' own switches are not in a folder, and are set alike.
  measure::Disturbance::Reading begin =
      measure::read_disturbance(question.at("begin").get<std::string>());
  measure::Disturbance::Reading end =
      measure::read_disturbance(question.at("end").get<std::string>());
  begin.involuntary_switches = 0;
  end.involuntary_switches = question.at("switches");
  begin.wall = Seconds(0.0);
  end.wall = Seconds(question.at("wall").get<double>());
  const measure::Disturbance seen = measure::disturbance_between(begin, end);
  const auto optional = [](const std::optional<double>& value) {
    return value ? json(*value) : json();
  };
  return {{"involuntary_switches", seen.involuntary_switches},
          {"steal_ratio", optional(seen.steal_ratio)},
          {"load", optional(seen.load)},
          {"pressure_ratio", optional(seen.pressure_ratio)},
          {"disturbed", seen.disturbed}};
}

json answer(const json& questions) {
  json answers;
  for (const json& samples : questions.at("summaries")) {
    answers["summaries"].push_back(write_summary(measure::summarize(read_seconds(samples))));
  }
  for (const json& question : questions.at("sections")) {
    const measure::Interval interval = measure::section_interval(
        Seconds(question.at("whole").get<double>()), read_seconds(question.at("of")));
    answers["sections"].push_back({interval.low.count(), interval.high.count()});
  }
  for (const json& question : questions.at("samplers")) {
    answers["samplers"].push_back(answer_sampler(question));
  }
  for (const json& question : questions.at("disturbances")) {
    answers["disturbances"].push_back(answer_disturbance(question));
  }
  for (const json& question : questions.at("operands")) {
    json operands = json::array();
    const auto made = engine::random_operands(model::parse_key({question.at("key")}),
                                              question.at("seed").get<std::uint64_t>());
    for (const model::Tensor& tensor : made) {
      operands.push_back(tensor.data.empty() ? json() : json(engine::read_numbers(tensor)));
    }
    answers["operands"].push_back(operands);
  }
  return answers;
}

}  // namespace
}  // namespace plumb

int main() {
  fmt::print("{}\n", plumb::answer(nlohmann::json::parse(std::cin)).dump());
}
