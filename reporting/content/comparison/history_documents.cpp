// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <ostream>
#include <string_view>

#include "harness/analysis/report/run_json.hpp"
#include "harness/results/labels/run_labels.hpp"
#include "reporting/content/comparison/change_documents.hpp"
#include "reporting/content/run/documents.hpp"
#include "reporting/content/run/json_documents.hpp"
#include "reporting/document/page.hpp"
#include "reporting/document/texts.hpp"

namespace plumb::reporting {
namespace {

std::string change_text(double before, double after) {
  return fmt::format("{:+.1f} %", (after / before - 1.0) * 100.0);
}

/// Index by id of the runs of a report. The report must outlive it.
class Runs {
 public:
  explicit Runs(const HistoryReport& report) {
    for (const results::RunRecord& run : report.history.runs) {
      by_id_[run.header.id] = &run;
    }
  }
  [[nodiscard]] std::string started(const results::RunId& run) const {
    return to_text(by_id_.at(run)->header.started);
  }
  /// Returns the commit that a run measured. Empty: it is not known.
  [[nodiscard]] std::string commit(const results::RunId& run) const {
    return run.empty() ? "" : results::commit_of(by_id_.at(run)->header.environment);
  }
  /// Lists what differs between the last run of one level and the first of the next.
  [[nodiscard]] std::vector<analysis::EnvironmentDifference> changed(
      const analysis::SeriesChange& change) const {
    if (change.run_before.empty()) {
      return {};
    }
    const results::RunHeader& before = by_id_.at(change.run_before)->header;
    const results::RunHeader& after = by_id_.at(change.run)->header;
    std::vector<analysis::EnvironmentDifference> changes =
        analysis::environment_changes(before.environment, after.environment);
    if (before.suite_hash != after.suite_hash) {
      changes.push_back(
          {"suite", before.suite_hash.substr(0, 12), after.suite_hash.substr(0, 12), false});
    }
    return changes;
  }

