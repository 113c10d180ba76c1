// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/profile/code_listing_document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "reporting/document/aligned_table.hpp"
#include "reporting/document/sanitized_text.hpp"

namespace plumb::reporting {
namespace {

constexpr std::size_t kNear = 2;    // instructions around one with samples
constexpr double kHotShare = 0.01;  // below, an instruction does not count as hot in short

double share(std::uint64_t part, std::uint64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

/// Marks the instructions that are shown.
std::vector<bool> choose_instructions(const results::CodeListing& listing, Detail detail) {
  const std::size_t count = listing.instructions.size();
  std::vector<bool> shown(count, detail == Detail::kAll);
  for (std::size_t i = 0; i < count; ++i) {
    if (listing.instructions[i].samples > 0 &&
        share(listing.instructions[i].samples, listing.samples) >= kHotShare) {
      const std::size_t first = i - std::min(i, kNear);
      const std::size_t last = std::min(count, i + kNear + 1);
      std::fill(shown.begin() + static_cast<std::ptrdiff_t>(first),
                shown.begin() + static_cast<std::ptrdiff_t>(last),
                true);
    }
  }
  return shown;
}

}  // namespace

void write_code_listing(const results::CodeListing& listing, std::ostream& out, Detail detail) {
  out << '\n'
      << sanitize_utf8(fmt::format("{}, {}: {} samples, {:.1f} % of all, in {} bytes of code",
                                   listing.function.name,
                                   listing.function.image,
                                   listing.samples,
                                   100.0 * share(listing.samples, listing.of_profile),
                                   listing.bytes))
      << '\n';
  if (listing.alike > 0) {
    out << fmt::format("{} more code of this name has samples; this one has most\n", listing.alike);
  }
  if (!listing.exact) {
    out << "approximate: a sample may lie some instructions after the one that took the time\n";
  }
  if (listing.bytes_listed < listing.bytes) {
    out << fmt::format("only the first {} bytes are listed\n", listing.bytes_listed);
  }
  const std::vector<bool> shown = choose_instructions(listing, detail);
  AlignedTable table({{"share", true}, {"samples", true}, {"offset", true}, {"instruction"}});
  bool gap = false;
  std::size_t left_out = 0;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    if (!shown[i]) {
      gap = true;
      ++left_out;
      continue;
    }
    if (gap) {
      table.add({"", "", "", "…"});
      gap = false;
    }
    const results::ListedInstruction& instruction = listing.instructions[i];
    table.add({instruction.samples > 0
                   ? fmt::format("{:.1f} %", 100.0 * share(instruction.samples, listing.samples))
                   : "",
               instruction.samples > 0 ? std::to_string(instruction.samples) : "",
               fmt::format("{:x}", instruction.offset),
               instruction.text});
  }
  out << '\n';
  table.write(out);
  if (left_out > 0) {
    out << fmt::format("{} more instructions with --all\n", left_out);
  }
}

}  // namespace plumb::reporting
