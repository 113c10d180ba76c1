// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/samples/listing_content.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "harness/analysis/profile/profile_summary.hpp"

namespace plumb::reporting {
namespace {

constexpr double kHotPercent =
    5.0;  // of the function's samples; the hottest instruction stands out in any case

ListingContent::Row gap() {
  ListingContent::Row row;
  row.instruction = "…";
  return row;
}

double percent(std::uint64_t part, std::uint64_t whole) {
  return whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

std::vector<std::string> list_notes(const analysis::ListedCode& code) {
  const results::CodeListing& listing = code.listing;
  std::vector<std::string> notes;
  if (listing.alike > 0 && !listing.function.name.empty()) {
    notes.push_back(
        fmt::format("{} more code of this name has samples; this one has most", listing.alike));
  }
  if (!listing.problem.empty()) {
    notes.push_back(fmt::format("no instructions: {}", listing.problem));
    return notes;
  }
  if (!listing.exact) {
    notes.emplace_back(
        "approximate: a sample may lie some instructions after the one that took the time");
    notes.emplace_back(
        "impossible here: to tell what an instruction waits for, which takes hardware counters");
  }
  if (listing.instructions.size() < listing.disassembled) {
    std::uint64_t samples = 0;
    for (const results::ListedInstruction& instruction : listing.instructions) {
      samples += instruction.samples;
    }
    notes.push_back(
        fmt::format("the instructions shown are {} of {} and have {:.0f} % of its samples",
                    listing.instructions.size(),
                    listing.disassembled,
                    percent(samples, listing.samples)));
  }
  if (!code.drawn) {
    notes.emplace_back(
        "the intervals are those of independent samples: there are too few blocks to draw from");
  }
  if (listing.bytes_listed < listing.bytes) {
    notes.push_back(fmt::format("only the first {} bytes are listed", listing.bytes_listed));
  }
  return notes;
}

}  // namespace

ListingContent describe_listing(const analysis::ListedCode& code) {
  const results::CodeListing& listing = code.listing;
  ListingContent content;
  content.title =
      fmt::format("{}, {}{}: {} samples, {:.1f} % of all{}",
                  analysis::name_of(listing.function),
                  listing.function.image,
                  listing.step.empty() ? "" : fmt::format(", most in {}", listing.step),
                  listing.samples,
                  percent(listing.samples, listing.of_profile),
                  listing.bytes > 0 ? fmt::format(", in {} bytes of code", listing.bytes) : "");
  content.notes = list_notes(code);
  const auto hottest = std::max_element(
      listing.instructions.begin(), listing.instructions.end(), [](const auto& a, const auto& b) {
        return a.samples < b.samples;
      });
  std::uint64_t next = 0;
  for (std::size_t i = 0; i < listing.instructions.size(); ++i) {
    const results::ListedInstruction& instruction = listing.instructions[i];
    if (instruction.offset != next) {
      content.rows.push_back(gap());
    }
    next = instruction.offset + instruction.bytes;
    ListingContent::Row& row = content.rows.emplace_back();
    row.offset = fmt::format("{:x}", instruction.offset);
    row.instruction = instruction.text;
    const analysis::ProfileShare& share = code.shares.at(i);
    if (instruction.samples > 0 && share.interval) {
      row.hot = percent(instruction.samples, listing.samples) >= kHotPercent ||
                instruction.samples == hottest->samples;
      row.share = fmt::format("{:.1f} %", percent(instruction.samples, listing.samples));
      row.interval =
          fmt::format("{:.1f}–{:.1f}", 100.0 * share.interval->low, 100.0 * share.interval->high);
      row.samples = std::to_string(instruction.samples);
    }
  }
  if (!content.rows.empty() && next < listing.bytes) {
    content.rows.push_back(gap());
  }
  return content;
}

PageTable listing_table(const std::vector<ListingContent::Row>& rows) {
  PageTable table{.head = head_row("#share|#95 %|#samples|#offset|instruction"), .listing = true};
  for (const ListingContent::Row& line : rows) {
    PageRow& row = table.row();
    row << number_cell(line.share) << number_cell(line.interval) << number_cell(line.samples)
        << number_cell(line.offset) << code_cell(line.instruction);
    for (PageCell& cell : row) {
      cell.style = line.hot ? "hot" : "";
    }
  }
  return table;
}

}  // namespace plumb::reporting
