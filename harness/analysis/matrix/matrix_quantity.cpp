// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "harness/analysis/bounds/model_bounds.hpp"
#include "harness/analysis/matrix/matrix.hpp"

namespace plumb::analysis {
namespace {

using results::BoundKind;

struct QuantityRow {
  Quantity quantity;
  std::string_view name;
  std::string_view unit;
};
constexpr std::array<QuantityRow, 8> kQuantities{{
    {Quantity::kTime, "time", "seconds"},
    {Quantity::kP99, "p99", "seconds"},
    {Quantity::kThroughput, "throughput", "inputs_per_second"},
    {Quantity::kBound, "bound", "seconds"},
    {Quantity::kGap, "gap", "ratio"},
    {Quantity::kNormalizedBound, "normalized_bound", "ratio"},
    {Quantity::kSpeedup, "speedup", "ratio"},
    {Quantity::kPredictedSpeedup, "predicted_speedup", "ratio"},
}};

constexpr const char* kPlain = "plain";

Matrix::Value missing(Matrix::Value::Missing::Kind kind,
                      std::string word,
                      std::string reason,
                      std::string mode = {}) {
  return {{}, {kind, std::move(word), std::move(reason), std::move(mode), {}, {}}, false};
}

/// Returns the kind of an outcome in words: "out of memory".
std::string outcome_words(results::Outcome::Kind kind) {
  std::string words(to_text(kind));
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

Matrix::Value time_in_mode(Quantity quantity, const std::string& mode, const ModelResults& model) {
  const auto found = std::find_if(
      model.executions.begin(), model.executions.end(), [&](const ModelResults::EndToEnd& each) {
        return each.mode == mode;
      });
  if (found == model.executions.end()) {
    return missing(Matrix::Value::Missing::Kind::kNotExecuted,
                   "not executed",
                   fmt::format("not executed end to end in the mode {}", mode),
                   mode);
  }
  const std::optional<Estimate>& time =
      quantity == Quantity::kP99 ? found->p99_seconds : found->seconds;
  if (!time && found->outcome.ok()) {
    return missing(
        Matrix::Value::Missing::Kind::kNotExecuted,
        "no time",
        fmt::format("the mode {} has too few samples, or takes less than the harness", mode),
        mode);
  }
  if (!time) {
    const std::string words = outcome_words(found->outcome.kind);
    return missing(Matrix::Value::Missing::Kind::kFailed,
                   words,
                   found->outcome.reason.empty()
                       ? fmt::format("{} in the mode {}", words, mode)
                       : fmt::format("{} in the mode {}: {}", words, mode, found->outcome.reason));
  }
  return {time, {}, found->disturbed};
}

Matrix::Value bound_in_mode(BoundKind kind, const std::string& mode, const ModelResults& model) {
  const std::optional<std::string> wanted = mode_of_bound(kind, mode);
  const ModelResults::BoundTime* const found = wanted ? find_bound(model, kind, *wanted) : nullptr;
  if (found == nullptr) {
    return missing(Matrix::Value::Missing::Kind::kNoBound,
                   "no bound",
                   fmt::format("there is no {} for the mode {}", to_text(kind), mode),
                   kind == BoundKind::kPredicted ? mode : "");
  }
  if (!found->complete) {
    return missing(Matrix::Value::Missing::Kind::kIncomplete,
                   "incomplete",
                   fmt::format("{} of the mode {} is incomplete{}{}",
                               to_text(kind),
                               mode,
                               model.lacks.empty() ? "" : ": ",
                               model.lacks));
  }
  if (!found->seconds) {
    return missing(Matrix::Value::Missing::Kind::kNoBound,
                   "no bound",
                   fmt::format("{} of the mode {} limits nothing", to_text(kind), mode));
  }
  return {found->seconds, {}, false};
}

Matrix::Value ratio_value(const Matrix::Value& above, const Matrix::Value& below) {
  for (const Matrix::Value* const part : {&above, &below}) {
    if (!part->estimate) {
      return *part;
    }
  }
  return {ratio_of(*above.estimate, *below.estimate), {}, above.disturbed || below.disturbed};
}

Matrix::Value predicted_speedup(const std::string& mode, const ModelResults& model) {
  const auto found =
      std::find_if(model.predictions.begin(),
                   model.predictions.end(),
                   [&](const ModelResults::Prediction& each) { return each.mode == mode; });
  if (found == model.predictions.end()) {
    // No what-if has this mode: the prices of both executed plans predict it.
    return ratio_value(bound_in_mode(BoundKind::kPredicted, kPlain, model),
                       bound_in_mode(BoundKind::kPredicted, mode, model));
  }
  if (!found->speedup) {
    return missing(Matrix::Value::Missing::Kind::kNotPredicted,
                   "not predicted",
                   fmt::format("{} is not predicted{}{}",
                               found->name,
                               found->why_not.empty() ? "" : ": ",
                               found->why_not));
  }
  return {found->speedup, {}, false};
}

Matrix::Value throughput(Matrix::Value time, std::int64_t batch) {
  if (time.estimate) {
    time.estimate = rate_of(static_cast<double>(std::max<std::int64_t>(batch, 1)), *time.estimate);
  }
  return time;
}

}  // namespace

std::string_view to_text(Quantity quantity) {
  return kQuantities.at(static_cast<std::size_t>(quantity)).name;
}

std::optional<Quantity> parse_quantity(std::string_view text) {
  const auto* const found = std::find_if(kQuantities.begin(),
                                         kQuantities.end(),
                                         [&](const QuantityRow& row) { return row.name == text; });
  return found == kQuantities.end() ? std::nullopt : std::optional(found->quantity);
}

std::vector<std::string> quantity_names() {
  std::vector<std::string> names;
  std::transform(kQuantities.begin(),
                 kQuantities.end(),
                 std::back_inserter(names),
                 [](const QuantityRow& row) { return std::string(row.name); });
  return names;
}

std::string_view unit_of(Quantity quantity) {
  return kQuantities.at(static_cast<std::size_t>(quantity)).unit;
}

bool has_bound(Quantity quantity) {
  return quantity == Quantity::kBound || quantity == Quantity::kGap ||
         quantity == Quantity::kNormalizedBound;
}

std::string_view to_text(Matrix::Value::Missing::Kind kind) {
  constexpr std::array<std::string_view, 8> kNames{"not_in_suite",
                                                   "not_executed",
                                                   "failed",
                                                   "incomplete",
                                                   "no_bound",
                                                   "not_predicted",
                                                   "no_reference",
                                                   "not_analysed"};
  return kNames.at(static_cast<std::size_t>(kind));
}

Matrix::Value evaluate(Quantity quantity,
                       const std::string& mode,
                       BoundKind bound,
                       const ModelResults& model) {
  switch (quantity) {
    case Quantity::kTime:
    case Quantity::kP99:
      return time_in_mode(quantity, mode, model);
    case Quantity::kThroughput:
      return throughput(time_in_mode(quantity, mode, model), model.instance.batch);
    case Quantity::kBound:
      return bound_in_mode(bound, mode, model);
    case Quantity::kGap:
      return ratio_value(time_in_mode(quantity, mode, model), bound_in_mode(bound, mode, model));
    case Quantity::kNormalizedBound:
      return ratio_value(bound_in_mode(bound, mode, model), time_in_mode(quantity, mode, model));
    case Quantity::kSpeedup:
      return ratio_value(time_in_mode(quantity, kPlain, model),
                         time_in_mode(quantity, mode, model));
    case Quantity::kPredictedSpeedup:
      return predicted_speedup(mode, model);
  }
  return missing(
      Matrix::Value::Missing::Kind::kNotAnalysed, "unknown", "the quantity is not known");
}

}  // namespace plumb::analysis
