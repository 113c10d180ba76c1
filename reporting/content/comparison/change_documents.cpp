// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/comparison/change_documents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "harness/analysis/report/change_json.hpp"
#include "reporting/content/comparison/metric_rows.hpp"
#include "reporting/content/run/json_documents.hpp"
#include "reporting/document/page.hpp"
#include "reporting/document/texts.hpp"
#include "reporting/formats/pages.hpp"

namespace plumb::reporting {
namespace {

analysis::Json comparison_json(const analysis::PairedComparison& answer) {
  analysis::Json metrics = analysis::Json::array();
  for (const analysis::MetricComparison& metric : answer.metrics) {
    metrics.push_back(analysis::metric_json(metric));
  }
  analysis::Json row{{"id", answer.id}, {"verdict", to_text(answer.verdict)}, {"metrics", metrics}};
  row["attribution"] = analysis::Json();
  if (answer.attribution) {
    row["attribution"] =
        analysis::Json{{"delta_seconds", answer.attribution->delta_seconds},
                       {"layers", answer.attribution->layers},
                       {"unexplained_seconds", answer.attribution->unexplained_seconds}};
  }
  return row;
}

void write_comparison(const analysis::PairedComparison& answer, std::ostream& out) {
  TextPage page(fmt::format("{}: {}", answer.id, to_text(answer.verdict)));
  add_short_metrics(answer.metrics, {}, page);
  if (answer.attribution) {
    page.paragraph(
        fmt::format("end to end {:+.4g} s, of which layers {:+.4g} s, unexplained {:+.4g} s",
                    answer.attribution->delta_seconds,
                    answer.attribution->delta_seconds - answer.attribution->unexplained_seconds,
                    answer.attribution->unexplained_seconds));
  }
  page.write(out);
  out << '\n';
}

analysis::Json detection_json(const HistoryReport::Detected& entry) {
  const stats::Detection& detection = entry.detection;
  analysis::Json points = analysis::Json::array();
  for (const stats::ChangePoint& point : detection.change_points) {
    points.push_back(change_point_json(point));
  }
  analysis::Json suspicions = analysis::Json::array();
  for (const stats::Detection::Suspicion& suspicion : detection.suspicions) {
    suspicions.push_back(
        {{"index", suspicion.index}, {"before", suspicion.before}, {"after", suspicion.after}});
  }
  analysis::Json states = analysis::Json::array();
  for (const stats::Detection::StateChange& change : detection.state_changes) {
    states.push_back(change_point_json(change));
    states.back()["kind"] = to_text(change.kind);
  }
  analysis::Json row{{"id", entry.id},
                     {"change_points", std::move(points)},
                     {"suspicions", std::move(suspicions)},
                     {"two_states", detection.two_states},
                     {"state_changes", std::move(states)},
                     {"creep", analysis::Json()}};
  if (detection.creep) {
    row["creep"] = {{"slope", detection.creep->slope},
                    {"before", detection.creep->before},
                    {"after", detection.creep->after},
                    {"confidence", detection.creep->confidence}};
  }
  if (detection.variance_changes) {
    row["variance_changes"] = analysis::Json::array();
    for (const stats::ChangePoint& change : *detection.variance_changes) {
      row["variance_changes"].push_back(change_point_json(change));
    }
  }
  return row;
}

/// Adds what was found in one history to a table.
void add_detection(const HistoryReport::Detected& entry, AlignedTable& table) {
  const stats::Detection& detection = entry.detection;
  const auto add = [&](const std::string& point, const auto& change, const std::string& what) {
    table.add({entry.id,
               point,
               fmt::format("{:.6g}", change.before),
               fmt::format("{:.6g}", change.after),
               change.before != 0.0 ? change_text(change.after / change.before) : "–",
               what});
  };
  for (const stats::ChangePoint& point : detection.change_points) {
    add(std::to_string(point.index),
        point,
        fmt::format("change, confidence {:.4f}", point.confidence));
  }
  for (const stats::Detection::Suspicion& suspicion : detection.suspicions) {
    add(std::to_string(suspicion.index), suspicion, "suspicion: measure again");
  }
  for (const stats::Detection::StateChange& change : detection.state_changes) {
    add(std::to_string(change.index),
        change,
        fmt::format("{} changed, confidence {:.4f}", to_text(change.kind), change.confidence));
  }
  if (detection.creep) {
    add("–",
        *detection.creep,
        fmt::format("creep, {:+.4g} for each point", detection.creep->slope));
  }
  if (detection.variance_changes) {
    for (const stats::ChangePoint& change : *detection.variance_changes) {
      add(std::to_string(change.index),
          change,
          fmt::format("deviation changed, confidence {:.4f}", change.confidence));
    }
  }
  if (detection.two_states) {
    table.add({entry.id, "–", "–", "–", "–", "jumps between two states"});
  }
}

}  // namespace

analysis::Json change_point_json(const stats::ChangePoint& change) {
  return {{"index", change.index},
          {"before", change.before},
          {"after", change.after},
          {"confidence", change.confidence}};
}

void write_comparisons(std::span<const analysis::PairedComparison> answers,
                       OutputMode style,
                       std::ostream& out) {
  if (style == OutputMode::kText) {
    for (const analysis::PairedComparison& answer : answers) {
      write_comparison(answer, out);
    }
    return;
  }
  analysis::Json document{{"schema_version", analysis::kJsonSchemaVersion},
                          {"comparisons", analysis::Json::array()}};
  for (const analysis::PairedComparison& answer : answers) {
    document["comparisons"].push_back(comparison_json(answer));
  }
  write_json(document, out);
}

void write_detections(std::span<const HistoryReport::Detected> series,
                      OutputMode style,
                      std::ostream& out) {
  if (style == OutputMode::kText) {
    AlignedTable table({{"series"},
                        {"point", true},
                        {"before", true},
                        {"after", true},
                        {"change", true},
                        {"what"}});
    for (const HistoryReport::Detected& entry : series) {
      add_detection(entry, table);
    }
    table.write(out);
    return;
  }
  analysis::Json rows = analysis::Json::array();
  for (const HistoryReport::Detected& entry : series) {
    rows.push_back(detection_json(entry));
  }
  write_json(
      analysis::Json{{"schema_version", analysis::kJsonSchemaVersion}, {"series", std::move(rows)}},
      out);
}

namespace {

std::string result_of(const analysis::Bisection::Step& step) {
  using enum analysis::Bisection::Search::Task::Purpose;
  const bool bad = step.state == analysis::Bisection::Search::State::kBad;
  std::string result(to_text(step.state));
  if (step.task.purpose == kEnds && bad) {
    result = to_text(step.test.verdict);
  } else if (step.task.purpose == kConfirmation) {
    result = bad ? "confirmed" : "not confirmed";
  }
  const std::string& why = step.problem.empty() ? step.test.reason : step.problem;
  return result + (why.empty() ? "" : ": " + why);
}

void write_steps(const analysis::Bisection& bisection, std::ostream& out) {
  const bool commits = bisection.unit == analysis::Bisection::Unit::kCommit;
  AlignedTable table({{fmt::format("  {}", to_text(bisection.unit))},
                      {commits ? "subject" : "version"},
                      {"against"},
                      {"against it", true},
                      {"this one", true},
                      {"change", true},
                      {"95 %", true},
                      {"pairs", true},
                      {"result"},
                      {"implementation"}});
  for (const analysis::Bisection::Step& step : bisection.steps) {
    const analysis::MetricComparison& test = step.test;
    const bool compared = test.ratio.has_value();
    table.add({"  " + short_name(bisection, step.task.candidate),
               bisection.line[step.task.candidate].about,
               short_name(bisection, step.task.against),
               compared ? time_text(Seconds(test.baseline)) : "–",
               compared ? time_text(Seconds(test.candidate)) : "–",
               compared ? fmt::format("{:+.1f} %", 100.0 * (*test.ratio - 1.0)) : "–",
               compared ? fmt::format("{:+.1f} % … {:+.1f} %",
                                      100.0 * (test.low - 1.0),
                                      100.0 * (test.high - 1.0))
                        : "–",
               std::to_string(step.pairs),
               result_of(step),
               step.baseline_variant == step.candidate_variant
                   ? step.candidate_variant
                   : step.baseline_variant + " → " + step.candidate_variant});
  }
  table.write(out);
}

/// Names the candidates of which one is the first bad one, where they are several.
void write_range(const analysis::Bisection& bisection, std::ostream& out) {
  constexpr std::size_t kMaxNamed = 20;
  const std::size_t first = bisection.last_good + 1;
  const std::size_t last = std::min(bisection.first_bad, bisection.last_good + kMaxNamed);
  out << fmt::format("one of these {} is the first bad one:\n",
                     bisection.first_bad - bisection.last_good);
  for (std::size_t i = first; i <= last; ++i) {
    out << fmt::format("  {}  {}  {}\n",
                       sanitize_utf8(bisection.line[i].name),
                       to_text(i == bisection.first_bad ? analysis::Bisection::Search::State::kBad
                                                        : state_of(bisection, i)),
                       sanitize_utf8(bisection.line[i].about));
  }
  if (last < bisection.first_bad) {
    out << fmt::format("  … and {} more, see --json\n", bisection.first_bad - last);
  }
}

}  // namespace

void write_bisection(const analysis::Bisection& bisection, OutputMode style, std::ostream& out) {
  if (style == OutputMode::kJson) {
    write_json(analysis::bisection_document(bisection), out);
    return;
  }
  out << fmt::format("{}\n{}\n",
                     sanitize_utf8(bisection.subject ? bisection.subject->name : bisection.what),
                     sanitize_utf8(conclusion(bisection)));
  if (bisection.exact()) {
    out << fmt::format("first bad {}: {}\n",
                       to_text(bisection.unit),
                       sanitize_utf8(bisection.line[bisection.first_bad].name));
  } else if (bisection.found() && bisection.complete) {
    write_range(bisection, out);
  }
  out << fmt::format("\n{} {}s from {} to {}",
                     bisection.line.size(),
                     to_text(bisection.unit),
                     sanitize_utf8(short_name(bisection, 0)),
                     sanitize_utf8(short_name(bisection, bisection.line.size() - 1)));
  out << (bisection.unit == analysis::Bisection::Unit::kCommit
              ? fmt::format(", {} built:\n", bisection.builds)
              : ":\n");
  write_steps(bisection, out);
}

namespace {

constexpr std::size_t kShown = 30;

std::string percent(double share) {
  return share_text(share, 2);
}

void write_metrics(const std::vector<analysis::NoiseReport::Study::MetricNoise>& all,
                   std::ostream& out) {
  std::vector<const analysis::NoiseReport::Study::MetricNoise*> noisiest;
  for (const analysis::NoiseReport::Study::MetricNoise& metric : all) {
    noisiest.push_back(&metric);
  }
  std::stable_sort(noisiest.begin(), noisiest.end(), [](const auto* one, const auto* other) {
    return one->process > other->process;
  });
  AlignedTable table({{"  median", true},
                      {"within", true},
                      {"between", true},
                      {"days", true},
                      {"one process", true},
                      {"floor", true},
                      {"lag 1", true},
                      {"drift", true},
                      {"pairs", true},
                      {"metric"}});
  for (std::size_t i = 0; i < std::min(kShown, noisiest.size()); ++i) {
    const analysis::NoiseReport::Study::MetricNoise& metric = *noisiest[i];
    table.add({time_text(Seconds(metric.median)),
               percent(metric.within),
               percent(metric.between),
               metric.daily ? percent(*metric.daily) : "–",
               percent(metric.process),
               percent(metric.floor),
               fmt::format("{:.2f}", metric.autocorrelation),
               fmt::format("{:.2f}", metric.drift),
               std::to_string(metric.pairs),
               metric.series});
  }
  table.write(out);
  if (noisiest.size() > kShown) {
    out << fmt::format("  and {} quieter metrics, all of them with --json\n",
                       noisiest.size() - kShown);
  }
}

void write_text(const analysis::NoiseReport& report, std::ostream& out) {
  const analysis::NoiseReport::Study& noise = report.noise;
  out << fmt::format("{} · stack {} against itself · runs {} and {} · {} stored calibration{}\n\n",
                     sanitize_utf8(report.suite),
                     sanitize_utf8(report.stack),
                     report.first,
                     report.second,
                     report.calibrations,
                     report.calibrations == 1 ? "" : "s");
  write_metrics(noise.metrics, out);
  out << fmt::format("\n{} comparisons of {} drawn pairs each, without a change\n",
                     noise.comparisons,
                     noise.pairs);
  for (const analysis::NoiseReport::Study::FalsePositiveRate& rate : noise.alarms) {
    out << fmt::format("  at {}: {} of tests alarm; a sound test is within {} … {}: {}\n",
                       percent(rate.alpha),
                       percent(rate.rate),
                       percent(rate.low),
                       percent(rate.high),
                       rate.in_band() ? "kept" : "NOT KEPT");
  }
  out << fmt::format("  {} of whole comparisons call a change\n", percent(noise.family_alarms));
  for (const analysis::NoiseReport::Study::PowerPoint& point : noise.power) {
    out << fmt::format("  a change of {} is found in {} (in the worst metric {})\n",
                       percent(point.change),
                       percent(point.found),
                       percent(point.least));
  }
}

}  // namespace

void write_noise(const analysis::NoiseReport& report, OutputMode style, std::ostream& out) {
  if (style == OutputMode::kText) {
    write_text(report, out);
  } else {
    write_json(analysis::noise_document(report), out);
  }
}

}  // namespace plumb::reporting
