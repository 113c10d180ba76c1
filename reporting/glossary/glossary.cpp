// SPDX-License-Identifier: Apache-2.0
#include "reporting/glossary/glossary.hpp"

#include <algorithm>

namespace plumb::reporting {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string_view::npos
             ? std::string_view()
             : text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

/// Removes the code type and turns links into their texts.
std::string plain_text(std::string_view markdown) {
  std::string text;
  for (std::size_t i = 0; i < markdown.size(); ++i) {
    const std::size_t close = markdown[i] == '[' ? markdown.find("](", i) : std::string_view::npos;
    const std::size_t end = close == std::string_view::npos ? close : markdown.find(')', close);
    if (end != std::string_view::npos) {
      text += plain_text(markdown.substr(i + 1, close - i - 1));
      i = end;
    } else if (markdown[i] != '`') {
      text += markdown[i];
    }
  }
  return text;
}

/// Returns the names in code type within the last parentheses of a meaning.
std::vector<std::string> other_names(std::string_view meaning) {
  std::vector<std::string> names;
  const std::size_t open = meaning.rfind("(`");
  if (open == std::string_view::npos) {
    return names;
  }
  std::string_view rest = meaning.substr(open + 1);
  while (rest.starts_with('`')) {
    const std::size_t end = rest.find('`', 1);
    if (end == std::string_view::npos) {
      break;
    }
    names.emplace_back(rest.substr(1, end - 1));
    rest = trimmed(rest.substr(end + 1));
    rest = rest.starts_with(',') ? trimmed(rest.substr(1)) : std::string_view();
  }
  return names;
}

/// Returns the cells of a table's row: "| a | b |" has two.
std::vector<std::string_view> split_cells(std::string_view line) {
  std::vector<std::string_view> cells;
  if (!line.starts_with("| ")) {
    return cells;
  }
  line.remove_prefix(1);
  for (std::size_t end = line.find('|'); end != std::string_view::npos; end = line.find('|')) {
    cells.push_back(trimmed(line.substr(0, end)));
    line.remove_prefix(end + 1);
  }
  return cells;
}

std::string normalized(std::string_view word) {
  std::string text;
  for (const char c : trimmed(word)) {
    text += c == '-' || c == ' ' ? '_' : c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  }
  return text;
}

GlossaryEntry parse_entry(std::string_view words,
                          std::string_view meaning,
                          const std::string& section) {
  GlossaryEntry entry{{}, plain_text(meaning), section};
  while (!words.empty()) {
    const std::size_t comma = std::min(words.find(", "), words.size());
    entry.words.push_back(plain_text(words.substr(0, comma)));
    words.remove_prefix(std::min(comma + 2, words.size()));
  }
  for (std::string& name : other_names(meaning)) {
    entry.words.push_back(std::move(name));
  }
  return entry;
}

}  // namespace

std::vector<GlossaryEntry> read_glossary(std::string_view markdown) {
  std::vector<GlossaryEntry> entries;
  std::string section;
  while (!markdown.empty()) {
    const std::size_t end = std::min(markdown.find('\n'), markdown.size());
    const std::string_view line = markdown.substr(0, end);
    markdown.remove_prefix(std::min(end + 1, markdown.size()));
    if (line.starts_with("## ")) {
      section = line.substr(3);
    }
    const std::vector<std::string_view> cells = split_cells(line);
    if (cells.size() == 2 && cells[0] != "word" && !cells[0].starts_with("---")) {
      entries.push_back(parse_entry(cells[0], cells[1], section));
    }
  }
  return entries;
}

const GlossaryEntry* find_entry(const std::vector<GlossaryEntry>& glossary, std::string_view word) {
  const std::string wanted = normalized(word);
  // A word of its own goes before another word's other name.
  for (const bool own : {true, false}) {
    for (const GlossaryEntry& entry : glossary) {
      const auto end = own ? entry.words.begin() + 1 : entry.words.end();
      if (std::any_of(entry.words.begin(), end, [&](const std::string& each) {
            return normalized(each) == wanted;
          })) {
        return &entry;
      }
    }
  }
  return nullptr;
}

}  // namespace plumb::reporting
