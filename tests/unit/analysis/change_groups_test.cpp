// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "harness/analysis/history/series_history.hpp"

namespace plumb::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

OpenChange::Cause commit(const std::string& before, const std::string& after) {
  return {OpenChange::Cause::Kind::kCommit, "label.commit", before, after};
}

OpenChange::Cause library(const std::string& before, const std::string& after) {
  return {OpenChange::Cause::Kind::kLibrary, "library.version", before, after};
}

OpenChange change(const std::string& suite,
                  const std::string& series,
                  const std::string& run,
                  std::vector<OpenChange::Cause> causes,
                  double after = 1.2) {
  OpenChange result;
  result.history.suite = suite;
  result.series = series;
  result.change.run = run;
  result.change.before = 1.0;
  result.change.after = after;
  result.family = kernel_family(series, "impl=jit:avx2");
  result.causes = std::move(causes);
  return result;
}

TEST(ChangeGroups, of_one_commit_are_one_group_across_suites) {
  const auto groups = group_changes({change("a", "layers/v1:conv;x", "R1", {commit("c1", "c2")}),
                                     change("b", "models/lenet", "R9", {commit("c0", "c2")}, 1.5),
                                     change("a", "layers/v1:conv;y", "R5", {commit("c4", "c5")})});
  ASSERT_THAT(groups, SizeIs(2));
  EXPECT_THAT(groups[0].changes, SizeIs(2));
  EXPECT_EQ(groups[0].changes[0].series, "models/lenet") << "the largest first";
  ASSERT_THAT(groups[0].causes, SizeIs(1));
  EXPECT_EQ(groups[0].causes[0].after, "c2");
  EXPECT_THAT(groups[0].families, ElementsAre("conv jit", "models"));
  EXPECT_EQ(groups[1].causes[0].after, "c5");
}

TEST(ChangeGroups, of_one_library_are_one_group_although_the_commits_differ) {
  const auto groups = group_changes(
      {change("a", "layers/v1:conv;x", "R1", {commit("c1", "c2"), library("1", "2")}),
       change("b", "layers/v1:conv;x", "R2", {commit("c2", "c3"), library("1", "2")}),
       change("c", "layers/v1:conv;x", "R3", {commit("c3", "c4"), library("1", "2")})});
  ASSERT_THAT(groups, SizeIs(1));
  ASSERT_THAT(groups[0].causes, SizeIs(1)) << "no commit is of more than half of them";
  EXPECT_EQ(groups[0].causes[0].kind, OpenChange::Cause::Kind::kLibrary);
}

TEST(ChangeGroups, without_a_changed_fact_go_by_run_and_family) {
  const auto groups = group_changes({change("a", "layers/v1:conv;x", "R1", {}),
                                     change("a", "layers/v1:conv;y", "R1", {}),
                                     change("a", "layers/v1:matmul;x", "R1", {}),
                                     change("a", "layers/v1:conv;x", "R2", {})});
  ASSERT_THAT(groups, SizeIs(3));
  EXPECT_THAT(groups[0].changes, SizeIs(2));
  EXPECT_THAT(groups[0].causes, IsEmpty());
}

TEST(ChangeGroups, hold_every_change_once) {
  for (std::size_t count : {0U, 1U, 7U, 40U}) {
    std::vector<OpenChange> changes;
    for (std::size_t i = 0; i < count; ++i) {
      changes.push_back(change("a",
                               "layers/v1:conv;" + std::to_string(i),
                               "R" + std::to_string(i % 3),
                               i % 2 == 0 ? std::vector{commit("x", std::to_string(i % 5))}
                                          : std::vector<OpenChange::Cause>{}));
    }
    std::size_t held = 0;
    for (const OpenChange::Group& group : group_changes(changes)) {
      held += group.changes.size();
    }
    EXPECT_EQ(held, count);
  }
}

TEST(PossibleCauses, are_facts_and_no_names) {
  results::Environment before;
  results::Environment after;
  before.identity = {{"library", "onednn-1"}, {"driver", "1"}, {"cpu.model", "X"}};
  after.identity = {{"library", "onednn-2"}, {"driver", "2"}, {"cpu.model", "X"}};
  before.facts = {{"label.commit", "a"},
                  {"label.branch", "m"},
                  {"boot.id", "1"},
                  {"load", "1"},
                  {"plumb.version", "1"},
                  {"governor", "x"}};
  after.facts = {{"label.commit", "b"},
                 {"label.branch", "n"},
                 {"boot.id", "2"},
                 {"load", "2"},
                 {"plumb.version", "2"},
                 {"governor", "y"}};
  std::vector<std::string> names;
  for (const OpenChange::Cause& cause : possible_causes(before, after)) {
    names.push_back(std::string(to_text(cause.kind)) + " " + cause.fact);
  }
  EXPECT_THAT(
      names,
      ElementsAre("commit label.commit", "library library", "driver driver", "machine governor"));
  EXPECT_THAT(possible_causes(before, before), IsEmpty());
}

TEST(KernelFamily, is_the_operator_and_the_implementation) {
  EXPECT_EQ(kernel_family("layers/v1:conv;in=f32[8]", "impl=brg_conv_fwd:avx512_core"),
            "conv brgemm");
  EXPECT_EQ(kernel_family("layers/v1:conv;in=f32[8]", ""), "conv");
  EXPECT_EQ(kernel_family("models/lenet|1|f32/end_to_end/plain/single_stream", ""), "models");
  EXPECT_EQ(kernel_family("layers/external:mine:x", ""), "benchmarks");
}

}  // namespace
}  // namespace plumb::analysis
