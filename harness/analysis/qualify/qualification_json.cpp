// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "harness/analysis/compare/rounds/confirmation.hpp"
#include "harness/analysis/qualify/qualification.hpp"
#include "harness/base/error.hpp"
#include "harness/base/timestamp.hpp"
#include "harness/results/json_object.hpp"

// Absent values are null, in both directions.
template <typename Value>
struct nlohmann::adl_serializer<std::optional<Value>> {
  static void to_json(json& document, const std::optional<Value>& value) {
    document = value ? json(*value) : json();
  }
  static void from_json(const json& document, std::optional<Value>& value) {
    if (!document.is_null()) {
      value = document.get<Value>();
    }
  }
};

// Moments are RFC 3339.
template <>
struct nlohmann::adl_serializer<plumb::Timestamp> {
  static void to_json(json& document, const plumb::Timestamp& value) {
    document = plumb::to_text(value);
  }
  static void from_json(const json& document, plumb::Timestamp& value) {
    value = plumb::parse_timestamp(document.get<std::string>());
  }
};

namespace plumb::analysis {
namespace {

template <typename Word, std::size_t count>
Word word_from(const nlohmann::json& document, const std::array<Word, count>& words) {
  const auto& text = document.get_ref<const std::string&>();
  for (const Word word : words) {
    if (to_text(word) == text) {
      return word;
    }
  }
  throw Error(Error::Kind::kUser, "a stored qualification says '" + text.substr(0, 64) + "'");
}

}  // namespace

void to_json(nlohmann::json& document, const ComparisonVerdict& verdict) {
  document = to_text(verdict);
}
void from_json(const nlohmann::json& document, ComparisonVerdict& verdict) {
  using enum ComparisonVerdict;
  verdict =
      word_from(document, std::array{kBroken, kRegressed, kImproved, kEquivalent, kInconclusive});
}
void to_json(nlohmann::json& document, const MetricKind& kind) {
  document = to_text(kind);
}
void from_json(const nlohmann::json& document, MetricKind& kind) {
  using enum MetricKind;
  kind = word_from(document,
                   std::array{kEndToEnd,
                              kLayer,
                              kCapability,
                              kBound,
                              kLoad,
                              kCost,
                              kAccuracy,
                              kControl,
                              kReplay,
                              kOverall});
}
void to_json(nlohmann::json& document, const QualificationVerdict& verdict) {
  document = to_text(verdict);
}
void from_json(const nlohmann::json& document, QualificationVerdict& verdict) {
  using enum QualificationVerdict;
  verdict = word_from(document,
                      std::array{kApprove, kApproveWithExceptions, kReject, kNotEnoughEvidence});
}
void to_json(nlohmann::json& document, const BoundChange& change) {
  document = to_text(change);
}
void from_json(const nlohmann::json& document, BoundChange& change) {
  using enum BoundChange;
  change = word_from(document, std::array{kNotTested, kCapabilityLost, kChoiceOnly, kUndecided});
}
void to_json(nlohmann::json& document, const ReplayFinding& finding) {
  document = to_text(finding);
}
void from_json(const nlohmann::json& document, ReplayFinding& finding) {
  using enum ReplayFinding;
  finding = word_from(
      document,
      std::array{
          kNotTested, kHeuristicChanged, kKernelChanged, kRemoved, kNotSeenAgain, kUndecided});
}
void to_json(nlohmann::json& document, const CriterionState& state) {
  document = to_text(state);
}
void from_json(const nlohmann::json& document, CriterionState& state) {
  using enum CriterionState;
  state = word_from(document, std::array{kMet, kFailed, kWaived, kOpen, kNotMeasured});
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Cause, cause, share, evidence)

void to_json(nlohmann::json& document, const MetricComparison& metric) {
  const bool compared = metric.ratio.has_value();
  document = {{"series", metric.series},
              {"kind", metric.kind},
              {"baseline_seconds", compared ? nlohmann::json(metric.baseline) : nlohmann::json()},
              {"candidate_seconds", compared ? nlohmann::json(metric.candidate) : nlohmann::json()},
              {"ratio", metric.ratio},
              {"interval", compared ? nlohmann::json{metric.low, metric.high} : nlohmann::json()},
              {"q", metric.q},
              {"mde", metric.mde},
              {"verdict", metric.verdict},
              {"reason", metric.reason},
              {"delta_seconds", metric.delta},
              {"delta_error_seconds", metric.error},
              {"causes", metric.causes}};
  if (metric.floor) {
    document["floor"] = metric.floor->relative;
    document["floor_source"] = to_text(metric.floor->source);
  }
}
void from_json(const nlohmann::json& document, MetricComparison& metric) {
  metric.series = document.at("series").get<std::string>();
  document.at("kind").get_to(metric.kind);
  document.at("ratio").get_to(metric.ratio);
  if (metric.ratio) {
    metric.baseline = document.at("baseline_seconds").get<double>();
    metric.candidate = document.at("candidate_seconds").get<double>();
    metric.low = document.at("interval").at(0).get<double>();
    metric.high = document.at("interval").at(1).get<double>();
  }
  document.at("q").get_to(metric.q);
  document.at("mde").get_to(metric.mde);
  document.at("verdict").get_to(metric.verdict);
  metric.reason = document.at("reason").get<std::string>();
  metric.delta = document.at("delta_seconds").get<double>();
  metric.error = document.at("delta_error_seconds").get<double>();
  document.at("causes").get_to(metric.causes);
  // Present since floors can be calibrated. Older qualifications have none.
  if (document.contains("floor")) {
    using enum FloorSource;
    metric.floor = MinimumEffect{document.at("floor").get<double>(),
                                 word_from(document.at("floor_source"),
                                           std::array{kFixed, kCalibrated, kLearned, kAssumed})};
  }
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Waiver, match, reason, who, expires, expired, applied_to)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(QualificationCriteria,
                                   file,
                                   sha256,
                                   model_slowdown,
                                   geometric_mean,
                                   layer_slowdown,
                                   new_unsupported,
                                   memory_growth,
                                   memory_minimum_bytes,
                                   creation_growth,
                                   creation_minimum_seconds,
                                   first_call_growth,
                                   first_call_minimum_seconds,
                                   control_drift,
                                   maximum_error,
                                   waivers)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CriterionResult, criterion, limit, state, found, cases)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(
    QualifiedStack, name, run, environment, libraries, crashes, timeouts)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(QualifiedFact, name, baseline, candidate, identity)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PinnedVariantCheck,
                                   finding,
                                   bound,
                                   replayed_variant,
                                   replay,
                                   baseline_best,
                                   candidate_best,
                                   best,
                                   evidence)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(QualifiedMetric,
                                   subject,
                                   mode,
                                   test,
                                   baseline_variant,
                                   candidate_variant,
                                   baseline_seconds,
                                   candidate_seconds,
                                   screening_pairs,
                                   decided_at,
                                   models,
                                   place,
                                   replay,
                                   waived_by)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(
    ModelAttribution::Term, layer, seconds, error, baseline_variant, candidate_variant)
