// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/base/encoding.hpp"
#include "harness/base/error.hpp"
#include "harness/base/name_match.hpp"
#include "harness/cli/command.hpp"
#include "reporting/glossary/glossary.hpp"

namespace plumb::cli {
namespace {

const reporting::GlossaryEntry& entry_for(const std::vector<reporting::GlossaryEntry>& glossary,
                                          const std::string& word) {
  if (const reporting::GlossaryEntry* const entry = reporting::find_entry(glossary, word)) {
    return *entry;
  }
  std::vector<std::string_view> known;
  for (const reporting::GlossaryEntry& entry : glossary) {
    known.insert(known.end(), entry.words.begin(), entry.words.end());
  }
  throw Error(Error::Kind::kUser,
              fmt::format("the glossary has no word '{}'; did you mean '{}'? (`plumb explain` "
                          "lists all)",
                          word,
                          nearest_name(word, known).value_or("")));
}

nlohmann::json json_of(const reporting::GlossaryEntry& entry) {
  return {{"word", entry.words.front()},
          {"other_names", std::vector<std::string>(entry.words.begin() + 1, entry.words.end())},
          {"meaning", entry.meaning},
          {"section", entry.section}};
}

void explain(const CommandContext& context, const std::vector<std::string>& words) {
  const std::vector<reporting::GlossaryEntry> glossary =
      reporting::read_glossary(reporting::glossary_markdown());
  std::vector<const reporting::GlossaryEntry*> wanted;
  for (const std::string& word : words) {
    wanted.push_back(&entry_for(glossary, word));
  }
  if (words.empty()) {
    for (const reporting::GlossaryEntry& entry : glossary) {
      wanted.push_back(&entry);
    }
  }
  nlohmann::json rows = nlohmann::json::array();
  for (const reporting::GlossaryEntry* const entry : wanted) {
    rows.push_back(json_of(*entry));
    if (!context.json) {
      std::cout << fmt::format("{}: {}\n", fmt::join(entry->words, ", "), entry->meaning);
    }
  }
  if (context.json) {
    std::cout << json_text(nlohmann::json{{"schema_version", 1}, {"words", rows}}, 2) << '\n';
  }
}

}  // namespace

void add_explain(CLI::App& app, CommandContext& context) {
  const auto words = std::make_shared<std::vector<std::string>>();
  CLI::App* const command =
      app.add_subcommand("explain", "what a word that the program prints means");
  command->add_option("WORD", *words, "such as predicted, library_parallel or mde; default: all");
  command->callback([&context, words] { explain(context, *words); });
}

}  // namespace plumb::cli
