// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/profile/model_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/measure/sample_summary.hpp"
#include "runners/engine/exec/schedule.hpp"

namespace plumb::engine {
namespace {

constexpr std::size_t kTimedOfEqual = 3;  // in one pass; each costs the step before it once more

Seconds compute_median(std::vector<Seconds> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

results::Execution::Layer described(const ReadyModel& ready, std::optional<model::LayerId> id) {
  results::Execution::Layer layer;
  if (id) {
    layer.layers = ready.plan.fused.origins.at(*id);
    layer.key = ready.plan.fused.graph.layers.at(*id).key;
    layer.variant = ready.prepared.variants.at(*id);
  }
  return layer;
}

/// Names each step so that equal names mean equal work.
std::vector<std::string> step_names(const ReadyModel& ready) {
  const std::vector<worker::Backend::PreparedModel::Step>& steps = ready.prepared.steps;
  std::vector<std::string> names;
  std::map<std::optional<model::LayerId>, std::size_t> counts;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::size_t number = counts[steps[i].layer]++;
    const bool unique = steps[i].reorder || !steps[i].layer;  // its layouts have no name
    const results::Execution::Layer layer = described(ready, steps[i].layer);
    names.push_back(unique ? fmt::format("step {}", i)
                           : fmt::format("{} {} {}", layer.key.text, layer.variant, number));
  }
  return names;
}

/// Returns the number of each step's group. Steps of one group have the same name and follow the
/// same name.
std::vector<std::size_t> number_groups(const std::vector<std::string>& names) {
  std::map<std::pair<std::string, std::string>, std::size_t> numbers;
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string before = i == 0 ? std::string() : names[i - 1];
    result.push_back(numbers.try_emplace({before, names[i]}, numbers.size()).first->second);
  }
  return result;
}

/// Adds two times and the ends of their intervals.
measure::MeasuredTime operator+(const measure::MeasuredTime& left,
                                const measure::MeasuredTime& right) {
  return {left.median + right.median,
          {left.interval.low + right.interval.low, left.interval.high + right.interval.high}};
}

Seconds above_floor(Seconds time, Seconds floor) {
  return std::max(time - floor, Seconds(0.0));
}

}  // namespace

ModelProfile::ModelProfile(const ReadyModel& ready)
    : ready_(ready), group_of_(number_groups(step_names(ready))) {
  for (std::size_t step = 0; step < group_of_.size(); ++step) {
    groups_.resize(std::max(groups_.size(), group_of_[step] + 1));
    groups_[group_of_[step]].push_back(step);
  }
  next_.resize(groups_.size());
}

void ModelProfile::add_profile() {
  const std::vector<Seconds> once = ready_.prepared.program->profile(0);
  if (once.empty()) {
    return;
  }
  PLUMB_CHECK(once.size() == group_of_.size());
  times_.resize(once.size());
  for (std::size_t step = 0; step < once.size(); ++step) {
    times_[step].push_back(once[step]);
  }
}

void ModelProfile::choose_steps() {
  chosen_.clear();
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    const std::vector<std::size_t>& steps = groups_[group];
    for (std::size_t i = 0; i < std::min(kTimedOfEqual, steps.size()); ++i) {
      chosen_.push_back(steps[next_[group]]);
      next_[group] = (next_[group] + 1) % steps.size();
    }
  }
  std::sort(chosen_.begin(), chosen_.end());
}

void ModelProfile::add_in_context(std::size_t parts) {
  const std::size_t begin = chosen_.size() * part_ / parts;
  const std::size_t end = chosen_.size() * (part_ + 1) / parts;
  if (begin == end) {
    return;
  }
  std::vector<bool> wanted(group_of_.size());
  for (std::size_t i = begin; i < end; ++i) {
    wanted[chosen_[i]] = true;
  }
  const std::vector<Seconds> once = ready_.prepared.program->profile_in_context(0, wanted);
  if (once.empty()) {
    return;
  }
  PLUMB_CHECK(once.size() == group_of_.size());
  in_context_.resize(groups_.size());
  for (std::size_t i = begin; i < end; ++i) {
    in_context_[group_of_[chosen_[i]]].push_back({once[chosen_[i]], rounds_});
  }
}