// Older qualifications have no errors of reorders and unmatched layers.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(ModelAttribution,
                                                subject,
                                                mode,
                                                delta_seconds,
                                                delta_error,
                                                layers,
                                                reorder_seconds,
                                                reorder_error,
                                                unmatched_seconds,
                                                unmatched_error,
                                                unexplained_seconds,
                                                unexplained_error)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(
    QualificationFinding, cause, evidence, layers, models, delta_seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(QualifiedAccuracy,
                                   subject,
                                   baseline_error,
                                   candidate_error,
                                   baseline_hash,
                                   candidate_hash,
                                   verdict)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(
    QualifiedCost, subject, name, unit, baseline, candidate, ratio, low, high)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(
    QualifiedControl, name, test, baseline_seconds, candidate_seconds, moved)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AlarmControl, tests, alarms, level, low, high)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(InvalidRound, round, reason)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(QualificationLook, pairs, open)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GeometricMean, mode, models, value, low, high)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Qualification,
                                   suite,
                                   suite_hash,
                                   baseline,
                                   candidate,
                                   differences,
                                   unchanged,
                                   command,
                                   started,
                                   finished,
                                   criteria,
                                   judged_again,
                                   results,
                                   verdict,
                                   reason,
                                   models,
                                   layers,
                                   geometric_means,
                                   attributions,
                                   findings,
                                   accuracy,
                                   costs,
                                   controls,
                                   alarms,
                                   invalid_rounds,
                                   looks,
                                   rounds,
                                   complete,
                                   machine_moved,
                                   stack_changed,
                                   notes)

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PairedConfirmation, rounds, valid, drifted, metrics)

std::string to_json(const PairedConfirmation& confirmation) {
  return nlohmann::json(confirmation)
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

namespace {

/// Adds the place of each metric, which earlier versions did not store.
void complete_places(nlohmann::json& metrics) {
  for (nlohmann::json& metric : metrics) {
    metric.emplace("place", "");
  }
}

}  // namespace

PairedConfirmation paired_confirmation_from_json(std::string_view json) {
  nlohmann::json document = results::parse_json(json);
  try {
    complete_places(document.at("metrics"));
    return document.get<PairedConfirmation>();
  } catch (const nlohmann::json::exception& error) {
    throw Error(Error::Kind::kUser,
                std::string("a stored confirmation cannot be read: ") + error.what());
  }
}

std::string to_json(const Qualification& qualification) {
  nlohmann::json document = qualification;
  document["functions"] = function_findings_json(qualification.functions);
  return document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

namespace {

/// Adds what qualifications of earlier versions do not say. Then a growth counted however small it
/// was, and only the reason told of the machine and of the stacks.
void complete_earlier(nlohmann::json& document) {
  nlohmann::json& criteria = document.at("criteria");
  for (const char* minimum :
       {"memory_minimum_bytes", "creation_minimum_seconds", "first_call_minimum_seconds"}) {
    criteria.emplace(minimum, 0.0);
  }
  document.emplace("judged_again", false);
  document.emplace("functions", nlohmann::json::array());
  complete_places(document.at("models"));
  complete_places(document.at("layers"));
  const auto reason = document.at("reason").get<std::string>();
  document.emplace("machine_moved", reason.starts_with("the machine moved"));
  document.emplace("stack_changed", reason.starts_with("a stack changed"));
}

}  // namespace

Qualification qualification_from_json(std::string_view json) {
  nlohmann::json document = results::parse_json(json);
  try {
    complete_earlier(document);
    auto qualification = document.get<Qualification>();
    qualification.functions = function_findings_from_json(document.at("functions"));
    return qualification;
  } catch (const nlohmann::json::exception& error) {
    throw Error(Error::Kind::kUser,
                std::string("a stored qualification cannot be read: ") + error.what());
  }
}

}  // namespace plumb::analysis
