// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/analysis/qualify/qualification.hpp"
#include "harness/base/name_match.hpp"

namespace plumb::analysis {
namespace {

bool slower(const MetricComparison& metric, double limit) {
  return metric.verdict == ComparisonVerdict::kRegressed && *metric.ratio > 1.0 + limit;
}

/// Returns whether a slow-down beyond the limit can be excluded.
bool excluded(const MetricComparison& metric, double limit) {
  return metric.verdict == ComparisonVerdict::kBroken ||  // a criterion of its own
         (metric.ratio && metric.high <= 1.0 + limit) ||
         (metric.verdict == ComparisonVerdict::kRegressed && *metric.ratio <= 1.0 + limit);
}

/// Returns an amount of memory or time with its unit.
std::string amount_text(double amount, const std::string& unit) {
  if (unit != "bytes") {
    return fmt::format("{:.4g} ms", amount * 1e3);
  }
  constexpr double kKibi = 1024.0;
  return std::abs(amount) < kKibi           ? fmt::format("{:.0f} bytes", amount)
         : std::abs(amount) < kKibi * kKibi ? fmt::format("{:.4g} KiB", amount / kKibi)
                                            : fmt::format("{:.4g} MiB", amount / kKibi / kKibi);
}

std::string case_of(const RoundComparison::Metric& metric) {
  return metric.mode.empty() ? metric.subject : metric.subject + " " + metric.mode;
}

/// Evaluator of one qualification's criteria.
class Judge {
 public:
  explicit Judge(Qualification& qualification) : q_(qualification) {}

  void judge() {
    slowdown("model_slowdown", q_.models, q_.criteria.model_slowdown);
    geometric_means();
    slowdown("layer_slowdown", q_.layers, q_.criteria.layer_slowdown);
    unsupported();
    accuracy();
    deaths();
    const Qualification::Criteria& limits = q_.criteria;
    growth({"memory", "memory_growth", limits.memory_growth, limits.memory_minimum_bytes, "bytes"});
    growth({"creation",
            "creation_growth",
            limits.creation_growth,
            limits.creation_minimum_seconds,
            "seconds"});
    growth({"first_call",
            "first_call_growth",
            limits.first_call_growth,
            limits.first_call_minimum_seconds,
            "seconds"});
  }

 private:
  /// Adds the result of a criterion that was not measured.
  void add_unmeasured(const char* criterion, const std::string& limit, const std::string& why) {
    q_.results.push_back(
        {criterion, limit, Qualification::Criterion::State::kNotMeasured, why, {}});
  }

  /// Adds a result. It is waived if waivers cover all failed cases.
  void add(Qualification::Criterion result,
           std::vector<std::string> failed,
           std::vector<std::string> open) {
    const bool any = !failed.empty();
    const bool waived = any && std::all_of(failed.begin(), failed.end(), [&](const auto& name) {
                          return waive(name);
                        });
    result.state = waived          ? Qualification::Criterion::State::kWaived
                   : any           ? Qualification::Criterion::State::kFailed
                   : !open.empty() ? Qualification::Criterion::State::kOpen
                                   : Qualification::Criterion::State::kMet;
    result.cases = any ? std::move(failed) : std::move(open);
    q_.results.push_back(std::move(result));
  }

  /// Adds a result that rests on times of models or layers. Nothing about these is shown where the
  /// A/A control failed.
  void add_timed(Qualification::Criterion result,
                 std::vector<std::string> failed,
                 std::vector<std::string> open) {
    if (q_.control_failed) {
      open.insert(open.end(), failed.begin(), failed.end());
      failed.clear();
      if (open.empty()) {
        open.emplace_back("all");
      }
    }
    add(std::move(result), std::move(failed), std::move(open));
  }

