// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/qualification/qualification_report.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "reporting/content/review/pull_request_comment.hpp"
#include "tests/unit/reporting/sample_report.hpp"

namespace plumb::reporting {
namespace {

using ::testing::AnyOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const std::string kKey =
    "v1:eltwise;in=f32[8];out=f32[8];acc=f32;math=strict;fn=relu;parameters=[]";

analysis::MetricComparison test_of(double ratio, analysis::ComparisonVerdict verdict) {
  analysis::MetricComparison test;
  test.baseline = 1e-3;
  test.candidate = 1e-3 * ratio;
  test.ratio = ratio;
  test.low = ratio - 0.01;
  test.high = ratio + 0.01;
  test.mde = 0.013;
  test.verdict = verdict;
  return test;
}

/// Makes a qualification that was rejected, with something in every part.
analysis::QualificationReport sample_qualification() {
  analysis::QualificationReport report;
  analysis::Qualification& q = report.qualification;
  q.suite = "smoke";
  q.suite_hash = "0123456789abcdef";
  q.baseline.name = "onednn-3.1";
  q.baseline.run = "01JFKD2M4N5P6Q7R8S9T0VWXYA";
  q.baseline.libraries = {{"library", "onednn-3.1.1-0123456789abcdef"},
                          {"library.version", "3.1.1"}};
  q.candidate = q.baseline;
  q.candidate.name = "default";
  q.candidate.libraries = {{"library", "onednn-3.2.0-fedcba9876543210"},
                           {"library.version", "3.2.0"}};
  q.candidate.run = "01JFKD2M4N5P6Q7R8S9T0VWXYB";
  q.candidate.crashes = 2;
  q.differences = {{"library", "3.1.1", "3.2.1", true}};
  q.unchanged = {{"cpu.model", "Xeon", "Xeon", true}};
  q.command = {"plumb", "qualify", "my suite.toml"};
  q.started = parse_timestamp("2026-11-21T10:00:00Z");
  q.finished = parse_timestamp("2026-11-21T11:00:00Z");
  q.criteria.file = "criteria.toml";
  q.criteria.sha256 = "feed";
  q.criteria.waivers = {{"lenet*", "retired", "ann", "2027-03-01", false, {"lenet|1|f32"}},
                        {"old*", "long gone", "ben", "2026-01-01", true, {}}};
  q.results = {{"layer_slowdown",
                "at most +10%",
                analysis::Qualification::Criterion::State::kFailed,
                "one is +25%",
                {kKey}}};
  q.verdict = analysis::QualificationVerdict::kReject;
  q.reason = "a layer lost a quarter of its speed";
  analysis::RoundComparison::Metric model;
  model.subject = "lenet|1|f32";
  model.mode = "plain";
  model.test = test_of(1.004, analysis::ComparisonVerdict::kEquivalent);
  model.baseline_seconds = model.candidate_seconds = {1e-3, 1e-3, 1e-3};
  q.models = {model};
  analysis::RoundComparison::Metric layer;
  layer.subject = kKey;
  layer.test = test_of(1.25, analysis::ComparisonVerdict::kRegressed);
  layer.baseline_variant = "wino";
  layer.candidate_variant = "gemm";
  layer.models = {"lenet|1|f32"};
  layer.place = "relu1 of lenet, batch 1, f32";
  layer.replay.finding = analysis::RoundComparison::PinnedCheck::Finding::kRemoved;
  layer.replay.bound = analysis::RoundComparison::PinnedCheck::BoundChange::kCapabilityLost;
  layer.replay.evidence = "wino is not there any more";
  analysis::RoundComparison::Metric gone;
  gone.subject = "v1:gone";
  gone.test.verdict = analysis::ComparisonVerdict::kBroken;
  gone.test.reason = "worked before, and now crashed";
  analysis::RoundComparison::Metric open;
  open.subject = "v1:open";
  open.test.reason = "measured by one side only";
  q.layers = {layer, gone, open};
  q.geometric_means = {{"plain", 1, 0.996, 0.99, 1.002}};
  q.attributions = {{.subject = "lenet|1|f32",
                     .mode = "plain",
                     .delta_seconds = 2e-4,
                     .layers = {{kKey, 1.9e-4, 1e-6, "wino", "gemm"}},
                     .unexplained_seconds = 1e-5}};
  q.findings = {{"implementation removed", "wino", {kKey}, {"lenet|1|f32"}, 2e-4}};
  q.functions.resize(1);
  q.functions[0].model = "lenet|1|f32";
  q.functions[0].mode = "plain";
  q.functions[0].ratio = 1.2;
  q.functions[0].baseline = Seconds(1e-3);
  q.functions[0].candidate = Seconds(1.2e-3);
  q.functions[0].parts = {{"jit:reorder",
                           "generated",
                           "conv1",
                           Seconds(2e-4),
                           Seconds(1.9e-4),
                           Seconds(2.1e-4),
                           false,
                           true}};
  using OutputVerdict = analysis::Qualification::Accuracy::Verdict;
  q.accuracy = {{kKey, 1e-7, 3e-7, "aa", "bb", OutputVerdict::kWithinTolerance},
                {"v1:same", 1e-7, 1e-7, "aa", "aa", OutputVerdict::kSameBits}};
  q.costs = {{kKey, "memory", "bytes", 1048576, 2097152, 2.0, {}, {}}};
  q.controls = {
      {"floor", test_of(1.0, analysis::ComparisonVerdict::kEquivalent), {1e-7}, {1e-7}, false}};
  q.alarms = {.tests = 40, .alarms = 2, .level = 0.05, .low = 0.006, .high = 0.17};
  q.invalid_rounds = {{7, "the machine drifted"}};
  q.looks = {{6, 3}, {10, 0}};
  q.rounds = 10;
  report.history = {{"01JFKD2M4N5P6Q7R8S9T0VWXYC",
                     q.started,
                     analysis::QualificationVerdict::kNotEnoughEvidence,
                     "too few rounds"}};
  return report;
}

std::string text_of(const analysis::QualificationReport& report, const std::string& extension) {
  std::ostringstream out;
  format_for(qualification_formats(), "x" + extension).write(report, out);
  return out.str();
}

void expect_in_order(const std::string& text, const std::vector<const char*>& parts) {
  std::size_t place = 0;
  for (const char* part : parts) {
    place = text.find(part, place);
    ASSERT_NE(place, std::string::npos) << part << " in\n" << text;
  }
}

TEST(QualificationReport, all_fourteen_parts_stand_in_order_in_page_and_markdown) {
  for (const std::string extension : {".html", ".md"}) {
    const std::string text = text_of(sample_qualification(), extension);
    expect_in_order(text,
                    {"1. Question and verdict",
                     "2. Scope",
                     "3. Criteria",
                     "4. Summary",
                     "5. Model by model",
                     "6. Layers that got worse",
                     "7. Correctness",
                     "8. Stability",
                     "9. Compatibility",
                     "10. Quality of the evidence",
                     "11. Waivers",
                     "12. Earlier decisions",
                     "13. Data, and how to repeat it",
                     "14. Sign-off",
                     "Decided by, on"});
    EXPECT_EQ(text.find("Decided by, on"), text.rfind("Decided by, on"))
        << "who signs has read the evidence";
  }
}

TEST(QualificationReport, the_text_has_the_answer_and_what_changed_but_nothing_to_sign) {
  const std::string text = text_of(sample_qualification(), ".txt");
  const std::string first = text.substr(0, text.find('\n'));
  EXPECT_THAT(first, EndsWith(": reject"));
  expect_in_order(text,
                  {"Criteria",
                   "Summary",
                   "Model by model",
                   "Layers that changed",
                   "relu1 of lenet, batch 1, f32",
                   "Quality of the evidence",
                   "Runs "});
  EXPECT_THAT(text, Not(HasSubstr("Decided by")));
  EXPECT_THAT(text, Not(HasSubstr("4. Summary")));
}

TEST(QualificationReport, the_page_says_what_a_release_manager_needs) {
  const std::string page = text_of(sample_qualification(), ".html");
  for (const char* text :
       {"May oneDNN 3.2.0 (default) replace oneDNN 3.1.1 (onednn-3.1)?",
        "<strong>Reject.</strong> a layer lost a quarter of its speed",
        "Fixed before the run in criteria.toml, SHA-256 feed.",
        "one is +25%",
        "0.9960",
        "10 rounds in 60 min.",
        "<svg class=\"ratio regressed\"",
        "plumb layer &apos;v1:eltwise",
        "removed",
        "capability_lost",
        "implementation removed (1 layer of 1 model, +200.0 µs): wino. Layers: relu1 of "
        "lenet, batch 1, f32",
        "+20.0 % in &apos;jit:reorder&apos;, which the baseline did not execute",
        "3.00e-07",
        "1 same bits, 1 within tolerance",
        "2.0 MiB",
        "worked before, and now crashed",
        "2 alarms in 40 tests",
        "the machine drifted",
        "2026-01-01, expired",
        "too few rounds",
        "plumb qualify &apos;my suite.toml&apos;",
        "not measured",
        "class=\"signature\""}) {
    EXPECT_THAT(page, HasSubstr(text));
  }
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("v1:same"))) << "what has the same bits is only counted";
}