void ModelProfile::add(std::size_t parts,
                       std::size_t most,
                       Seconds budget,
                       const measure::Clock& clock) {
  const Seconds begin = clock();
  Seconds now = begin;
  for (std::size_t i = 0; i < most && (i == 0 || now - begin < budget); ++i) {
    if (part_ == 0) {
      add_profile();
      choose_steps();
    }
    PLUMB_CHECK(part_ < parts);
    add_in_context(parts);
    part_ = (part_ + 1) % parts;
    passes_ += part_ == 0 ? 1 : 0;
    now = clock();
  }
  spent_ += now - begin;
}

void ModelProfile::end_round() {
  ++rounds_;
}

Seconds ModelProfile::pass_time() const {
  return in_context_.empty() || passes_ == 0 ? Seconds(0.0) : spent_ / static_cast<double>(passes_);
}

std::vector<measure::MeasuredTime> ModelProfile::steps_in_context(
    Seconds floor, std::optional<std::size_t> round) const {
  std::vector<measure::MeasuredTime> of_groups;
  for (const std::vector<Sample>& samples : in_context_) {
    std::vector<Seconds> times;
    std::vector<Seconds> of_round;
    for (const Sample& sample : samples) {
      times.push_back(sample.time);
      if (sample.round == round) {
        of_round.push_back(sample.time);
      }
    }
    const measure::SampleSummary time = measure::summarize(of_round.empty() ? times : of_round);
    of_groups.push_back(
        {above_floor(time.median, floor),
         {above_floor(time.interval.low, floor), above_floor(time.interval.high, floor)}});
  }
  std::vector<measure::MeasuredTime> steps;
  for (std::size_t i = 0; i < group_of_.size() && !of_groups.empty(); ++i) {
    steps.push_back(of_groups[group_of_[i]]);
  }
  return steps;
}

std::optional<measure::MeasuredTime> ModelProfile::in_context(Seconds floor) const {
  if (in_context_.empty()) {
    return std::nullopt;
  }
  std::vector<Seconds> of_rounds;
  for (std::size_t round = 0; round < rounds_; ++round) {
    of_rounds.push_back(together(steps_in_context(floor, round)));
  }
  const Seconds whole = together(steps_in_context(floor));
  return measure::MeasuredTime{whole, measure::section_interval(whole, of_rounds)};
}

Seconds ModelProfile::together(const std::vector<measure::MeasuredTime>& steps) const {
  const StepNeeds& needs = ready_.prepared.needs;
  Seconds end{};
  if (needs.empty()) {
    for (const measure::MeasuredTime& step : steps) {
      end += step.median;
    }
    return end;
  }
  std::vector<Seconds> ends(steps.size());
  for (const std::size_t step : in_order(needs)) {
    Seconds begin{};
    for (const std::size_t need : needs[step]) {
      begin = std::max(begin, ends[need]);
    }
    ends[step] = begin + steps[step].median;
    end = std::max(end, ends[step]);
  }
  return end;
}

std::vector<results::Execution::Layer> ModelProfile::layers(Seconds floor) const {
  const std::vector<worker::Backend::PreparedModel::Step>& steps = ready_.prepared.steps;
  std::vector<results::Execution::Layer> layers;
  std::map<std::optional<model::LayerId>, std::size_t> places;
  const std::vector<measure::MeasuredTime> in_context = steps_in_context(floor);
  for (std::size_t i = 0; i < times_.size(); ++i) {
    const auto [at, added] = places.try_emplace(steps[i].layer, layers.size());
    if (added) {
      layers.push_back(described(ready_, steps[i].layer));
    }
    results::Execution::Layer& layer = layers[at->second];
    (steps[i].reorder ? layer.reorder : layer.seconds) += compute_median(times_[i]);
    layer.reorders += steps[i].reorder ? 1 : 0;
    if (!in_context.empty()) {
      layer.in_context = layer.in_context.value_or(measure::MeasuredTime{}) + in_context[i];
    }
  }
  return layers;
}

}  // namespace plumb::engine
