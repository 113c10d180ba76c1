// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plumb::reporting {

/// Entry of the glossary: a word, its other names and what it means.
struct GlossaryEntry {
  std::vector<std::string> words;  ///< the word first; then names in commands, JSON and code
  std::string meaning;             ///< as text, without markup
  std::string section;
};

/// Reads the tables of docs/GLOSSARY.md. A row's first cell has its words, separated by commas. A
/// name in code type alone in parentheses at the meaning's end is another word for the same.
[[nodiscard]] std::vector<GlossaryEntry> read_glossary(std::string_view markdown);

/// Finds the entry of a word. Capitals do not matter, nor do hyphens, underscores and blanks.
[[nodiscard]] const GlossaryEntry* find_entry(const std::vector<GlossaryEntry>& glossary,
                                              std::string_view word);

/// Returns docs/GLOSSARY.md as it was when the program was built.
[[nodiscard]] std::string_view glossary_markdown();

}  // namespace plumb::reporting
