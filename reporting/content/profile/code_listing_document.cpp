// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/profile/code_listing_document.hpp"

#include <fmt/format.h>

#include <limits>
#include <ostream>

#include "reporting/content/samples/listing_content.hpp"
#include "reporting/document/aligned_table.hpp"
#include "reporting/document/sanitized_text.hpp"

namespace plumb::reporting {

void write_code_listing(const results::NamedProfile& profile,
                        const results::CodeListing& listing,
                        std::ostream& out,
                        Detail detail) {
  const results::CodeListing shown =
      detail == Detail::kAll
          ? listing
          : results::shorten_listing(listing, std::numeric_limits<std::size_t>::max());
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

}  // namespace plumb::reporting