TEST(QualificationReport, a_layer_is_named_wherever_its_key_stands) {
  const std::string name = "relu1 of lenet, batch 1, f32: ";
  for (const std::string extension : {".html", ".md"}) {
    const std::string text = text_of(sample_qualification(), extension);
    std::size_t keys = 0;
    std::size_t named = 0;
    for (std::size_t at = text.find("v1:eltwise"); at != std::string::npos;
         at = text.find("v1:eltwise", at + 1)) {
      ++keys;
      // The key, or the command with the key, behind the name.
      const std::size_t from = at > 80 ? at - 80 : 0;
      named += text.substr(from, at - from).find(name) != std::string::npos ? 1U : 0U;
    }
    EXPECT_GT(keys, 4U) << extension;
    EXPECT_EQ(named + 1, keys) << "all but the command below the layer's own heading, in "
                               << extension;
    EXPECT_THAT(text,
                AnyOf(HasSubstr("#### relu1 of lenet, batch 1, f32"),
                      HasSubstr("<h3>relu1 of lenet, batch 1, f32</h3>")));
  }
  EXPECT_THAT(text_of(sample_qualification(), ".csv"),
              HasSubstr(",\"relu1 of lenet, batch 1, f32\""));
}

TEST(QualificationReport, an_earlier_one_names_the_models_of_a_layer) {
  analysis::QualificationReport report = sample_qualification();
  report.qualification.layers[0].place.clear();
  EXPECT_THAT(text_of(report, ".html"), HasSubstr("lenet|1|f32: plumb layer"));
}

