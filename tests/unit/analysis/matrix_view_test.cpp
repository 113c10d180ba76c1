// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "harness/analysis/matrix/matrix.hpp"
#include "harness/base/error.hpp"
#include "harness/results/execution.hpp"
#include "tests/unit/analysis/matrix_runs.hpp"

namespace plumb::analysis {
namespace {

TEST(MatrixView, has_the_papers_figures_that_compare_models_each_once) {
  std::multiset<std::string> figures;
  std::set<std::string_view> names;
  for (const MatrixReport::View& view : matrix_views()) {
    EXPECT_TRUE(names.insert(view.name).second) << view.name;
    EXPECT_FALSE(view.shows.empty());
    EXPECT_FALSE(view.needs.empty()) << view.name;
    if (!view.figure.empty()) {
      figures.emplace(view.figure);
    }
  }
  const std::multiset<std::string> wanted{
      "6", "7", "8", "9", "12", "13", "14", "15", "16", "17", "18", "19", "20"};
  EXPECT_EQ(figures, wanted);
}

TEST(MatrixView, of_every_name_builds_a_matrix_with_values_or_reasons) {
  std::vector<Matrix::Run> runs{
      run_of("1", "x", {timed_model("a", 1.0), timed_model("b", 2.0), timed_model("a", 3.0, 8)})};
  for (const MatrixReport::View& view : matrix_views()) {
    for (const std::string& mode : view.query.modes) {
      EXPECT_EQ(to_text(results::execution_mode_from(mode)), mode) << view.name;
    }
    const Matrix matrix = make_matrix(runs, find_view(std::string(view.name)).query);
    EXPECT_FALSE(matrix.rows.empty()) << view.name;
  }
}

TEST(MatrixView, of_an_unknown_name_is_refused_with_the_names) {
  try {
    static_cast<void>(find_view("fig12"));
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("fusion-speedup"));
  }
}

}  // namespace
}  // namespace plumb::analysis
