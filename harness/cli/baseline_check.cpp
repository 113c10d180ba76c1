// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/baseline_check.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <utility>
#include <vector>

#include "harness/analysis/bounds/model_execution.hpp"
#include "harness/base/error.hpp"
#include "harness/session/stored/stored_comparison.hpp"
#include "harness/terminal/terminal.hpp"
#include "reporting/content/comparison/comparison_report.hpp"
#include "reporting/formats/output_format.hpp"

namespace plumb::cli {

int gate_status(std::span<const analysis::ComparisonVerdict> verdicts) {
  const auto any = [&](analysis::ComparisonVerdict verdict) {
    return std::find(verdicts.begin(), verdicts.end(), verdict) != verdicts.end();
  };
  if (any(analysis::ComparisonVerdict::kBroken) || any(analysis::ComparisonVerdict::kRegressed)) {
    return 1;
  }
  return any(analysis::ComparisonVerdict::kInconclusive) || verdicts.empty()
             ? static_cast<int>(Error::Kind::kTryAgain)
             : 0;
}

int compute_exit_status(const std::map<std::string, std::vector<results::ScenarioResult>>& loads) {
  bool failed = false;
  bool not_executed = false;
  bool inconclusive = false;
  for (const auto& [subject, all] : loads) {
    for (const results::ScenarioResult& load : analysis::newest_loads(all)) {
      const results::ScenarioResult::Verdict verdict = judge_load(load);
      const bool refused = load.outcome.kind == results::Outcome::Kind::kUnsupported;
      failed = failed || verdict == results::ScenarioResult::Verdict::kFailed ||
               (verdict == results::ScenarioResult::Verdict::kNotExecuted && !refused);
      not_executed =
          not_executed || (verdict == results::ScenarioResult::Verdict::kNotExecuted && refused);
      inconclusive = inconclusive || verdict == results::ScenarioResult::Verdict::kInconclusive;
    }
  }
  if (failed) {
    return 1;
  }
  if (not_executed) {
    return static_cast<int>(Error::Kind::kEnvironment);
  }
  return inconclusive ? static_cast<int>(Error::Kind::kTryAgain) : 0;
}

void add_baseline_options(CLI::App& command, BaselineCheck::Options& options) {
  CLI::Option* const baseline =
      command.add_option("--baseline",
                         options.baseline,
                         "compare with this run when done: id, unique prefix or tag, such as "
                         "baseline/SUITE");
  command
      .add_option("--vary",
                  options.varied,
                  "what differs from the baseline on purpose: stack, driver, suite, or a fact's "
                  "name; may be repeated")
      ->needs(baseline);
  command
      .add_option("-o,--output",
                  options.outputs,
                  "a report of the comparison; may be repeated: " +
                      reporting::format_list(reporting::comparison_formats()))
      ->needs(baseline);
  command
      .add_flag("--gate",
                options.gate,
                "exit 1 if something is broken or regressed against the baseline, else 75 if "
                "something is inconclusive")
      ->needs(baseline);
  command
      .add_option("--confirm",
                  options.confirm,
                  "measure what looks regressed again before it is reported: auto (with --gate), "
                  "never, or a number of fresh processes")
      ->check([](const std::string& text) -> std::string {
        const bool number = !text.empty() && text.size() <= 3 &&
                            text.find_first_not_of("0123456789") == std::string::npos;
        return text == "auto" || text == "never" || (number && std::stoi(text) >= 3)
                   ? ""
                   : "'" + text + "' is not auto, never or a number from 3 to 999";
      })
      ->capture_default_str()
      ->needs(baseline);
}

BaselineCheck::BaselineCheck(const BaselineCheck::Options& options,
                             const store::Store& store,
                             std::size_t runs)
    : options_(options) {
  if (options.baseline.empty()) {
    return;
  }
  baseline_ = store.find_run(options.baseline).header.id;
  for (const std::string& file : options.outputs) {
    static_cast<void>(reporting::format_for(reporting::comparison_formats(), file));
  }
  if (runs > 1 && !options.outputs.empty()) {
    throw Error(Error::Kind::kUser,
                "several stacks give several comparisons: leave out --output, and write each with "
                "plumb report BASE..CAND");
  }
}

std::optional<analysis::ComparisonReport> BaselineCheck::check(store::Store& store,
                                                               const session::ModelSource& models,
                                                               const results::RunId& run) const {
  if (!baseline_) {
    return std::nullopt;
  }
  analysis::ComparisonReport report =
      session::compare_stored_runs({store, models}, *baseline_, run, options_.varied, {});
  report.commits = options_.commits;
  reporting::write_reports(
      report, reporting::comparison_formats(), options_.outputs, terminal::announce_report);
  session::store_comparison(store, report);
  return report;
}

std::optional<session::SuiteRun::SuspectConfirmation::Plan> BaselineCheck::confirmation() const {
  const bool wanted = options_.confirm == "auto" ? options_.gate : options_.confirm != "never";
  if (!baseline_ || !wanted) {
    return std::nullopt;
  }
  session::SuiteRun::SuspectConfirmation::Plan plan{.baseline = *baseline_,
                                                    .varied = options_.varied};
  if (options_.confirm != "auto") {
    plan.processes = static_cast<std::size_t>(std::stoi(options_.confirm));
  }
  return plan;
}

int BaselineCheck::status_of(const analysis::ComparisonReport& report) const {
  return options_.gate ? gate_status({&report.comparison.verdict, 1}) : 0;
}

void compare_with_baseline(CommandContext& context,
                           const BaselineCheck& baseline,
                           store::Store& store,
                           std::span<const analysis::RunReport> reports) {
  std::vector<analysis::ComparisonReport> comparisons;
  const auto print = [&] {
    if (context.json) {
      reporting::write_measured_runs(reports, comparisons, std::cout);
    }
  };
  try {
    for (const analysis::RunReport& report : reports) {
      auto comparison = context.stop.load()
                            ? std::nullopt
                            : baseline.check(store, context.models, report.run.header.id);
      if (!comparison) {
        continue;
      }
      if (!context.json) {
        reporting::write_run_comparison(*comparison, reporting::OutputMode::kText, std::cout);
      }
      const int gate = baseline.status_of(*comparison);
      if (gate == 1 || context.exit_status == 0) {
        context.exit_status = gate;
      }
      comparisons.push_back(std::move(*comparison));
    }
  } catch (const Error&) {
    print();
    throw;
  }
  print();
}

}  // namespace plumb::cli
