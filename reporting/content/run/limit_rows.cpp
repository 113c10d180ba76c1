// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/run/limit_rows.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "harness/analysis/bounds/model_partition.hpp"
#include "reporting/document/aligned_table.hpp"
#include "reporting/document/quantity_text.hpp"
#include "reporting/document/sanitized_text.hpp"

namespace plumb::reporting {
namespace {

constexpr const char* kUnknown = "–";

std::string share_cell(const std::optional<double>& share) {
  return share ? fmt::format("{:.0f} %", 100.0 * *share) : kUnknown;
}

std::string intensity_cell(const std::optional<double>& intensity) {
  return intensity ? fmt::format("{:.1f}", *intensity) : kUnknown;
}

std::string limit_cell(const std::optional<analysis::Limit>& limit) {
  return limit ? std::string(to_text(*limit)) : kUnknown;
}

/// Returns "compute 71 %, memory 20 %, latency 9 % of the time".
std::string spread_of(const analysis::ModelLimits& limits) {
  std::vector<std::string> parts;
  for (const analysis::Limit limit : analysis::kLimits) {
    if (const double share = limits.share(limit); share > 0.0) {
      parts.push_back(fmt::format("{} {:.0f} %", to_text(limit), 100.0 * share));
    }
  }
  if (const double share = limits.share(std::nullopt); share > 0.0) {
    parts.push_back(fmt::format("not known {:.0f} %", 100.0 * share));
  }
  return fmt::format("{} of the time", fmt::join(parts, ", "));
}

/// Writes which steps compute on channels that are only padding, and what whole blocks bring.
void write_blocks(const analysis::ModelReport& model, std::ostream& out) {
  std::vector<const analysis::StepLimit*> steps;
  Seconds all{};
  for (const analysis::StepLimit& step : model.limits.steps) {
    if (step.block_use) {
      steps.push_back(&step);
      all += step.seconds;
    }
  }
  if (steps.empty()) {
    return;
  }
  out << fmt::format("  blocks of channels that are not full: {} step{}, {} together\n",
                     steps.size(),
                     steps.size() == 1 ? "" : "s",
                     time_text(all));
  AlignedTable table({{"  step"}, {"block use", true}, {"time", true}, {"padded", true}});
  constexpr std::size_t kMost = 5;
  for (std::size_t i = 0; i < std::min(kMost, steps.size()); ++i) {
    table.add({"  " + sanitize_utf8(analysis::name_of(model.graph, steps[i]->layers)),
               share_cell(steps[i]->block_use),
               time_text(steps[i]->seconds),
               steps[i]->padded_seconds ? time_text(*steps[i]->padded_seconds) : kUnknown});
  }
  table.write(out);
}

}  // namespace

void write_limits(const analysis::ModelReport& model, std::ostream& out) {
  const analysis::ModelLimits& limits = model.limits;
  if (limits.steps.empty()) {
    return;
  }
  out << fmt::format("  limits of its steps: {}\n", spread_of(limits));
  out << fmt::format("  the model: {} operations, {} at least, {} operations a byte",
                     count_text(limits.operations.value),
                     bytes_text(limits.compulsory),
                     intensity_cell(limits.intensity));
  if (limits.ridge && limits.limit) {
    out << fmt::format("; {} binds it (the ceilings meet at {})",
                       to_text(*limits.limit),
                       intensity_cell(limits.ridge));
  }
  out << '\n';
  AlignedTable table({{"  slowest steps"},
                      {"time", true},
                      {"limit"},
                      {"operations/byte", true},
                      {"of peak", true},
                      {"of bandwidth", true}});
  constexpr std::size_t kMost = 5;
  for (std::size_t i = 0; i < std::min(kMost, limits.steps.size()); ++i) {
    const analysis::StepLimit& step = limits.steps[i];
    table.add({"  " + sanitize_utf8(analysis::name_of(model.graph, step.layers)),
               time_text(step.seconds),
               limit_cell(step.limit),
               intensity_cell(step.intensity),
               share_cell(step.peak_share),
               share_cell(step.bandwidth_share)});
  }
  table.write(out);
  write_blocks(model, out);
}

}  // namespace plumb::reporting
