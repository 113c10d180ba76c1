// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "harness/base/encoding.hpp"
#include "reporting/content/comparison/metric_rows.hpp"
#include "reporting/content/qualification/qualification_report.hpp"
#include "reporting/document/texts.hpp"

namespace plumb::reporting {
namespace {

void add_models(const analysis::Qualification& q,
                const analysis::ComparisonReport& compared,
                Page& page) {
  begin_part(5, "Model by model", page);
  MetricList models;
  for (const analysis::MetricComparison& metric : compared.comparison.metrics) {
    if (!metric.model.empty()) {
      models.push_back(&metric);
    }
  }
  if (models.empty()) {
    page.paragraph("No model was measured end to end.");
    return;
  }
  add_metric_table(models, compared.places, page);
  if (page.extent() == Extent::kTerminal) {
    return;
  }
  page.paragraph(
      fmt::format("Bounds of the models under either stack: not measured here. `plumb bound {}` "
                  "and `plumb bound {}` show the bounds of both runs.",
                  q.baseline.run,
                  q.candidate.run));
  if (!q.attributions.empty()) {
    page.subheading("Where the change comes from");
    for (const analysis::RunComparison::Attribution& split : q.attributions) {
      add_attribution(split, compared.places, page);
    }
  }
}

void add_regressed_layer(const analysis::RoundComparison::Metric& layer,
                         const std::map<std::string, std::string>& places,
                         Page& page) {
  const auto place = places.find(layer.subject);
  page.subheading(place == places.end() ? "a layer of the suite itself" : place->second);
  const analysis::RoundComparison::PinnedCheck& replay = layer.replay;
  std::vector<PageRow> rows{
      {text_cell("measure it"), code_cell(layer_command(layer.subject))},
      {text_cell("models"),
       text_cell(layer.models.empty() ? "–" : fmt::format("{}", fmt::join(layer.models, ", ")))},
      {text_cell("change"),
       text_cell(fmt::format("{} → {}, {} ({})",
                             baseline_text(layer.test),
                             candidate_text(layer.test),
                             ratio_change_text(layer.test),
                             change_interval_text(layer.test)))},
      {text_cell("implementation before"), code_cell(layer.baseline_variant)},
      {text_cell("implementation now"), code_cell(layer.candidate_variant)},
      {text_cell("the old one tried in the new stack"),
       text_cell(std::string(to_text(replay.finding)) +
                 (replay.replay ? ", " + ratio_change_text(*replay.replay) : ""))},
      {text_cell("the bound"),
       text_cell(std::string(to_text(replay.bound)) +
                 (replay.best ? ", fastest variant " + ratio_change_text(*replay.best) : ""))},
      {text_cell("fastest before and now"),
       code_cell(replay.baseline_best + " / " + replay.candidate_best)},
      {text_cell("why"), text_cell(why_text(layer.test))},
      {text_cell("evidence"), text_cell(replay.evidence.empty() ? "–" : replay.evidence)}};
  if (!layer.waived_by.empty()) {
    rows.push_back({text_cell("waived"), text_cell(layer.waived_by)});
  }
  page.table({text_cell(""), text_cell(std::string(to_text(layer.test.verdict)))}, rows);
}

void add_regressed_layers(const analysis::Qualification& q,
                          const std::map<std::string, std::string>& places,
                          Page& page) {
  begin_part(6, "Layers that got worse", page);
  add_findings(q.findings, places, page);
  std::size_t worse = 0;
  for (const analysis::RoundComparison::Metric& layer : q.layers) {
    if (is_worse(layer.test) && ++worse <= page.most_details()) {
      add_regressed_layer(layer, places, page);
    }
  }
  if (worse > page.most_details()) {
    page.paragraph(fmt::format("and {} more", worse - page.most_details()));
  }
  if (worse == 0) {
    page.paragraph("No layer is broken or regressed.");
  }
}

/// Adds the layers that changed, as one table, and the reasons.
void add_changed_layers(const analysis::Qualification& q,
                        const analysis::ComparisonReport& compared,
                        Page& page) {
  MetricList layers = changed_metrics(compared.comparison.metrics);
  std::erase_if(layers, [](const auto* metric) { return !metric->model.empty(); });
  if (!layers.empty()) {
    constexpr std::size_t kMost = 20;
    page.heading("Layers that changed");
    const std::size_t all = layers.size();
    layers.resize(std::min(all, kMost));
    add_metric_table(layers, compared.places, page);
    if (all > layers.size()) {
      page.paragraph(fmt::format("and {} more, all of them with --json", all - layers.size()));
    }
  }
  if (!q.findings.empty()) {
    page.heading("Where it comes from");
    add_findings(q.findings, compared.places, page);
  }
}

}  // namespace

void add_qualification_details(const analysis::QualificationReport& report, Page& page) {
  const analysis::Qualification& q = report.qualification;
  const analysis::ComparisonReport compared = as_comparison(q);
  add_models(q, compared, page);
  if (page.extent() == Extent::kTerminal) {
    add_changed_layers(q, compared, page);
  } else {
    add_regressed_layers(q, compared.places, page);
  }
  if (!q.functions.empty()) {
    page.subheading("Inside what changed");
    add_functions(q.functions, compared.places, page);
  }
}

namespace {

constexpr const char* kNotMeasured = "not measured";

std::string error_text(const std::optional<double>& error) {
  return error ? fmt::format("{:.2e}", *error) : kNotMeasured;
}

using OutputVerdict = analysis::Qualification::Accuracy::Verdict;

PageCell::Tone tone_of_accuracy(OutputVerdict verdict) {
  switch (verdict) {
    case OutputVerdict::kSameBits:
    case OutputVerdict::kWithinTolerance:
      return PageCell::Tone::kGood;
    case OutputVerdict::kWorse:
    case OutputVerdict::kWrong:
      return PageCell::Tone::kBad;
    case OutputVerdict::kDiffers:
    case OutputVerdict::kNotMeasured:
      break;
  }
  return PageCell::Tone::kWarning;
}

using Places = std::map<std::string, std::string>;

void add_correctness(const analysis::Qualification& q, const Places& places, Page& page) {
  begin_part(7, "Correctness", page);
  if (q.accuracy.empty()) {
    page.paragraph("Outputs: not measured.");
    return;
  }
  std::map<std::string_view, std::size_t> counts;
  std::vector<PageRow> rows;
  for (const analysis::Qualification::Accuracy& each : q.accuracy) {
    ++counts[to_text(each.verdict)];
    constexpr std::size_t kMaxRows = 200;
    if (each.verdict != OutputVerdict::kSameBits && rows.size() < kMaxRows) {
      const std::string verdict(to_text(each.verdict));
      rows.push_back({word_cell(verdict, tone_of_accuracy(each.verdict)),
                      code_cell(named_key(each.subject, places)),
                      number_cell(error_text(each.baseline_error)),
                      number_cell(error_text(each.candidate_error)),
                      text_cell(each.baseline_hash == each.candidate_hash ? "same" : "other")});
    }
  }
  std::string text;
  for (const auto& [verdict, count] : counts) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, verdict);
  }
  page.paragraph(fmt::format(
      "{} outputs compared: {}. What has the same bits is not listed.", q.accuracy.size(), text));
  if (!rows.empty()) {
    page.table({text_cell("verdict"),
                text_cell("output"),
                number_cell("maximum error before"),
                number_cell("and now"),
                text_cell("bits")},
               rows);
  }
}

