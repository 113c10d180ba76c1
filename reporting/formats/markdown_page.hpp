// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>

#include "reporting/document/page.hpp"

namespace plumb::reporting {

/// Page of GitHub-flavoured Markdown below kMarkdownLimit, so that it fits a comment. A table is
/// cut after its first rows with "and 37 more". Parts that do not fit are counted at the end: each
/// by itself, or all that is folded together.
class MarkdownPage : public Page {
 public:
  explicit MarkdownPage(const std::string& title);

  void heading(const std::string& text) override;
  void subheading(const std::string& text) override;
  void paragraph(const std::string& text) override;
  void list(const std::vector<std::string>& items) override;
  void command(const std::string& what, const std::string& command) override;
  void verdict(const std::string& strong, const std::string& text, Tone tone) override;
  void signature_line(const std::string& text) override;
  using Page::table;
  void table(const PageTable& table) override;

  /// Adds lines made by plumb, such as a picture of characters.
  void preformatted(const std::string& lines);

  void drawing(const std::string& /*svg*/) override {}
  void begin_fold(const std::string& title, bool open) override;
  void end_fold() override;
  [[nodiscard]] Extent extent() const override { return Extent::kComment; }

  /// Writes the whole page.
  void write(std::ostream& out) const;

 private:
  /// Adds a block if `limit` leaves room for it. Otherwise it counts one more that was left out,
  /// and returns false.
  bool add(const std::string& block, std::size_t limit);

  std::string text_;
  std::size_t left_out_ = 0;
  std::size_t fold_begin_ = 0;  ///< where the text of the fold begins; 0: outside of any
  std::size_t left_out_before_fold_ = 0;
};

}  // namespace plumb::reporting
