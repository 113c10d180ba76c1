// SPDX-License-Identifier: Apache-2.0
#include "harness/results/labels/run_labels.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "harness/base/error.hpp"

namespace plumb::results {
namespace {

using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

RunLabels of_job(const std::map<std::string, std::string>& variables) {
  return labels_of_job([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

TEST(RunLabels, are_facts_of_a_run_and_split_no_series) {
  Environment environment{{{"cpu.model", "a"}}, {{"kernel", "6"}}};
  const std::string id = environment.id();
  add_labels({{"commit", "4f2a"}, {"branch", "main"}}, environment);
  EXPECT_EQ(environment.id(), id);
  EXPECT_EQ(environment.facts.at("label.commit"), "4f2a");
  EXPECT_EQ(commit_of(environment), "4f2a");
  EXPECT_EQ(commit_of({}), "");
  EXPECT_THAT(run_labels(environment),
              UnorderedElementsAre(Pair("commit", "4f2a"), Pair("branch", "main")));
  EXPECT_THAT(run_labels({}), IsEmpty());
}

TEST(RunLabels, are_parsed_over_defaults) {
  const std::vector<std::string> texts{"commit=1", "text=a=b c", "branch=", "commit=2"};
  EXPECT_THAT(parse_labels(texts, {{"branch", "main"}, {"pr", "7"}}),
              UnorderedElementsAre(Pair("commit", "2"), Pair("text", "a=b c"), Pair("pr", "7")));
  EXPECT_THAT(parse_labels({}), IsEmpty());
}

TEST(RunLabels, refuse_what_is_none) {
  for (const std::string& text : {std::string("commit"),
                                  std::string("=x"),
                                  std::string("Commit=x"),
                                  std::string("a.b=x"),
                                  std::string(33, 'a') + "=x",
                                  "commit=" + std::string(201, 'a'),
                                  std::string("commit=a\nb"),
                                  std::string("commit=\x1b[31m")}) {
    const std::vector<std::string> texts{text};
    EXPECT_THROW(static_cast<void>(parse_labels(texts)), Error) << text;
  }
}

TEST(RunLabels, come_from_the_variables_of_a_job) {
  EXPECT_THAT(
      of_job({{"GITHUB_SHA", "4f2a"},
              {"GITHUB_HEAD_REF", "topic"},
              {"GITHUB_REF_NAME", "7/merge"},
              {"GITHUB_REF", "refs/pull/7/merge"}}),
      UnorderedElementsAre(Pair("commit", "4f2a"), Pair("branch", "topic"), Pair("pr", "7")));
  EXPECT_THAT(of_job({{"GITHUB_SHA", "4f2a"},
                      {"GITHUB_HEAD_REF", ""},
                      {"GITHUB_REF_NAME", "main"},
                      {"GITHUB_REF", "refs/heads/main"}}),
              UnorderedElementsAre(Pair("commit", "4f2a"), Pair("branch", "main")));
  EXPECT_THAT(
      of_job({{"CI_COMMIT_SHA", "91bc"},
              {"CI_COMMIT_REF_NAME", "main"},
              {"CI_MERGE_REQUEST_IID", "12"}}),
      UnorderedElementsAre(Pair("commit", "91bc"), Pair("branch", "main"), Pair("pr", "12")));
  EXPECT_THAT(of_job({{"BUILDKITE_COMMIT", "c"}, {"BUILDKITE_PULL_REQUEST", "false"}}),
              UnorderedElementsAre(Pair("commit", "c")));
  EXPECT_THAT(of_job({{"GIT_COMMIT", "a\nb"}}), IsEmpty()) << "no label, and no reason to fail";
  EXPECT_THAT(of_job({}), IsEmpty());
}

TEST(RunLabels, are_found_by_the_beginning_of_a_value) {
  Environment environment;
  add_labels({{"commit", "4f2a9c01"}, {"branch", "main"}}, environment);
  EXPECT_TRUE(has_labels(environment, {}));
  EXPECT_TRUE(has_labels(environment, {{"commit", "4f2a"}, {"branch", "main"}}));
  EXPECT_FALSE(has_labels(environment, {{"commit", "91bc"}}));
  EXPECT_FALSE(has_labels(environment, {{"pr", "1"}}));
}

TEST(RunLabels, are_written_with_short_commits) {
  EXPECT_EQ(to_text(RunLabels{{"commit", "0123456789abcdef"}, {"branch", "main"}}),
            "branch=main commit=0123456789ab");
  EXPECT_EQ(to_text(RunLabels{}), "");
}

TEST(ExternalName, is_what_follows_the_suite_in_a_key) {
  EXPECT_EQ(external_name(external_key("mine", "a:b").text), "a:b");
  EXPECT_EQ(external_name("v1:relu;in=f32[8]"), std::nullopt);
}

}  // namespace
}  // namespace plumb::results