 private:
  std::map<results::RunId, const results::RunRecord*> by_id_;
};

/// A change with its series.
struct NamedChange {
  const analysis::SeriesFinding* finding;
  const analysis::SeriesChange* change;
};

/// Groups changes by the run where they begin, oldest first: one cause is one finding.
std::map<std::pair<std::string, results::RunId>, std::vector<NamedChange>> by_run(
    const HistoryReport& report, const Runs& runs) {
  std::map<std::pair<std::string, results::RunId>, std::vector<NamedChange>> groups;
  for (const analysis::SeriesFinding& finding : report.findings) {
    for (const analysis::SeriesChange& change : finding.changes) {
      groups[{runs.started(change.run), change.run}].push_back({&finding, &change});
    }
  }
  return groups;
}

void write_group(const std::vector<NamedChange>& group,
                 const Runs& runs,
                 const results::CommitLink& commits,
                 std::ostream& out) {
  out << fmt::format("\n{}  run {}\n", runs.started(group[0].change->run), group[0].change->run);
  if (const std::string address = commits.address(runs.commit(group[0].change->run));
      !address.empty()) {
    out << fmt::format("  commit: {}\n", address);
  }
  const auto changed = runs.changed(*group[0].change);
  for (const analysis::EnvironmentDifference& difference : changed) {
    out << fmt::format("  changed there: {}: {} → {}\n",
                       sanitize_utf8(difference.name),
                       sanitize_utf8(difference.baseline),
                       sanitize_utf8(difference.candidate));
  }
  if (changed.empty()) {
    out << "  no recorded fact changed there\n";
  }
  AlignedTable table(
      {{"  before", true}, {"after", true}, {"change", true}, {"state"}, {"series"}});
  for (const auto& [finding, change] : group) {
    table.add({time_text(Seconds(change->before)),
               time_text(Seconds(change->after)),
               change_text(change->before, change->after),
               state_text(*change) + (change->reason.empty() ? "" : ": " + change->reason),
               finding->id});
  }
  table.write(out);
}

/// Writes the changes that no book is kept of, by their points: of states and of the deviation.
void write_other_changes(const analysis::SeriesFinding& finding, std::ostream& out) {
  for (const stats::Detection::StateChange& change : finding.state_changes) {
    const bool share = change.kind == stats::Detection::StateChange::Kind::kHighShare;
    const auto text = [&](double value) {
      return share ? fmt::format("{:.0f} %", 100.0 * value) : time_text(Seconds(value));
    };
    out << fmt::format("  {} changed at point {}: {} → {}\n",
                       to_text(change.kind),
                       change.index,
                       text(change.before),
                       text(change.after));
  }
  if (finding.variance_changes) {
    for (const stats::ChangePoint& change : *finding.variance_changes) {
      out << fmt::format("\ndeviation changed at point {}: {:.2g} % → {:.2g} %: {}\n",
                         change.index,
                         100.0 * change.before,
                         100.0 * change.after,
                         sanitize_utf8(finding.id));
    }
  }
}

void write_text(const HistoryReport& report, const Runs& runs, std::ostream& out) {
  out << fmt::format("{} · stack {} · {} runs since {} · {} series\n",
                     sanitize_utf8(report.history.name.suite),
                     sanitize_utf8(report.history.name.stack),
                     report.history.runs.size(),
                     to_text(report.history.runs.front().header.started),
                     report.findings.size());
  const auto groups = by_run(report, runs);
  for (const auto& [run, group] : groups) {
    write_group(group, runs, report.commits, out);
  }
  if (groups.empty()) {
    out << "\nno changes\n";
  }
  bool suspicious = false;
  for (const analysis::SeriesFinding& finding : report.findings) {
    for (const analysis::SeriesFinding::Suspicion& suspicion : finding.suspicions) {
      out << (suspicious ? "" : "\nsuspicions, with too few runs for a verdict: measure again\n");
      suspicious = true;
      out << fmt::format("  {} since {}: {}\n",
                         change_text(suspicion.before, suspicion.after),
                         runs.started(suspicion.run),
                         sanitize_utf8(finding.id));
    }
  }
  if (suspicious) {
    out << "  " << sanitize_utf8(report.measure_again) << '\n';
  }
  for (const analysis::SeriesFinding& finding : report.findings) {
    if (finding.creep) {
      out << fmt::format("\ncreep: {} little by little since the best level, {} around {}: {}\n",
                         change_text(finding.creep->best, finding.creep->newest),
                         time_text(Seconds(finding.creep->best)),
                         runs.started(finding.creep_since),
                         sanitize_utf8(finding.id));
      if (finding.trend) {
        out << fmt::format("  {:+.2g} % a run\n",
                           100.0 * finding.trend->slope / finding.trend->before);
      }
    }
    if (finding.two_states) {
      out << fmt::format("\n{} jumps between two states\n", sanitize_utf8(finding.id));
    }
    write_other_changes(finding, out);
  }
  for (const analysis::SuiteHistory::Excluded& each : report.history.excluded) {
    out << fmt::format("{}  {}: {}\n",
                       &each == report.history.excluded.data() ? "\nexcluded by the suite\n" : "",
                       sanitize_utf8(each.id),
                       sanitize_utf8(exclusion_text(each.exclusion, false)));
  }
}

analysis::Json change_json(const analysis::SeriesChange& change,
                           const Runs& runs,
                           const results::CommitLink& commits) {
  analysis::Json diff = analysis::Json::array();
  for (const analysis::EnvironmentDifference& difference : runs.changed(change)) {
    diff.push_back({{"fact", difference.name},
                    {"before", difference.baseline},
                    {"after", difference.candidate},
                    {"identity", difference.identity}});
  }
  return {{"index", change.index},
          {"before_seconds", change.before},
          {"after_seconds", change.after},
          {"confidence", analysis::number_or_null(change.confidence)},
          {"run", change.run},
          {"started", runs.started(change.run)},
          {"state", to_text(change.state)},
          {"reason", change.reason},
          {"open", change.is_open()},
          {"early", change.early},
          {"commit_before", analysis::text_or_null(runs.commit(change.run_before))},
          {"commit", analysis::text_or_null(runs.commit(change.run))},
          {"commit_url", analysis::text_or_null(commits.address(runs.commit(change.run)))},
          {"environment_diff", std::move(diff)}};
}

analysis::Json finding_json(const analysis::SeriesFinding& finding,
                            const Runs& runs,
                            const results::CommitLink& commits) {
  analysis::Json changes = analysis::Json::array();
  for (const analysis::SeriesChange& change : finding.changes) {
    changes.push_back(change_json(change, runs, commits));
  }
  analysis::Json suspicions = analysis::Json::array();
  for (const analysis::SeriesFinding::Suspicion& suspicion : finding.suspicions) {
    suspicions.push_back({{"run", suspicion.run},
                          {"started", runs.started(suspicion.run)},
                          {"before_seconds", suspicion.before},
                          {"after_seconds", suspicion.after}});
  }
  analysis::Json creep;
  if (finding.creep) {
    creep = {{"best_seconds", finding.creep->best},
             {"newest_seconds", finding.creep->newest},
             {"run", finding.creep_since}};
  }
  analysis::Json trend;
  if (finding.trend) {
    trend = {{"slope_seconds", finding.trend->slope},
             {"before_seconds", finding.trend->before},
             {"after_seconds", finding.trend->after},
             {"confidence", finding.trend->confidence}};
  }
  analysis::Json states = analysis::Json::array();
  for (const stats::Detection::StateChange& change : finding.state_changes) {
    states.push_back(change_point_json(change));
    states.back()["kind"] = to_text(change.kind);
  }
  analysis::Json row{{"id", finding.id},
                     {"points", finding.points},
                     {"change_points", std::move(changes)},
                     {"suspicions", std::move(suspicions)},
                     {"creep", std::move(creep)},
                     {"trend", std::move(trend)},
                     {"two_states", finding.two_states},
                     {"state_changes", std::move(states)}};
  if (finding.variance_changes) {
    row["variance_changes"] = analysis::Json::array();
    for (const stats::ChangePoint& change : *finding.variance_changes) {
      row["variance_changes"].push_back(change_point_json(change));
    }
  }
  return row;
}

}  // namespace

void write_history(const HistoryReport& report, OutputMode style, std::ostream& out) {
  const Runs runs(report);
  if (style == OutputMode::kText) {
    write_text(report, runs, out);
    return;
  }
  analysis::Json series = analysis::Json::array();
  for (const analysis::SeriesFinding& finding : report.findings) {
    series.push_back(finding_json(finding, runs, report.commits));
  }
  analysis::Json excluded = analysis::Json::array();
  for (const analysis::SuiteHistory::Excluded& each : report.history.excluded) {
    excluded.push_back({{"id", each.id},
                        {"case", each.exclusion.match},
                        {"reason", each.exclusion.reason},
                        {"who", each.exclusion.who},
                        {"expires", each.exclusion.until}});
  }
  write_json(analysis::Json{{"schema_version", analysis::kJsonSchemaVersion},
                            {"suite", report.history.name.suite},
                            {"backend", report.history.name.backend},
                            {"stack", report.history.name.stack},
                            {"threads", report.history.name.threads},
                            {"system", report.history.name.system},
                            {"runs", report.history.runs.size()},
                            {"measure_again", report.measure_again},
                            {"series", std::move(series)},
                            {"excluded", std::move(excluded)}},
             out);
}

namespace {

constexpr std::array<std::string_view, 2> kParts{"tuning", "checking"};
constexpr std::string_view kSplit =
    "The detector was tuned on generated series alone. Parts are split by a hash of the id: tune "
    "on \"tuning\", report \"checking\".";

/// Returns the part of a series, by the 64-bit FNV-1a hash of its id.
std::string_view find_part(std::string_view id) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : id) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  }
  return kParts.at((hash >> 32U) % kParts.size());
}

