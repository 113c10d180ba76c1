// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/profile/profile_documents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "harness/analysis/profile/profile_json.hpp"
#include "harness/analysis/profile/profile_shares.hpp"
#include "reporting/content/samples/profile_files.hpp"
#include "reporting/content/store/store_pages.hpp"
#include "reporting/document/page.hpp"
#include "reporting/document/texts.hpp"
#include "reporting/formats/pages.hpp"

namespace plumb::reporting {

void write_code_listing(const results::NamedProfile& profile,
                        const results::NamedProfile::Listing& listing,
                        std::ostream& out,
                        Detail detail) {
  const results::NamedProfile::Listing shown =
      detail == Detail::kAll ? listing
                             : results::shorten_listing(listing, results::kMaxKeptInstructions);
  const ListingContent content = describe_listing(analysis::list_shares(profile, shown));
  out << '\n' << sanitize_utf8(content.title) << '\n';
  for (const std::string& note : content.notes) {
    out << sanitize_utf8(note) << '\n';
  }
  if (content.rows.empty()) {
    return;
  }
  out << '\n';
  write_aligned(listing_table(content.rows), out);
  const bool kept = listing.instructions.size() == listing.disassembled;
  if (const std::size_t left_out = listing.disassembled - shown.instructions.size(); left_out > 0) {
    out << fmt::format("{} more instructions{}\n",
                       left_out,
                       kept ? " with --all" : ", of which the run keeps none");
  }
}

namespace {

constexpr std::size_t kShownRows = 10;
constexpr std::size_t kLongestName = 40;
constexpr std::size_t kNamedProblems = 3;

std::string short_name(std::string name, Detail detail) {
  // A cut within a character is mended by the table.
  return detail == Detail::kShort && name.size() > kLongestName ? name.substr(0, kLongestName) + "…"
                                                                : std::move(name);
}

std::string interval_text(
    const std::optional<analysis::GroupedSamples::Share::Interval>& interval) {
  return interval ? fmt::format("{:.1f}–{:.1f}", 100.0 * interval->low, 100.0 * interval->high)
                  : "–";
}

/// Describes what the intervals of a merged profile know of how its runs or processes differ.
std::string unit_text(const results::NamedProfile& profile, analysis::GroupedSamples::Unit merged) {
  const analysis::GroupedSamples::Unit drawn = analysis::drawn_unit(profile);
  return drawn == merged
             ? fmt::format("intervals are by {}", to_text(drawn))
             : fmt::format("below {} {}, intervals are by {} and do not know how {} differ",
                           analysis::GroupedSamples::kMinGroups,
                           to_text(merged),
                           to_text(drawn),
                           to_text(merged));
}

/// Describes which runs a profile is merged from, and what its intervals know of them.
std::string runs_text(const results::NamedProfile& profile) {
  const auto [first, last] = std::minmax_element(
      profile.runs.begin(), profile.runs.end(), [](const auto& left, const auto& right) {
        return left.started < right.started;
      });
  return fmt::format("{} of environment {}, {} to {}; {}",
                     profile.runs.size(),
                     sanitize_utf8(first->environment),
                     to_text(first->started).substr(0, 10),
                     to_text(last->started).substr(0, 10),
                     unit_text(profile, analysis::GroupedSamples::Unit::kRun));
}

std::string side_text(const char* side, Seconds execution, const results::NamedProfile& profile) {
  return sanitize_utf8(
      fmt::format("{}  {} in mode {}, on {}{}{}",
                  side,
                  time_text(execution),
                  profile.mode,
                  profile.stack,
                  profile.runs.empty() ? "" : fmt::format(", by {} runs", profile.runs.size()),
                  analysis::is_always_sampled(profile) ? ", with what samples cost" : ""));
}

void write_cost(const analysis::ProfileSummary& summary, std::ostream& out) {
  if (!summary.cost) {
    out << "  cost       unknown: no execution was without samples\n";
    return;
  }
  out << fmt::format("  cost       {} of the time", signed_share_text(*summary.cost));
  if (summary.cost_interval) {
    out << fmt::format(" ({} to {})",
                       signed_share_text(summary.cost_interval->low),
                       signed_share_text(summary.cost_interval->high));
  }
  out << fmt::format(", in {} pairs of blocks\n", summary.pairs);
}

void write_head(const results::NamedProfile& profile,
                const analysis::ProfileSummary& summary,
                std::ostream& out) {
  out << sanitize_utf8(
             fmt::format("{}, mode {}, on {}", profile.model, profile.mode, profile.stack))
      << fmt::format("\n  execution  {} {} samples\n",
                     time_text(summary.execution),
                     summary.cost ? "without" : "with")
      << fmt::format(
             "  samples    {} of {} executions by {}, {:.0f} a second where {:.0f} were "
             "asked for\n",
             summary.samples,
             summary.executions,
             results::to_text(profile.clock),
             profile.rate,
             profile.asked_rate);
  if (!profile.runs.empty()) {
    out << fmt::format("  runs       {}\n", runs_text(profile));
  } else if (!profile.processes.empty()) {
    out << fmt::format("  processes  {}; {}\n",
                       profile.processes.size(),
                       unit_text(profile, analysis::GroupedSamples::Unit::kProcess));
  }
  if (profile.lost > 0) {
    out << fmt::format("  lost       {} samples, for want of room\n", profile.lost);
  }
  if (!profile.refused.empty()) {
    out << sanitize_utf8(fmt::format("  no better  {}", profile.refused)) << '\n';
  }
  out << fmt::format("  assigned   {} to a step, {} to a function\n",
                     share_text(summary.in_steps),
                     share_text(summary.in_functions));
  write_cost(summary, out);
  for (std::size_t i = 0; i < std::min(kNamedProblems, profile.problems.size()); ++i) {
    out << sanitize_utf8(fmt::format("  no names   {}", profile.problems[i])) << '\n';
  }
}

/// Returns the numbers of rows, largest share first.
std::vector<std::size_t> by_share(const std::vector<analysis::GroupedSamples::Share>& shares) {
  std::vector<std::size_t> order(shares.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t left, std::size_t right) {
    return shares[left].samples > shares[right].samples;
  });
  return order;
}

void write_cells(const results::NamedProfile& profile,
                 const analysis::ProfileSummary& summary,
                 std::ostream& out,
                 Detail detail) {
  const std::vector<analysis::GroupedSamples::Share> shares = analysis::compute_shares(
      analysis::GroupedSamples(profile, analysis::rows_of_cells(profile), profile.cells.size()));
  AlignedTable table({{"share", true}, {"95 %", true}, {"time", true}, {"step"}, {"function"}});
  std::size_t shown = 0;
  for (const std::size_t row : by_share(shares)) {
    if (detail == Detail::kShort && shown == kShownRows) {
      break;
    }
    ++shown;
    const results::NamedProfile::Cell& cell = profile.cells[row];
    table.add({share_text(shares[row].share),
               interval_text(shares[row].interval),
               time_text(shares[row].share * summary.execution),
               short_name(analysis::step_name(profile, cell.step), detail),
               short_name(analysis::name_of(profile.functions.at(cell.function)), detail)});
  }
  out << '\n';
  table.write(out);
  if (shown < shares.size()) {
    out << fmt::format("{} more with --all\n", shares.size() - shown);
  }
}

/// Writes the shares of steps. A program without steps has none.
void write_steps(const results::NamedProfile& profile,
                 const analysis::ProfileSummary& summary,
                 std::ostream& out) {
  const std::vector<analysis::GroupedSamples::Share> shares =
      analysis::compute_shares(analysis::GroupedSamples(
          profile, analysis::rows_of_steps(profile), profile.steps.size() + 1));
  AlignedTable table({{"share", true}, {"95 %", true}, {"time", true}, {"step"}, {"variant"}});
  for (const std::size_t row : by_share(shares)) {
    const bool between = row == profile.steps.size();
    if (!between || shares[row].samples > 0) {
      table.add({share_text(shares[row].share),
                 interval_text(shares[row].interval),
                 time_text(shares[row].share * summary.execution),
                 analysis::step_name(profile,
                                     between ? results::kNoStep : static_cast<std::uint32_t>(row)),
                 between ? "" : profile.steps[row].variant});
    }
  }
  out << '\n';
  table.write(out);
}

void write_functions(const results::NamedProfile& profile,
                     const analysis::ProfileSummary& summary,
                     std::ostream& out) {
  const std::vector<analysis::GroupedSamples::Share> shares =
      analysis::compute_shares(analysis::GroupedSamples(
          profile, analysis::rows_of_functions(profile), profile.functions.size()));
  AlignedTable table({{"share", true}, {"95 %", true}, {"time", true}, {"function"}, {"image"}});
  for (const std::size_t row : by_share(shares)) {
    table.add({share_text(shares[row].share),
               interval_text(shares[row].interval),
               time_text(shares[row].share * summary.execution),
               analysis::name_of(profile.functions[row]),
               profile.functions[row].image});
  }
  out << '\n';
  table.write(out);
}

std::string change_interval_text(
    const std::optional<analysis::GroupedSamples::Share::Interval>& interval) {
  return interval ? fmt::format("{} to {}",
                                change_text(Seconds(interval->low)),
                                change_text(Seconds(interval->high)))
                  : "–";
}

std::string presence_text(const analysis::ProfileDifference::Function& change) {
  if (!change.in_baseline) {
    return "not in the baseline";
  }
  return change.in_candidate ? "" : "not in the candidate";
}

void write_json(std::span<const ShownProfile> shown, std::ostream& out) {
  analysis::Json documents = analysis::Json::array();
  for (const ShownProfile& each : shown) {
    analysis::Json& document = documents.emplace_back(analysis::profile_document(each.profile));
    if (each.listing != nullptr) {
      document["listing"] = analysis::listing_json(each.profile, *each.listing);
    }
  }
  if (shown.size() == 1) {
    out << analysis::document_text(documents.front());
    return;
  }
  analysis::Json document = analysis::new_document();
  document["profiles"] = std::move(documents);
  out << analysis::document_text(document);
}

}  // namespace

