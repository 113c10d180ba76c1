// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/profile/growth_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "harness/analysis/profile/profile_shares.hpp"
#include "reporting/content/samples/profile_content.hpp"
#include "reporting/content/store/store_pages.hpp"
#include "reporting/document/quantity_text.hpp"
#include "reporting/formats/html_page.hpp"

namespace plumb::reporting {
namespace {

constexpr std::size_t kMaxModels = 100;
constexpr std::size_t kMaxFunctions = 15;

/// Lists the functions that certainly changed, largest change first.
std::vector<PageRow> function_rows(const analysis::ProfileDifference& difference) {
  std::vector<PageRow> rows;
  for (const analysis::FunctionChange& each : difference.functions) {
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

void add_listing(const char* where, const analysis::ListedCode& listing, HtmlPage& page) {
  const ListingContent content = describe_listing(listing);
  page.paragraph(fmt::format("In {}: {}.", where, content.title));
  for (const std::string& note : content.notes) {
    page.paragraph(note);
  }
  if (!content.rows.empty()) {
    page.table(listing_table(content.rows));
  }
}

PageRow end_row(const char* name, const analysis::GrowthEnd& end, bool known, Seconds execution) {
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
  for (const analysis::ListedCode& listing : growth.listings) {
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