/// Means over the series of a part; an empty part means all.
struct Means {
  std::size_t series = 0;
  stats::SegmentationScore score;
  stats::SegmentationScore nothing;
};

Means compute_means(const HistoryReport::Evaluation& evaluation, std::string_view part) {
  Means means;
  for (const HistoryReport::Evaluation::Series& entry : evaluation.series) {
    if (part.empty() || find_part(entry.id) == part) {
      ++means.series;
      means.score.f1 += entry.score.f1;
      means.score.cover += entry.score.cover;
      means.nothing.f1 += entry.nothing.f1;
      means.nothing.cover += entry.nothing.cover;
    }
  }
  const double count = means.series == 0 ? 1.0 : static_cast<double>(means.series);
  for (double* value :
       {&means.score.f1, &means.score.cover, &means.nothing.f1, &means.nothing.cover}) {
    *value /= count;
  }
  return means;
}

analysis::Json score_json(const stats::SegmentationScore& score) {
  return {{"f1", score.f1}, {"cover", score.cover}};
}

analysis::Json means_json(const Means& means) {
  analysis::Json row = score_json(means.score);
  row["series"] = means.series;
  row["nothing"] = score_json(means.nothing);
  return row;
}

void write_text(const HistoryReport::Evaluation& evaluation, std::ostream& out) {
  AlignedTable table({{"series"},
                      {"part"},
                      {"annotators", true},
                      {"found", true},
                      {"F1", true},
                      {"cover", true},
                      {"F1 of nothing", true},
                      {"cover of nothing", true}});
  const auto number = [](double value) { return fmt::format("{:.3f}", value); };
  for (const HistoryReport::Evaluation::Series& entry : evaluation.series) {
    table.add({entry.id,
               std::string(find_part(entry.id)),
               std::to_string(entry.annotators),
               std::to_string(entry.found.size()),
               number(entry.score.f1),
               number(entry.score.cover),
               number(entry.nothing.f1),
               number(entry.nothing.cover)});
  }
  for (const std::string_view part : {kParts[0], kParts[1], std::string_view()}) {
    const Means means = compute_means(evaluation, part);
    table.add({fmt::format("mean of {}", means.series),
               std::string(part.empty() ? "all" : part),
               "",
               "",
               number(means.score.f1),
               number(means.score.cover),
               number(means.nothing.f1),
               number(means.nothing.cover)});
  }
  table.write(out);
  out << '\n' << kSplit << '\n';
  if (!evaluation.skipped.empty()) {
    out << fmt::format("Skipped, of several dimensions, empty, or without a file: {}\n",
                       sanitize_utf8(fmt::format("{}", fmt::join(evaluation.skipped, ", "))));
  }
}

}  // namespace

void write_evaluation(const HistoryReport::Evaluation& evaluation,
                      OutputMode style,
                      std::ostream& out) {
  if (style == OutputMode::kText) {
    write_text(evaluation, out);
    return;
  }
  constexpr std::size_t kMargin = 5;
  analysis::Json rows = analysis::Json::array();
  for (const HistoryReport::Evaluation::Series& entry : evaluation.series) {
    analysis::Json row = score_json(entry.score);
    row["id"] = entry.id;
    row["part"] = find_part(entry.id);
    row["annotators"] = entry.annotators;
    row["change_points"] = entry.found;
    row["nothing"] = score_json(entry.nothing);
    rows.push_back(std::move(row));
  }
  analysis::Json means{{"all", means_json(compute_means(evaluation, {}))}};
  for (const std::string_view part : kParts) {
    means[std::string(part)] = means_json(compute_means(evaluation, part));
  }
  write_json(analysis::Json{{"schema_version", analysis::kJsonSchemaVersion},
                            {"margin", kMargin},
                            {"split", kSplit},
                            {"series", std::move(rows)},
                            {"means", std::move(means)},
                            {"skipped", evaluation.skipped}},
             out);
}

}  // namespace plumb::reporting