void write_profiles(std::span<const ShownProfile> shown,
                    OutputMode style,
                    std::ostream& out,
                    Detail detail) {
  if (style == OutputMode::kJson) {
    write_json(shown, out);
    return;
  }
  for (const ShownProfile& each : shown) {
    const analysis::ProfileSummary summary = analysis::summarize_profile(each.profile);
    out << (&each == &shown.front() ? "" : "\n");
    write_head(each.profile, summary, out);
    write_cells(each.profile, summary, out, detail);
    if (detail == Detail::kAll) {
      if (!each.profile.steps.empty()) {
        write_steps(each.profile, summary, out);
      }
      write_functions(each.profile, summary, out);
    }
    if (each.listing != nullptr) {
      write_code_listing(each.profile, *each.listing, out, detail);
    }
  }
}

void write_profile_difference(const results::NamedProfile& baseline,
                              const results::NamedProfile& candidate,
                              const analysis::ProfileDifference& difference,
                              OutputMode style,
                              std::ostream& out,
                              Detail detail) {
  if (style == OutputMode::kJson) {
    out << analysis::document_text(
        analysis::profile_difference_document(baseline, candidate, difference));
    return;
  }
  out << sanitize_utf8(baseline.model) << '\n'
      << side_text("  baseline ", difference.baseline, baseline) << '\n'
      << side_text("  candidate", difference.candidate, candidate) << '\n'
      << fmt::format("  change     {} ({})\n",
                     change_text(difference.change()),
                     change_interval_text(difference.interval))
      << fmt::format("  explained  all but {}, by the functions whose interval excludes zero\n\n",
                     change_text(difference.unexplained()));
  AlignedTable table({{"change", true}, {"95 %"}, {"function"}, {"most in step"}, {""}});
  std::size_t shown = 0;
  for (const analysis::ProfileDifference::Function& change : difference.functions) {
    if (detail == Detail::kShort && (shown == kShownRows || !change.is_certain())) {
      continue;
    }
    ++shown;
    table.add({change_text(change.change()),
               change_interval_text(change.interval),
               short_name(analysis::name_of(change.function), detail),
               short_name(change.step, detail),
               presence_text(change)});
  }
  if (shown == 0) {
    out << "no function whose time certainly changed\n";
  } else {
    table.write(out);
  }
  if (shown < difference.functions.size()) {
    out << fmt::format("{} more with --all\n", difference.functions.size() - shown);
  }
}

