// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>

#include "reporting/page.hpp"

namespace plumb {

/// Builds GitHub-flavoured Markdown below 60,000 characters, the limit of comments: a table is cut
/// after its first rows with "and 37 more", and what does not fit any more is said to be left out.
class MarkdownPage : public Page {
 public:
  explicit MarkdownPage(const std::string& title);

  void heading(const std::string& text) override;
  void subheading(const std::string& text) override;
  void paragraph(const std::string& text) override;
  void verdict(const std::string& strong, const std::string& text, Tone tone) override;
  void signature_line(const std::string& text) override;
  void table(const PageRow& head, const std::vector<PageRow>& rows) override;

  [[nodiscard]] std::size_t most_details() const override { return 10; }

  /// Writes the whole page.
  void write(std::ostream& out) const;

 private:
  /// Adds a block if `limit` leaves room for it; else counts one more that was left out.
  void add(const std::string& block, std::size_t limit);

  std::string text_;
  std::size_t left_out_ = 0;
};

}  // namespace plumb