  bool waive(const std::string& name) {
    for (Qualification::Criteria::Waiver& waiver : q_.criteria.waivers) {
      if (waiver.expired || !matches_pattern(waiver.match, name)) {
        continue;
      }
      if (std::find(waiver.applied_to.begin(), waiver.applied_to.end(), name) ==
          waiver.applied_to.end()) {
        waiver.applied_to.push_back(name);
      }
      for (auto* metrics : {&q_.models, &q_.layers}) {
        for (RoundComparison::Metric& metric : *metrics) {
          if (case_of(metric) == name) {
            metric.waived_by = waiver.reason;
          }
        }
      }
      return true;
    }
    return false;
  }

  void slowdown(const char* name,
                const std::vector<RoundComparison::Metric>& metrics,
                double limit) {
    std::vector<std::string> failed;
    std::vector<std::string> open;
    const MetricComparison* worst = nullptr;
    for (const RoundComparison::Metric& metric : metrics) {
      if (metric.test.ratio && (worst == nullptr || *metric.test.ratio > *worst->ratio)) {
        worst = &metric.test;
      }
      if (slower(metric.test, limit)) {
        failed.push_back(case_of(metric));
      } else if (!excluded(metric.test, limit)) {
        open.push_back(case_of(metric));
      }
    }
    Qualification::Criterion result{
        name, fmt::format("at most {:+.4g}%", 100.0 * limit), {}, {}, {}};
    if (metrics.empty()) {
      return add_unmeasured(name, result.limit, "none was measured");
    }
    result.found = worst == nullptr
                       ? "nothing was measured on both sides"
                       : fmt::format(
                             "{} of {} exceed it, {} are open; the slowest is {:+.1f}% "
                             "({:+.1f}% to {:+.1f}%)",
                             failed.size(),
                             metrics.size(),
                             open.size(),
                             100.0 * (*worst->ratio - 1.0),
                             100.0 * (worst->low - 1.0),
                             100.0 * (worst->high - 1.0));
    if (worst == nullptr && failed.empty() && open.empty() && !metrics.empty()) {
      open.push_back("all");
    }
    add_timed(std::move(result), std::move(failed), std::move(open));
  }

  void geometric_means() {
    std::vector<std::string> failed;
    std::vector<std::string> open;
    std::string found;
    for (const Qualification::Mean& mean : q_.geometric_means) {
      found += fmt::format("{}{}: {:.4f} ({:.4f} to {:.4f}) over {} model{}",
                           found.empty() ? "" : "; ",
                           mean.mode,
                           mean.value,
                           mean.low,
                           mean.high,
                           mean.models,
                           mean.models == 1 ? "" : "s");
      if (mean.high < q_.criteria.geometric_mean) {
        failed.push_back("geometric mean " + mean.mode);
      } else if (mean.value < q_.criteria.geometric_mean) {
        open.push_back("geometric mean " + mean.mode);
      }
    }
    const std::string limit = fmt::format("at least {:.4g}", q_.criteria.geometric_mean);
    if (found.empty()) {
      return add_unmeasured("geometric_mean", limit, "no model was measured on both sides");
    }
    add_timed({"geometric_mean", limit, {}, found, {}}, std::move(failed), std::move(open));
  }

  void unsupported() {
    std::vector<std::string> broken;
    for (const auto* metrics : {&q_.models, &q_.layers}) {
      for (const RoundComparison::Metric& metric : *metrics) {
        if (metric.test.verdict == ComparisonVerdict::kBroken) {
          broken.push_back(case_of(metric));
        }
      }
    }
    std::string found = fmt::format("{} cases worked before and no longer work", broken.size());
    if (q_.criteria.new_unsupported) {
      broken.clear();
    }
    add({"new_unsupported",
         q_.criteria.new_unsupported ? "allowed" : "none",
         {},
         std::move(found),
         {}},
        std::move(broken),
        {});
  }

