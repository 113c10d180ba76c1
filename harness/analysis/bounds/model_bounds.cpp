// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/bounds/model_bounds.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/base/parsed_text.hpp"
#include "harness/results/execution.hpp"
#include "harness/results/measurement.hpp"
#include "harness/rewrite/gradient/training_step.hpp"

namespace plumb::analysis {
namespace {

constexpr std::string_view kTraining = "|training=";

}  // namespace

std::string full_name(const ModelInstance& instance) {
  return instance.training.empty()
             ? instance.model
             : fmt::format("{} (training by {})", instance.model, instance.training);
}

std::string step_note(const ModelInstance& instance) {
  const auto choice = rewrite::parse_step_choice(instance.training);
  std::string note;
  if (choice && choice->loss) {
    note = fmt::format("Loss: {}, as asked for.", to_text(*choice->loss));
  }
  if (choice && !choice->frozen.empty()) {
    note += fmt::format("{}Frozen, without gradients and updates: {}.",
                        note.empty() ? "" : " ",
                        fmt::join(choice->frozen, ", "));
  }
  return note;
}

std::int64_t samples_of_step(const ModelInstance& instance) {
  const auto choice = rewrite::parse_step_choice(instance.training);
  return instance.batch * (choice ? choice->micro_batches : 1);
}

std::optional<Bytes> memory_cap_of(const ModelInstance& instance) {
  const auto choice = rewrite::parse_step_choice(instance.training);
  return choice ? choice->memory_cap : std::nullopt;
}

std::string to_text(const ModelInstance& instance, std::string_view separator) {
  std::string text = fmt::format(
      "{}{}batch {}{}{}", instance.model, separator, instance.batch, separator, instance.dtype);
  for (const auto& [name, extent] : instance.dims) {
    text += fmt::format("{}{} {}", separator, name, extent);
  }
  if (!instance.training.empty()) {
    text += fmt::format("{}training by {}", separator, instance.training);
  }
  return text;
}

std::string subject_of(const ModelInstance& instance) {
  std::string text = fmt::format("{}|{}|{}", instance.model, instance.batch, instance.dtype);
  for (const auto& [name, extent] : instance.dims) {
    text += fmt::format("|{}={}", name, extent);
  }
  if (!instance.training.empty()) {
    text += fmt::format("{}{}", kTraining, instance.training);
  }
  return text;
}

std::optional<ModelInstance> parse_subject(std::string_view subject) {
  ModelInstance instance;
  if (const std::size_t at = subject.rfind(kTraining); at != std::string_view::npos) {
    const std::string_view optimizer = subject.substr(at + kTraining.size());
    if (rewrite::parse_step_choice(optimizer)) {
      instance.training = optimizer;
      subject = subject.substr(0, at);
    }
  }
  // From the end, because a model's name may have any characters.
  const auto take_last = [&]() -> std::optional<std::string_view> {
    const std::size_t bar = subject.rfind('|');
    if (bar == std::string_view::npos) {
      return std::nullopt;
    }
    const std::string_view last = subject.substr(bar + 1);
    subject = subject.substr(0, bar);
    return last;
  };
  std::optional<std::string_view> part = take_last();
  for (; part && part->find('=') != std::string_view::npos; part = take_last()) {
    const std::size_t equals = part->rfind('=');
    const std::optional<std::int64_t> extent = parse_number<std::int64_t>(part->substr(equals + 1));
    if (!extent) {
      return std::nullopt;
    }
    instance.dims.emplace(part->substr(0, equals), *extent);
  }
  const std::optional<std::string_view> batch = part ? take_last() : std::nullopt;
  const std::optional<std::int64_t> size =
      batch ? parse_number<std::int64_t>(*batch) : std::nullopt;
  if (!size || subject.empty()) {
    return std::nullopt;
  }
  instance.dtype = *part;
  instance.batch = *size;
  instance.model = subject;
  return instance;
}

std::optional<Seconds> known_time(const Bound& bound) {
  const bool known = bound.complete || bound.seconds.count() > 0.0;
  return known ? std::optional<Seconds>(bound.seconds) : std::nullopt;
}

namespace {

bool is_of_hardware(results::BoundKind kind) {
  return kind == results::BoundKind::kHardware || kind == results::BoundKind::kHardwareUpdate;
}

}  // namespace

std::optional<std::string> mode_of_bound(results::BoundKind kind, std::string_view mode) {
  if (kind == results::BoundKind::kPredicted) {
    return std::string(mode);
  }
  const results::ExecutionMode options = results::execution_mode_from(mode);
  if (is_of_hardware(kind)) {
    return options.other_type().empty() ? std::optional<std::string>("any") : std::nullopt;
  }
  const bool can_be_beaten = kind == results::BoundKind::kLibrary && options.has_branches();
  if (!options.has_own_layers() || can_be_beaten) {
    return std::nullopt;
  }
  return options.fusion ? "fusion" : "plain";
}

bool must_not_exceed(const Bound& bound, const ExecutionTime& execution) {
  using results::BoundKind;
  const bool promises = is_of_hardware(bound.kind) || bound.kind == BoundKind::kLibrary ||
                        (bound.kind == BoundKind::kLibraryParallel &&
                         results::execution_mode_from(execution.mode).has_branches());
  return promises && bound.complete && bound.mode == mode_of_bound(bound.kind, execution.mode);
}

const Bound* find_complete(const ModelBounds& model,
                           results::BoundKind kind,
                           std::string_view mode) {
  const Bound* const bound = find_bound(model, kind, mode);
  return bound != nullptr && bound->complete ? bound : nullptr;
}

std::optional<Seconds> complete_time(const ModelBounds& model,
                                     results::BoundKind kind,
                                     std::string_view mode) {
  const Bound* const bound = find_complete(model, kind, mode);
  return bound == nullptr ? std::nullopt : std::optional(bound->seconds);
}

std::vector<std::string> all_findings(const ModelBounds& model) {
  std::vector<std::string> all = model.findings;
  all.insert(all.end(), model.disturbances.begin(), model.disturbances.end());
  return all;
}

namespace {

/// Returns by how much the slowest of some hosts takes longer than the fastest, relative to that.
double spread(const std::set<std::string>& hosts,
              const HostControls& controls,
              Seconds results::Controls::*time) {
  Seconds fastest{};
  Seconds slowest{};
  for (const std::string& host : hosts) {
    const Seconds own = *controls.at(host).*time;
    fastest = fastest.count() > 0.0 ? std::min(fastest, own) : own;
    slowest = std::max(slowest, own);
  }
  return fastest.count() > 0.0 ? slowest / fastest - 1.0 : 0.0;
}

const results::Reading* find_pace(const results::Measurement& row) {
  const auto found = row.readings.find(results::kHostPace);
  return found == row.readings.end() ? nullptr : &found->second;
}

void mark(double fastest, results::Measurement& row) {
  const results::Reading* const pace = find_pace(row);
  row.disturbance.disturbed =
      row.disturbance.disturbed || (pace != nullptr && pace->median > results::kSlowPace * fastest);
}

}  // namespace

std::string host_disagreement(const std::set<std::string>& hosts, const HostControls& controls) {
  if (hosts.size() < 2) {
    return {};
  }
  const std::string of_hosts = fmt::format("it was measured on {}", fmt::join(hosts, ", "));
  for (const std::string& host : hosts) {
    const auto known = controls.find(host);
    if (known == controls.end() || !known->second) {
      return fmt::format("{}, but {} measured no controls", of_hosts, host);
    }
  }
  const double product = spread(hosts, controls, &results::Controls::product);
  const double copy = spread(hosts, controls, &results::Controls::copy);
  if (product <= kHostLimit && copy <= 2.0 * kHostLimit) {
    return {};
  }
  return fmt::format("{}, whose controls differ: the product by {:.1f} %, the copy by {:.1f} %",
                     of_hosts,
                     100.0 * product,
                     100.0 * copy);
}

void require_like_hosts(const std::set<std::string>& hosts,
                        const HostControls& controls,
                        ModelBounds& model) {
  const std::string why = host_disagreement(hosts, controls);
  if (why.empty()) {
    return;
  }
  for (Bound& bound : model.bounds) {
    bound.complete = false;
    bound.lacks.push_back(why);
  }
  model.findings.push_back("its bounds are incomplete: " + why);
}

std::optional<double> fastest_pace(std::span<const results::StoredMeasurement> rows,
                                   const ModelExecutions& executions) {
  results::Measurement::FastestPace fastest;
  for (const results::StoredMeasurement& row : rows) {
    fastest.take_in(row.measurement);
  }
  for (const auto& [subject, of_model] : executions) {
    for (const results::Execution& execution : of_model) {
      fastest.take_in(execution.row);
    }
  }
  return fastest.seconds() ? std::optional(fastest.seconds()->count()) : std::nullopt;
}

void mark_slow_host(double fastest,
                    std::span<results::StoredMeasurement> rows,
                    ModelExecutions& executions) {
  for (results::StoredMeasurement& row : rows) {
    mark(fastest, row.measurement);
  }
  for (auto& [subject, of_model] : executions) {
    for (results::Execution& execution : of_model) {
      mark(fastest, execution.row);
    }
  }
}

}  // namespace plumb::analysis