std::string cost_text(const analysis::Qualification::Cost& cost, double value) {
  return cost.unit == "bytes" ? bytes_text(Bytes{static_cast<std::int64_t>(value)})
                              : time_text(Seconds(value));
}

void add_stability(const analysis::Qualification& q, const Places& places, Page& page) {
  begin_part(8, "Stability", page);
  page.table({text_cell("stack"), number_cell("crashes"), number_cell("time-outs")},
             {{text_cell(stack_label(q.baseline)),
               number_cell(std::to_string(q.baseline.crashes)),
               number_cell(std::to_string(q.baseline.timeouts))},
              {text_cell(stack_label(q.candidate)),
               number_cell(std::to_string(q.candidate.crashes)),
               number_cell(std::to_string(q.candidate.timeouts))}});
  if (q.costs.empty()) {
    page.paragraph("Memory, creation and first call: not measured.");
  } else {
    std::vector<PageRow> rows;
    for (const analysis::Qualification::Cost& cost : q.costs) {
      rows.push_back({text_cell(cost.name),
                      code_cell(named_key(cost.subject, places)),
                      number_cell(cost_text(cost, cost.baseline)),
                      number_cell(cost_text(cost, cost.candidate)),
                      number_cell(change_text(cost.ratio))});
    }
    page.table({text_cell("cost"),
                text_cell("of"),
                number_cell("baseline"),
                number_cell("candidate"),
                number_cell("change")},
               rows);
  }
  page.paragraph("Size of the libraries' files: not measured.");
}