  void accuracy() {
    using Verdict = Qualification::Accuracy::Verdict;
    std::vector<std::string> failed;
    std::size_t changed = 0;
    for (const Qualification::Accuracy& each : q_.accuracy) {
      const bool beyond = q_.criteria.maximum_error && each.candidate_error &&
                          *each.candidate_error > *q_.criteria.maximum_error;
      if (each.verdict == Verdict::kWrong || beyond) {
        failed.push_back(each.subject);
      }
      if (each.verdict != Verdict::kSameBits && each.verdict != Verdict::kNotMeasured) {
        ++changed;
      }
    }
    std::string found = fmt::format("{} of {} give other bits, {} beyond the limit",
                                    changed,
                                    q_.accuracy.size(),
                                    failed.size());
    add({"maximum_error",
         q_.criteria.maximum_error ? fmt::format("at most {:.3g}", *q_.criteria.maximum_error)
                                   : "the tolerance of each type",
         {},
         std::move(found),
         {}},
        std::move(failed),
        {});
  }

  void deaths() {
    std::vector<std::string> failed;
    if (q_.candidate.crashes > q_.baseline.crashes) {
      failed.push_back("crashes");
    }
    if (q_.candidate.timeouts > q_.baseline.timeouts) {
      failed.push_back("time-outs");
    }
    add({"stability",
         "no more crashes or time-outs than the baseline",
         {},
         fmt::format("baseline {} and {}, candidate {} and {}",
                     q_.baseline.crashes,
                     q_.baseline.timeouts,
                     q_.candidate.crashes,
                     q_.candidate.timeouts),
         {}},
        std::move(failed),
        {});
  }

  /// Limit on the growth of one cost.
  struct GrowthLimit {
    const char* cost;
    const char* criterion;
    double relative;
    double minimum;  ///< smaller growths count as none
    const char* unit;
  };

  void growth(const GrowthLimit& limit) {
    std::vector<std::string> failed;
    std::vector<std::string> open;
    const Qualification::Cost* worst = nullptr;
    const auto beyond = [&](const Qualification::Cost& cost) {
      return cost.ratio > 1.0 + limit.relative && cost.candidate - cost.baseline >= limit.minimum;
    };
    for (const Qualification::Cost& cost : q_.costs) {
      if (cost.name != limit.cost) {
        continue;
      }
      // What exceeds the limit is told before what is too small to count.
      if (worst == nullptr ||
          std::pair(beyond(cost), cost.ratio) > std::pair(beyond(*worst), worst->ratio)) {
        worst = &cost;
      }
      if (beyond(cost)) {
        auto& cases = cost.low.value_or(cost.ratio) > 1.0 + limit.relative ? failed : open;
        cases.push_back(cost.subject + " " + limit.cost);
      }
    }
    const std::string limit_text =
        fmt::format("at most {:+.4g}%", 100.0 * limit.relative) +
        (limit.minimum > 0.0
             ? fmt::format(", counted from {}", amount_text(limit.minimum, limit.unit))
             : "");
    if (worst == nullptr) {
      return add_unmeasured(limit.criterion, limit_text, "neither side has a value");
    }
    add({limit.criterion,
         limit_text,
         {},
         fmt::format("the largest is {:+.1f}%, {} → {}: {}",
                     100.0 * (worst->ratio - 1.0),
                     amount_text(worst->baseline, limit.unit),
                     amount_text(worst->candidate, limit.unit),
                     worst->subject),
         {}},
        std::move(failed),
        std::move(open));
  }