TEST(QualificationReport, a_stack_without_a_known_library_goes_by_its_name) {
  analysis::QualificationReport report = sample_qualification();
  report.qualification.baseline.libraries = {{"library", "fake 1.0"}};
  report.qualification.candidate.libraries.clear();
  EXPECT_THAT(text_of(report, ".html"), HasSubstr("May default replace fake 1.0 (onednn-3.1)?"));
}

TEST(QualificationReport, a_control_that_failed_says_so) {
  analysis::QualificationReport report = sample_qualification();
  EXPECT_THAT(text_of(report, ".txt"), HasSubstr("A/A control of this run: 2 alarms in 40 tests"));
  report.qualification.alarms = {
      .tests = 60, .alarms = 30, .level = 0.05, .low = 0.37, .high = 0.63};
  EXPECT_THAT(text_of(report, ".txt"), HasSubstr("A/A control of this run: 30 alarms in 60 tests"))
      << "a stored verdict is by the control that it had";
  report.qualification.control_failed = true;
  EXPECT_THAT(text_of(report, ".txt"),
              HasSubstr("A/A control of this run, failed: 30 alarms in 60 tests at 5 %, a rate of "
                        "50.00 % (37.00 … 63.00 %)."));
}

TEST(QualificationReport, what_an_empty_one_lacks_is_said_and_never_zero) {
  analysis::QualificationReport report;
  const std::string page = text_of(report, ".html");
  EXPECT_THAT(page, HasSubstr("Outputs: not measured."));
  EXPECT_THAT(page, HasSubstr("Memory, creation and first call: not measured."));
  EXPECT_THAT(page, HasSubstr("A/A control, which needs six screening pairs: not measured."));
  EXPECT_THAT(page, HasSubstr("Controls of the machine: not measured."));
  EXPECT_THAT(page, HasSubstr("Geometric mean of the speed-ups: not measured."));
  EXPECT_THAT(page, HasSubstr("The defaults of the program"));
  EXPECT_THAT(page, HasSubstr("<strong>Not enough evidence.</strong>"));
}

TEST(QualificationReport, the_five_classes_count_what_is_not_comparable_apart) {
  const std::string text = text_of(sample_qualification(), ".md");
  EXPECT_THAT(text, HasSubstr("| unique layers | 1 | 1 | 0 | 0 | 0 | 1 | 3 |"));
  EXPECT_THAT(text, HasSubstr("| models, each in each mode | 0 | 0 | 0 | 1 | 0 | 0 | 1 |"));
}

