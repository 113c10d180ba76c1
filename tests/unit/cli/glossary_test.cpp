// SPDX-License-Identifier: Apache-2.0
#include "reporting/glossary/glossary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plumb::cli {
namespace {

using testing::ElementsAre;

constexpr const char* kMarkdown = R"(# Glossary

| word | meaning |
| --- | --- |
| partition | a choice of layers ([bounds](reference/bounds.md)) of a model (`cover`) |

## Times

| word | meaning |
| --- | --- |
| `low`, `high` | the ends of an interval |
| what-if | a change of `mode` |
)";

TEST(Glossary, reads_words_other_names_and_sections) {
  const std::vector<reporting::GlossaryEntry> glossary = reporting::read_glossary(kMarkdown);
  ASSERT_EQ(glossary.size(), 3U);
  EXPECT_THAT(glossary[0].words, ElementsAre("partition", "cover"));
  EXPECT_EQ(glossary[0].meaning, "a choice of layers (bounds) of a model (cover)");
  EXPECT_EQ(glossary[0].section, "");
  EXPECT_THAT(glossary[1].words, ElementsAre("low", "high"));
  EXPECT_EQ(glossary[1].section, "Times");
}

TEST(Glossary, finds_a_word_in_any_spelling_of_it) {
  const std::vector<reporting::GlossaryEntry> glossary = reporting::read_glossary(kMarkdown);
  EXPECT_EQ(reporting::find_entry(glossary, "What_If"), &glossary[2]);
  EXPECT_EQ(reporting::find_entry(glossary, "cover"), &glossary[0]);
  EXPECT_EQ(reporting::find_entry(glossary, "high"), &glossary[1]);
  EXPECT_EQ(reporting::find_entry(glossary, "highest"), nullptr);
}

TEST(Glossary, of_the_program_has_no_word_twice) {
  const std::vector<reporting::GlossaryEntry> glossary =
      reporting::read_glossary(reporting::glossary_markdown());
  ASSERT_GT(glossary.size(), 100U);
  for (const reporting::GlossaryEntry& entry : glossary) {
    EXPECT_EQ(reporting::find_entry(glossary, entry.words.front()), &entry) << entry.words.front();
  }
}

}  // namespace
}  // namespace plumb::cli