void add_compatibility(const analysis::Qualification& q, const Places& places, Page& page) {
  begin_part(9, "Compatibility", page);
  std::vector<PageRow> rows;
  for (const analysis::RoundComparison::Metric& layer : q.layers) {
    if (layer.test.verdict == analysis::ComparisonVerdict::kBroken) {
      rows.push_back({code_cell(named_key(layer.subject, places, layer_command(layer.subject))),
                      text_cell(layer.test.reason)});
    }
  }
  for (const analysis::RoundComparison::Metric& model : q.models) {
    if (model.test.verdict == analysis::ComparisonVerdict::kBroken) {
      rows.push_back({text_cell(model.subject + " " + model.mode), text_cell(model.test.reason)});
    }
  }
  if (rows.empty()) {
    page.paragraph("Everything that worked with the baseline works with the candidate.");
  } else {
    page.table({text_cell("worked before"), text_cell("now")}, rows);
  }
  page.paragraph(
      "Symbols: `plumb stacks diff` of both stacks. Minimum driver, licence, the vendor's "
      "release notes: not measured.");
}

PageRow control_row(const analysis::RoundComparison::Control& control) {
  return {word_cell(control.moved ? "moved" : "steady",
                    control.moved ? PageCell::Tone::kBad : PageCell::Tone::kGood),
          text_cell(control.name),
          number_cell(baseline_text(control.test)),
          number_cell(candidate_text(control.test)),
          number_cell(ratio_change_text(control.test)),
          number_cell(change_interval_text(control.test)),
          number_cell(std::to_string(control.baseline_seconds.size()))};
}

void add_quality(const analysis::Qualification& q, Page& page) {
  begin_part(10, "Quality of the evidence", page);
  page.paragraph(
      fmt::format("{} rounds. In each, fresh processes of both stacks take turns in ABBA order. {} "
                  "rounds are invalid and left out. Environments {} and {}.",
                  q.rounds,
                  q.invalid_rounds.size(),
                  q.baseline.environment,
                  q.candidate.environment));
  std::vector<PageRow> rows;
  for (const analysis::RoundComparison::Control& control : q.controls) {
    rows.push_back(control_row(control));
  }
  if (rows.empty()) {
    page.paragraph("Controls of the machine: not measured.");
  } else {
    page.table({text_cell("machine"),
                text_cell("control, independent of the libraries"),
                number_cell("baseline"),
                number_cell("candidate"),
                number_cell("change"),
                number_cell("95 %"),
                number_cell("rounds")},
               rows);
  }
  page.paragraph(
      q.alarms.tests == 0
          ? std::string("A/A control, which needs six screening pairs: not measured.")
          : fmt::format(
                "A/A control of this run{}: {} alarms in {} tests at {:.2g} %, a rate of {:.2f} % "
                "({:.2f} … {:.2f} %).",
                q.control_failed ? ", failed" : "",
                q.alarms.alarms,
                q.alarms.tests,
                100.0 * q.alarms.level,
                100.0 * static_cast<double>(q.alarms.alarms) / static_cast<double>(q.alarms.tests),
                100.0 * q.alarms.low,
                100.0 * q.alarms.high));
  rows.clear();
  for (const analysis::Qualification::Look& look : q.looks) {
    rows.push_back(
        {number_cell(std::to_string(look.pairs)), number_cell(std::to_string(look.open))});
  }
  if (!rows.empty()) {
    page.table({number_cell("interim look after pairs"), number_cell("metrics still open")}, rows);
  }
  std::vector<analysis::MetricComparison> tests;
  for (const analysis::RoundComparison::Metric& layer : q.layers) {
    tests.push_back(layer.test);
  }
  if (const std::string floors = floors_text(tests); !floors.empty()) {
    page.paragraph("Minimum effects, " + floors + ".");
  }
  rows.clear();
  for (const analysis::RoundComparison::InvalidRound& round : q.invalid_rounds) {
    rows.push_back({number_cell(std::to_string(round.round)), text_cell(round.reason)});
  }
  if (!rows.empty()) {
    const std::size_t all = rows.size();
    rows.resize(std::min(all, page.most_details()));
    page.table({number_cell("invalid round"), text_cell("why")}, rows);
    if (all > rows.size()) {
      page.paragraph(fmt::format("and {} more", all - rows.size()));
    }
  }
}

