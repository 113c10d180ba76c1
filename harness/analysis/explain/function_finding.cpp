// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/explain/function_finding.hpp"

#include <nlohmann/json.hpp>

#include "harness/base/error.hpp"
#include "harness/results/json_object.hpp"

namespace plumb::analysis {
namespace {

using Json = nlohmann::ordered_json;
using results::JsonObject;

constexpr std::int64_t kMaxSamples = std::int64_t{1} << 40;

Json part_json(const FunctionPart& part) {
  return {{"function", part.function},
          {"image", part.image},
          {"step", part.step},
          {"change_seconds", part.change.count()},
          {"interval", {part.low.count(), part.high.count()}},
          {"in_baseline", part.in_baseline},
          {"in_candidate", part.in_candidate}};
}

FunctionPart part_from(const nlohmann::json& value) {
  const JsonObject object(value);
  FunctionPart part;
  part.function = object.text("function");
  part.image = object.text("image");
  part.step = object.text("step");
  part.change = object.seconds("change_seconds");
  const nlohmann::json& interval = object.array("interval", 2);
  if (interval.size() != 2 || !interval[0].is_number() || !interval[1].is_number()) {
    throw Error(Error::Kind::kUser, "field 'interval' is not a pair of numbers");
  }
  part.low = Seconds(interval[0].get<double>());
  part.high = Seconds(interval[1].get<double>());
  part.in_baseline = object.boolean("in_baseline");
  part.in_candidate = object.boolean("in_candidate");
  return part;
}

Json finding_json(const FunctionFinding& finding) {
  Json parts = Json::array();
  for (const FunctionPart& part : finding.parts) {
    parts.push_back(part_json(part));
  }
  const bool explained = finding.problem.empty();
  const auto seconds = [&](Seconds time) { return explained ? Json(time.count()) : Json(); };
  const auto number = [](const std::optional<double>& each) { return each ? Json(*each) : Json(); };
  return {{"series", finding.series},
          {"model", finding.model},
          {"mode", finding.mode},
          {"layer", finding.layer},
          {"control", finding.control},
          {"ratio", number(finding.ratio)},
          {"ratio_low", number(finding.low)},
          {"ratio_high", number(finding.high)},
          {"baseline_samples", finding.baseline_samples},
          {"candidate_samples", finding.candidate_samples},
          {"problem", finding.problem},
          {"baseline_seconds", seconds(finding.baseline)},
          {"candidate_seconds", seconds(finding.candidate)},
          {"unexplained_seconds", seconds(finding.unexplained())},
          {"parts", std::move(parts)}};
}

FunctionFinding finding_from(const nlohmann::json& value) {
  const JsonObject object(value);
  FunctionFinding finding;
  finding.series = object.text("series");
  finding.model = object.text("model");
  finding.mode = object.text("mode");
  finding.layer = object.text("layer");
  finding.control = object.has("control") && object.boolean("control");
  finding.ratio = object.optional_number("ratio");
  finding.low = object.optional_number("ratio_low");
  finding.high = object.optional_number("ratio_high");
  finding.baseline_samples =
      static_cast<std::uint64_t>(object.integer("baseline_samples", 0, kMaxSamples));
  finding.candidate_samples =
      static_cast<std::uint64_t>(object.integer("candidate_samples", 0, kMaxSamples));
  finding.problem = object.text("problem");
  finding.baseline = object.optional_seconds("baseline_seconds").value_or(Seconds{});
  finding.candidate = object.optional_seconds("candidate_seconds").value_or(Seconds{});
  for (const nlohmann::json& part : object.array("parts", 100'000)) {
    finding.parts.push_back(part_from(part));
  }
  return finding;
}

}  // namespace

Seconds FunctionFinding::unexplained() const {
  Seconds rest = change();
  for (const FunctionPart& part : parts) {
    rest -= part.change;
  }
  return rest;
}

Json function_findings_json(std::span<const FunctionFinding> findings) {
  Json list = Json::array();
  for (const FunctionFinding& finding : findings) {
    list.push_back(finding_json(finding));
  }
  return list;
}

std::vector<FunctionFinding> function_findings_from_json(const nlohmann::json& list) {
  std::vector<FunctionFinding> findings;
  for (const nlohmann::json& value : list) {
    findings.push_back(finding_from(value));
  }
  return findings;
}

}  // namespace plumb::analysis