TEST(QualificationReport, junit_and_annotations_name_what_got_worse) {
  const std::string junit = text_of(sample_qualification(), ".xml");
  EXPECT_THAT(junit, HasSubstr("tests=\"4\" failures=\"2\" errors=\"0\" skipped=\"1\""));
  EXPECT_THAT(junit, HasSubstr("value=\"relu1 of lenet, batch 1, f32\""));
  EXPECT_THAT(text_of(sample_qualification(), ".annotations"),
              StartsWith("::error title=layer broken"));
}

TEST(QualificationReport, json_holds_everything_and_the_history) {
  const auto document = nlohmann::json::parse(text_of(sample_qualification(), ".json"));
  EXPECT_EQ(document["schema_version"], 1);
  EXPECT_EQ(document["verdict"], "reject");
  EXPECT_EQ(document["history"][0]["reason"], "too few rounds");
}

TEST(QualificationReport, hostile_names_are_text_and_markdown_fits_a_comment) {
  analysis::QualificationReport report = sample_qualification();
  analysis::Qualification& q = report.qualification;
  q.suite = q.reason = q.baseline.name = q.candidate.name = kHostileName;
  q.command = {kHostileName};
  q.notes = {kHostileName};
  q.differences = {{kHostileName, kHostileName, kHostileName, true}};
  q.criteria.file = kHostileName;
  q.results[0].found = kHostileName;
  for (int i = 0; i < 400; ++i) {
    q.layers.push_back(q.layers.front());
    q.layers.back().subject = kHostileName + std::to_string(i);
    q.layers.back().replay.evidence = kHostileName;
    q.layers.back().models = {kHostileName};
  }
  q.accuracy[0].subject = kHostileName;
  report.history[0].reason = kHostileName;
  for (const auto& format : qualification_formats()) {
    const std::string text = text_of(report, std::string(format.extension));
    EXPECT_TRUE(is_clean_utf8(text)) << format.extension;
    if (format.extension == ".html" || format.extension == ".xml") {
      EXPECT_THAT(text, Not(HasSubstr("<script"))) << format.extension;
    }
  }
  EXPECT_LT(text_of(report, ".md").size(), 65'536U);
  EXPECT_THAT(text_of(report, ".md"), HasSubstr("13. Data"));
  EXPECT_THAT(text_of(report, ".md"), HasSubstr("Decided by, on"));
}

TEST(PullRequestComment, has_verdict_changes_commands_and_what_is_missing) {
  const std::string text =
      comment_text(sample_qualification(),
                   {.name = "plumbline",
                    .labels = {{"commit", "4f2a9c01d3b7e8f0"}, {"branch", "fix_it"}},
                    .commits = results::CommitLink("https://example.org/{commit}"),
                    .report_address = "https://example.org/jobs/1"});
  EXPECT_EQ(text, R"text(<!-- plumbline comment: plumbline -->
## Plumbline: reject
**reject.** a layer lost a quarter of its speed. 1 broken, 1 regressed, 0 improved, 1 equivalent, 1 inconclusive.

| what |  |
| --- | --- |
| suite | smoke |
| stack | oneDNN 3.1.1 (onednn-3.1) → oneDNN 3.2.0 (default) |
| all of it again | ``plumb qualify 'my suite.toml'`` |
| branch | fix\_it |
| commit | [4f2a9c01d3b7](https://example.org/4f2a9c01d3b7e8f0) |
| everything | [report](https://example.org/jobs/1) |


### What changed

| verdict | model or layer | baseline | candidate | change | 95 % | why |
| --- | --- | ---: | ---: | ---: | ---: | --- |
| broken | v1:gone | – | – | – | – | worked before, and now crashed |
| regressed | relu1 of lenet, batch 1, f32: v1:eltwise;in=f32\[8\];out=f32\[8\];acc=f32;math=strict;fn=relu;parameters=\[\] | 1.000 ms | 1.250 ms | +25.00 % | +24.00 % … +26.00 % | wino → gemm |


### Measure it again

| model or layer | command |
| --- | --- |
| v1:gone | ``plumb layer 'v1:gone' --stack default`` |
| relu1 of lenet, batch 1, f32: v1:eltwise;in=f32\[8\];out=f32\[8\];acc=f32;math=strict;fn=relu;parameters=\[\] | ``plumb layer 'v1:eltwise;in=f32[8];out=f32[8];acc=f32;math=strict;fn=relu;parameters=[]' --stack default`` |


### Not measured, or not decided

| what | why |
| --- | --- |
| v1:open | measured by one side only |

)text");
}

}  // namespace
}  // namespace plumb::reporting