void add_waivers(const analysis::Qualification& q, const Places& places, Page& page) {
  begin_part(11, "Waivers", page);
  std::vector<PageRow> rows;
  for (const analysis::Qualification::Criteria::Waiver& waiver : q.criteria.waivers) {
    std::vector<std::string> covered;
    for (const std::string& each : waiver.applied_to) {
      covered.push_back(named_key(each, places));
    }
    rows.push_back(
        {text_cell(waiver.match),
         text_cell(waiver.reason),
         text_cell(waiver.who),
         waiver.expired ? word_cell(waiver.expires + ", expired", PageCell::Tone::kBad)
                        : text_cell(waiver.expires),
         text_cell(covered.empty() ? "nothing" : fmt::format("{}", fmt::join(covered, "; ")))});
  }
  if (rows.empty()) {
    page.paragraph("none");
    return;
  }
  page.table({text_cell("case"),
              text_cell("reason"),
              text_cell("who"),
              text_cell("until"),
              text_cell("covers here")},
             rows);
}

void add_history(const analysis::QualificationReport& report, Page& page) {
  begin_part(12, "Earlier decisions", page);
  std::vector<PageRow> rows;
  for (const analysis::QualificationReport::Past& past : report.history) {
    rows.push_back({text_cell(past.run),
                    text_cell(to_text(past.finished)),
                    text_cell(verdict_words(past.verdict)),
                    text_cell(past.reason)});
  }
  if (rows.empty()) {
    page.paragraph("The store holds no earlier answer to this question.");
    return;
  }
  page.table({text_cell("report"), text_cell("finished"), text_cell("verdict"), text_cell("why")},
             rows);
}

void add_data(const analysis::Qualification& q, Page& page) {
  begin_part(13, "Data, and how to repeat it", page);
  const std::string command = shell_command(q.command);
  page.table({text_cell(""), text_cell("")},
             {{text_cell("repeat it"), code_cell(command.empty() ? kNotMeasured : command)},
              {text_cell("raw samples"),
               code_cell(fmt::format("plumb store export {} {}", q.baseline.run, q.candidate.run))},
              {text_cell("suite, SHA-256"), code_cell(q.suite_hash)},
              {text_cell("criteria, SHA-256"),
               code_cell(q.criteria.sha256.empty() ? "the defaults" : q.criteria.sha256)},
              {text_cell("run of the baseline"), code_cell(q.baseline.run)},
              {text_cell("run of the candidate"), code_cell(q.candidate.run)}});
}

void add_sign_off(const analysis::Qualification& q, Page& page) {
  begin_part(14, "Sign-off", page);
  page.paragraph(fmt::format("{} The program's answer from the evidence above: {}. {}.",
                             question_of(q),
                             verdict_words(q.verdict),
                             q.reason));
  page.signature_line("Decided by, on");
}

}  // namespace

void add_qualification_evidence(const analysis::QualificationReport& report, Page& page) {
  const analysis::Qualification& q = report.qualification;
  if (page.extent() == Extent::kTerminal) {
    add_quality(q, page);
    page.list(q.notes);
    page.paragraph(fmt::format("Runs {} and {}.", q.baseline.run, q.candidate.run));
    return;
  }
  const Places places = as_comparison(q).places;
  add_correctness(q, places, page);
  add_stability(q, places, page);
  add_compatibility(q, places, page);
  add_quality(q, page);
  add_waivers(q, places, page);
  add_history(report, page);
  add_data(q, page);
  add_sign_off(q, page);
}

}  // namespace plumb::reporting
