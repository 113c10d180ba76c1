// SPDX-License-Identifier: Apache-2.0
#include "harness/results/trace/executed_trace.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/results/json_object.hpp"

namespace plumb::results {
namespace {

constexpr std::size_t kMaxFindings = 100'000;

}  // namespace

ExecutedTrace::Losses traced_losses_from_json(std::string_view text) {
  const nlohmann::json document = parse_json(text);
  const JsonObject trace(document);
  ExecutedTrace::Losses losses;
  losses.mode = trace.text("mode");
  losses.stack = trace.text("stack");
  losses.span = std::max(trace.seconds("execution_seconds"), trace.seconds("traced_seconds"));
  losses.untraced = trace.optional_seconds("untraced_seconds");
  for (const nlohmann::json& entry : trace.array("findings", kMaxFindings)) {
    const JsonObject finding(entry);
    if (!finding.has("gain_seconds") || finding.number("gain_seconds") <= 0.0) {
      continue;
    }
    losses.losses.push_back({finding.text("finding"),
                             finding.seconds("gain_seconds"),
                             finding.texts("layers", kMaxFindings),
                             finding.text("evidence")});
  }
  return losses;
}

}  // namespace plumb::results
