// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/qualify/qualification.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "harness/analysis/compare/comparison_fields.hpp"
#include "harness/analysis/compare/comparison_result.hpp"
#include "harness/analysis/compare/rounds/confirmation.hpp"
#include "harness/base/error.hpp"
#include "harness/base/parsed_text.hpp"

namespace plumb::analysis {

std::string_view to_text(QualificationVerdict verdict) {
  switch (verdict) {
    case QualificationVerdict::kApprove:
      return "approve";
    case QualificationVerdict::kApproveWithExceptions:
      return "approve_with_exceptions";
    case QualificationVerdict::kReject:
      return "reject";
    case QualificationVerdict::kNotEnoughEvidence:
      break;
  }
  return "not_enough_evidence";
}

std::string_view to_text(Qualification::Criterion::State state) {
  switch (state) {
    case Qualification::Criterion::State::kMet:
      return "met";
    case Qualification::Criterion::State::kFailed:
      return "failed";
    case Qualification::Criterion::State::kWaived:
      return "waived";
    case Qualification::Criterion::State::kNotMeasured:
      return "not measured";
    case Qualification::Criterion::State::kOpen:
      break;
  }
  return "open";
}

namespace {

using OutputVerdict = Qualification::Accuracy::Verdict;

constexpr std::array kOutputVerdicts{OutputVerdict::kSameBits,
                                     OutputVerdict::kWithinTolerance,
                                     OutputVerdict::kWorse,
                                     OutputVerdict::kWrong,
                                     OutputVerdict::kDiffers,
                                     OutputVerdict::kNotMeasured};

}  // namespace

std::string_view to_text(Qualification::Accuracy::Verdict verdict) {
  constexpr std::array<std::string_view, kOutputVerdicts.size()> kTexts{
      "same bits", "within tolerance", "worse", "wrong", "differs", "not measured"};
  return enum_text(kTexts, verdict);
}

// Fields of qualifications and of confirmations by pairs, as JSON.

namespace {

constexpr std::array kQualificationVerdicts{QualificationVerdict::kApprove,
                                            QualificationVerdict::kApproveWithExceptions,
                                            QualificationVerdict::kReject,
                                            QualificationVerdict::kNotEnoughEvidence};
constexpr std::array kBoundChanges{RoundComparison::PinnedCheck::BoundChange::kNotTested,
                                   RoundComparison::PinnedCheck::BoundChange::kCapabilityLost,
                                   RoundComparison::PinnedCheck::BoundChange::kChoiceOnly,
                                   RoundComparison::PinnedCheck::BoundChange::kUndecided};
constexpr std::array kReplayFindings{RoundComparison::PinnedCheck::Finding::kNotTested,
                                     RoundComparison::PinnedCheck::Finding::kHeuristicChanged,
                                     RoundComparison::PinnedCheck::Finding::kKernelChanged,
                                     RoundComparison::PinnedCheck::Finding::kRemoved,
                                     RoundComparison::PinnedCheck::Finding::kNotSeenAgain,
                                     RoundComparison::PinnedCheck::Finding::kUndecided};
constexpr std::array kCriterionStates{Qualification::Criterion::State::kMet,
                                      Qualification::Criterion::State::kFailed,
                                      Qualification::Criterion::State::kWaived,
                                      Qualification::Criterion::State::kOpen,
                                      Qualification::Criterion::State::kNotMeasured};

/// Reads a record of the store. Throws Error{kUser} that says which it was.
template <typename Value>
Value read_record(std::string_view json, const char* what) {
  try {
    return results::value_from_text<Value>(json);
  } catch (const Error& error) {
    throw Error(error.kind(), std::string(what) + " cannot be read: " + error.what());
  }
}

}  // namespace

template <typename Fields>
void describe(Fields& fields, Described<Fields, MetricComparison>& value) {
  fields("series", value.series);
  fields("kind", value.kind, kMetricKinds);
  describe_change(fields, value);
  fields("mde", value.mde);
  fields("verdict", value.verdict, kVerdicts);
  fields("reason", value.reason);
  fields("delta_seconds", value.delta);
  fields("delta_error_seconds", value.error);
  fields("causes", value.causes);
  describe_floor(fields, value);  // qualifications from before floors were calibrated have none
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, Qualification::Criteria::Waiver>& value) {
  fields("match", value.match);
  fields("reason", value.reason);
  fields("who", value.who);
  fields("expires", value.expires);
  fields("expired", value.expired);
  fields("applied_to", value.applied_to);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, Qualification::Criteria>& value) {
  fields("file", value.file);
  fields("sha256", value.sha256);
  fields("model_slowdown", value.model_slowdown);
  fields("geometric_mean", value.geometric_mean);
  fields("layer_slowdown", value.layer_slowdown);
  fields("new_unsupported", value.new_unsupported);
  fields("memory_growth", value.memory_growth);
  fields("creation_growth", value.creation_growth);
  fields("first_call_growth", value.first_call_growth);
  // In earlier versions a growth counted however small it was.
  fields.since("memory_minimum_bytes", value.memory_minimum_bytes, 0.0);
  fields.since("creation_minimum_seconds", value.creation_minimum_seconds, 0.0);
  fields.since("first_call_minimum_seconds", value.first_call_minimum_seconds, 0.0);
  fields("control_drift", value.control_drift);
  fields("maximum_error", value.maximum_error);
  fields("waivers", value.waivers);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, Qualification::Criterion>& value) {
  fields("criterion", value.criterion);
  fields("limit", value.limit);
  fields("state", value.state, kCriterionStates);
  fields("found", value.found);
  fields("cases", value.cases);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, Qualification::Stack>& value) {
  fields("name", value.name);
  fields("run", value.run);
  fields("environment", value.environment);
  fields("libraries", value.libraries);
  fields("crashes", value.crashes);
  fields("timeouts", value.timeouts);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, EnvironmentDifference>& value) {
  fields("name", value.name);
  fields("baseline", value.baseline);
  fields("candidate", value.candidate);
  fields("identity", value.identity);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, RoundComparison::PinnedCheck>& value) {
  fields("finding", value.finding, kReplayFindings);
  fields("bound", value.bound, kBoundChanges);
  fields("replayed_variant", value.replayed_variant);
  fields("replay", value.replay);
  fields("baseline_best", value.baseline_best);
  fields("candidate_best", value.candidate_best);
  fields("best", value.best);
  fields("evidence", value.evidence);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, RoundComparison::Metric>& value) {
  fields("subject", value.subject);
  fields("mode", value.mode);
  fields("test", value.test);
  fields("baseline_variant", value.baseline_variant);
  fields("candidate_variant", value.candidate_variant);
  fields("baseline_seconds", value.baseline_seconds);
  fields("candidate_seconds", value.candidate_seconds);
  fields("screening_pairs", value.screening_pairs);
  fields("decided_at", value.decided_at);
  fields("models", value.models);
  fields.since("place", value.place);
  fields("replay", value.replay);
  fields("waived_by", value.waived_by);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, RunComparison::Attribution::Term>& value) {
  fields("layer", value.layer);
  fields("seconds", value.seconds);
  fields("error", value.error);
  fields("baseline_variant", value.baseline_variant);
  fields("candidate_variant", value.candidate_variant);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, RunComparison::Attribution>& value) {
  fields("subject", value.subject);
  fields("mode", value.mode);
  fields("delta_seconds", value.delta_seconds);
  fields("delta_error", value.delta_error);
  fields("layers", value.layers);
  fields("reorder_seconds", value.reorder_seconds);
  fields.since("reorder_error", value.reorder_error);
  fields("unmatched_seconds", value.unmatched_seconds);
  fields.since("unmatched_error", value.unmatched_error);
  fields("unexplained_seconds", value.unexplained_seconds);
  fields("unexplained_error", value.unexplained_error);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, RunComparison::Finding>& value) {
  fields("cause", value.cause);
  fields("evidence", value.evidence);
  fields("layers", value.layers);
  fields("models", value.models);
  fields("delta_seconds", value.delta_seconds);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, Qualification::Accuracy>& value) {
  fields("subject", value.subject);
  fields("baseline_error", value.baseline_error);
  fields("candidate_error", value.candidate_error);
  fields("baseline_hash", value.baseline_hash);
  fields("candidate_hash", value.candidate_hash);
  fields("verdict", value.verdict, kOutputVerdicts);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, Qualification::Cost>& value) {
  fields("subject", value.subject);
  fields("name", value.name);
  fields("unit", value.unit);
  fields("baseline", value.baseline);
  fields("candidate", value.candidate);
  fields("ratio", value.ratio);
  fields("low", value.low);
  fields("high", value.high);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, RoundComparison::Control>& value) {
  fields("name", value.name);
  fields("test", value.test);
  fields("baseline_seconds", value.baseline_seconds);
  fields("candidate_seconds", value.candidate_seconds);
  fields("moved", value.moved);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, Qualification::Alarms>& value) {
  fields("tests", value.tests);
  fields("alarms", value.alarms);
  fields("level", value.level);
  fields("low", value.low);
  fields("high", value.high);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, RoundComparison::InvalidRound>& value) {
  fields("round", value.round);
  fields("reason", value.reason);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, Qualification::Look>& value) {
  fields("pairs", value.pairs);
  fields("open", value.open);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, Qualification::Mean>& value) {
  fields("mode", value.mode);
  fields("models", value.models);
  fields("value", value.value);
  fields("low", value.low);
  fields("high", value.high);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, Qualification>& value) {
  fields("suite", value.suite);
  fields("suite_hash", value.suite_hash);
  fields("baseline", value.baseline);
  fields("candidate", value.candidate);
  fields("differences", value.differences);
  fields("unchanged", value.unchanged);
  fields("command", value.command);
  fields("started", value.started);
  fields("finished", value.finished);
  fields("criteria", value.criteria);
  fields.since("judged_again", value.judged_again);
  fields("results", value.results);
  fields("verdict", value.verdict, kQualificationVerdicts);
  fields("reason", value.reason);
  fields("models", value.models);
  fields("layers", value.layers);
  fields("geometric_means", value.geometric_means);
  fields("attributions", value.attributions);
  fields("findings", value.findings);
  fields.since("functions", value.functions);
  fields("accuracy", value.accuracy);
  fields("costs", value.costs);
  fields("controls", value.controls);
  fields("alarms", value.alarms);
  fields("invalid_rounds", value.invalid_rounds);
  fields("looks", value.looks);
  fields("rounds", value.rounds);
  fields("complete", value.complete);
  // In earlier versions only the reason told of the machine, of the stacks and of the control.
  fields.since("machine_moved", value.machine_moved, value.reason.starts_with("the machine moved"));
  fields.since("stack_changed", value.stack_changed, value.reason.starts_with("a stack changed"));
  fields.since("control_failed",
               value.control_failed,
               value.reason.find("the A/A control failed") != std::string::npos);
  fields("notes", value.notes);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, PairedConfirmation>& value) {
  fields("rounds", value.rounds);
  fields("valid", value.valid);
  fields("drifted", value.drifted);
  fields("metrics", value.metrics);
}

std::string to_json(const PairedConfirmation& confirmation) {
  return results::described_text(confirmation);
}

PairedConfirmation paired_confirmation_from_json(std::string_view json) {
  return read_record<PairedConfirmation>(json, "a stored confirmation");
}

std::string to_json(const Qualification& qualification) {
  return results::described_text(qualification);
}

Qualification qualification_from_json(std::string_view json) {
  return read_record<Qualification>(json, "a stored qualification");
}

namespace {

constexpr double kLevel = 0.05;
constexpr double kShare = 0.5;  // of the regression that makes a time as slow

/// What a test says of "at least half of the regression shows in it".
enum class Shown { kYes, kNo, kUndecided };

std::optional<MetricComparison> tested(const PairedSamples& samples, MetricKind kind) {
  PairedSamples::Metric metric = paired_metric(samples, samples.name, kind);
  if (!metric.log_ratio) {
    return std::nullopt;
  }
  metric.result.q = test_change(metric.result, *metric.log_ratio, kLevel);
  return std::move(metric.result);
}

/// Decides whether a test shows at least half of a regression, on the logarithm. The whole interval
/// must lie on one side of that half.
Shown shown(const MetricComparison& test, const MetricComparison& regression) {
  const double half = std::pow(*regression.ratio, kShare);
  return test.low >= half ? Shown::kYes : test.high < half ? Shown::kNo : Shown::kUndecided;
}

RoundComparison::PinnedCheck::Finding finding_of(Shown slower, bool same_choice) {
  switch (slower) {
    case Shown::kYes:
      return RoundComparison::PinnedCheck::Finding::kKernelChanged;
    case Shown::kNo:
      return same_choice ? RoundComparison::PinnedCheck::Finding::kNotSeenAgain
                         : RoundComparison::PinnedCheck::Finding::kHeuristicChanged;
    case Shown::kUndecided:
      break;
  }
  return RoundComparison::PinnedCheck::Finding::kUndecided;
}

RoundComparison::PinnedCheck::BoundChange bound_of(Shown slower) {
  return slower == Shown::kYes  ? RoundComparison::PinnedCheck::BoundChange::kCapabilityLost
         : slower == Shown::kNo ? RoundComparison::PinnedCheck::BoundChange::kChoiceOnly
                                : RoundComparison::PinnedCheck::BoundChange::kUndecided;
}

std::string change(const MetricComparison& test) {
  return fmt::format("{:+.1f}% ({:+.1f}% to {:+.1f}%)",
                     100.0 * (*test.ratio - 1.0),
                     100.0 * (test.low - 1.0),
                     100.0 * (test.high - 1.0));
}

}  // namespace

std::string same_variant(const std::string& chosen, const std::vector<std::string>& variants) {
  if (std::find(variants.begin(), variants.end(), chosen) != variants.end()) {
    return chosen;
  }
  const RunComparison::Implementation name = implementation_name(chosen);
  const auto found = std::find_if(variants.begin(), variants.end(), [&](const auto& variant) {
    return implementation_name(variant) == name;
  });
  return found != variants.end() ? *found : "";
}

RoundComparison::PinnedCheck judge_replay(const Qualification::ReplayTimes& times,
                                          const MetricComparison& regression) {
  RoundComparison::PinnedCheck result;
  result.replayed_variant = times.replayed;
  result.baseline_best = times.baseline_best;
  result.candidate_best = times.candidate_best;
  result.replay = tested(times.replay, MetricKind::kReplay);
  result.best = tested(times.best, MetricKind::kCapability);
  if (times.replayed.empty()) {
    result.finding = RoundComparison::PinnedCheck::Finding::kRemoved;
    result.evidence = fmt::format("the candidate has no '{}'", times.chosen);
  } else if (result.replay && regression.ratio) {
    result.finding =
        finding_of(shown(*result.replay, regression), times.replayed == times.candidate_chosen);
    result.evidence =
        fmt::format("'{}' is still there and takes {}", times.replayed, change(*result.replay));
  } else {
    result.evidence = "the baseline's implementation was not timed on both sides";
  }
  if (result.best && regression.ratio) {
    result.bound = bound_of(shown(*result.best, regression));
    result.evidence += fmt::format("; the fastest variants differ by {}: '{}' and '{}'",
                                   change(*result.best),
                                   times.baseline_best,
                                   times.candidate_best);
  }
  return result;
}

}  // namespace plumb::analysis