namespace {

constexpr std::size_t kMaxModels = 100;
constexpr std::size_t kMaxFunctions = 15;

/// Lists the functions that certainly changed, largest change first.
std::vector<PageRow> function_rows(const analysis::ProfileDifference& difference) {
  std::vector<PageRow> rows;
  for (const analysis::ProfileDifference::Function& each : difference.functions) {
    if (!each.is_certain() || rows.size() == kMaxFunctions) {
      continue;
    }
    rows.push_back({code_cell(analysis::name_of(each.function)),
                    text_cell(each.function.image),
                    text_cell(each.step),
                    number_cell(time_text(each.baseline)),
                    number_cell(time_text(each.candidate)),
                    number_cell(change_text(each.change())),
                    number_cell(fmt::format("{} to {}",
                                            change_text(Seconds(each.interval->low)),
                                            change_text(Seconds(each.interval->high))))});
  }
  return rows;
}

void add_listing(const char* where,
                 const analysis::FunctionGrowth::Listing& listing,
                 HtmlPage& page) {
  const ListingContent content = describe_listing(listing);
  page.paragraph(fmt::format("In {}: {}.", where, content.title));
  for (const std::string& note : content.notes) {
    page.paragraph(note);
  }
  if (!content.rows.empty()) {
    page.table(listing_table(content.rows));
  }
}

PageRow end_row(const char* name,
                const analysis::FunctionGrowth::End& end,
                bool known,
                Seconds execution) {
  return {text_cell(name),
          number_cell(std::to_string(end.runs)),
          link_cell(end.run, run_address(end.run)),
          text_cell(to_text(end.started)),
          text_cell(end.stack),
          number_cell(known ? time_text(execution) : "–")};
}

void add_model(const analysis::FunctionGrowth& growth, HtmlPage& page) {
  page.subheading(fmt::format("{}, mode {}", growth.subject, growth.mode));
  page.table({text_cell(""),
              number_cell("runs"),
              text_cell("run"),
              text_cell("started"),
              text_cell("stack"),
              number_cell("execution")},
             {end_row("first", growth.first, growth.problem.empty(), growth.difference.baseline),
              end_row("last", growth.last, growth.problem.empty(), growth.difference.candidate)});
  if (!growth.problem.empty()) {
    page.paragraph(growth.problem + ".");
    return;
  }
  const std::vector<PageRow> rows = function_rows(growth.difference);
  if (rows.empty()) {
    page.paragraph("No function certainly changed.");
    return;
  }
  page.table({text_cell("function"),
              text_cell("image"),
              text_cell("most in step"),
              number_cell("first"),
              number_cell("last"),
              number_cell("change"),
              number_cell("95 %")},
             rows);
  for (const analysis::FunctionGrowth::Listing& listing : growth.listings) {
    add_listing(growth.last.runs > 1 ? "the last runs" : "the last run", listing, page);
  }
}

}  // namespace

void write_growth_page(std::span<const analysis::FunctionGrowth> models,
                       int days,
                       std::ostream& out) {
  HtmlPage page("Functions over time");
  page.link("all models and runs", "/");
  page.paragraph(fmt::format(
      "The first and the last profiles of each model in {} days, on one system. At each end up to "
      "{} runs of one environment are merged. Intervals know how runs differ where both ends have "
      "{} runs; else a small change may be one of the process.",
      days,
      analysis::kMaxEndRuns,
      analysis::GroupedSamples::kMinGroups));
  if (models.empty()) {
    page.paragraph("No model was profiled twice in this time.");
  }
  for (std::size_t i = 0; i < std::min(models.size(), kMaxModels); ++i) {
    add_model(models[i], page);
  }
  if (models.size() > kMaxModels) {
    page.paragraph(fmt::format("and {} others", models.size() - kMaxModels));
  }
  page.write(out);
}

}  // namespace plumb::reporting