  Qualification& q_;
};

std::size_t count(const Qualification& qualification, Qualification::Criterion::State state) {
  return static_cast<std::size_t>(std::count_if(
      qualification.results.begin(), qualification.results.end(), [state](const auto& result) {
        return result.state == state;
      }));
}

std::string list(const Qualification& qualification, Qualification::Criterion::State state) {
  std::string names;
  for (const Qualification::Criterion& result : qualification.results) {
    if (result.state == state) {
      names += (names.empty() ? "" : ", ") + result.criterion;
    }
  }
  return names;
}

}  // namespace

void judge_criteria(Qualification& qualification) {
  qualification.results.clear();
  qualification.control_failed = qualification.alarms.failed();
  Judge(qualification).judge();
  const std::size_t failed = count(qualification, Qualification::Criterion::State::kFailed);
  const std::size_t open = count(qualification, Qualification::Criterion::State::kOpen);
  const std::size_t unmeasured =
      count(qualification, Qualification::Criterion::State::kNotMeasured);
  const std::size_t waived = count(qualification, Qualification::Criterion::State::kWaived);
  if (qualification.stack_changed) {
    qualification.verdict = QualificationVerdict::kNotEnoughEvidence;
    qualification.reason = "a stack changed while it was measured";
    return;
  }
  if (qualification.models.empty() && qualification.layers.empty()) {
    qualification.verdict = QualificationVerdict::kNotEnoughEvidence;
    qualification.reason = "nothing was measured: no round is valid";
  } else if (qualification.machine_moved) {
    qualification.verdict = QualificationVerdict::kNotEnoughEvidence;
    qualification.reason =
        "the machine drifted: its controls, which use no library, differ between the sides";
  } else if (failed > 0) {
    qualification.verdict = QualificationVerdict::kReject;
    qualification.reason =
        fmt::format("{} of {} criteria failed: {}",
                    failed,
                    qualification.results.size(),
                    list(qualification, Qualification::Criterion::State::kFailed));
  } else if (!qualification.complete) {
    qualification.verdict = QualificationVerdict::kNotEnoughEvidence;
    qualification.reason = "the qualification was stopped before everything was decided";
  } else if (open > 0) {
    qualification.verdict = QualificationVerdict::kNotEnoughEvidence;
    qualification.reason = fmt::format("{} of {} criteria are still open: {}",
                                       open,
                                       qualification.results.size(),
                                       list(qualification, Qualification::Criterion::State::kOpen));
  } else if (waived > 0) {
    qualification.verdict = QualificationVerdict::kApproveWithExceptions;
    qualification.reason =
        fmt::format("all criteria are met, except the waived ones: {}",
                    list(qualification, Qualification::Criterion::State::kWaived));
  } else {
    qualification.verdict = QualificationVerdict::kApprove;
    qualification.reason = fmt::format("all {} criteria{} are met",
                                       qualification.results.size() - unmeasured,
                                       unmeasured > 0 ? " that were measured" : "");
  }
  if (qualification.control_failed) {
    qualification.reason += fmt::format(
        "; the A/A control failed, so times of models and layers decide nothing: {} of {} tests "
        "without a change alarm at {:.2g}%",
        qualification.alarms.alarms,
        qualification.alarms.tests,
        100.0 * qualification.alarms.level);
  }
  if (unmeasured > 0) {
    qualification.reason += fmt::format(
        "; not measured: {}", list(qualification, Qualification::Criterion::State::kNotMeasured));
  }
}

void judge_again(Qualification& qualification, Qualification::Criteria criteria) {
  const Qualification::Criteria before = std::exchange(qualification.criteria, std::move(criteria));
  qualification.criteria.control_drift = before.control_drift;
  qualification.judged_again = true;
  qualification.alarms = alarm_control(qualification);  // earlier versions had another control
  for (auto* metrics : {&qualification.models, &qualification.layers}) {
    for (RoundComparison::Metric& metric : *metrics) {
      metric.waived_by.clear();
    }
  }
  const std::string file = qualification.criteria.file.empty() ? std::string("the defaults")
                                                               : qualification.criteria.file;
  qualification.notes.push_back(
      fmt::format("judged again by {} after the measurement; the verdict before was {}: {}",
                  file,
                  to_text(qualification.verdict),
                  qualification.reason));
  judge_criteria(qualification);
}

}  // namespace plumb::analysis
