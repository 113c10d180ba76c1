// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/bounds/host_agreement.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/analysis/bounds/model_bounds.hpp"
#include "harness/results/measurement.hpp"

namespace plumb::analysis {
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
  results::FastestPace fastest;
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
