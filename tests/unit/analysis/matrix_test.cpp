// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/matrix/matrix.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "harness/base/error.hpp"
#include "tests/unit/analysis/matrix_runs.hpp"

namespace plumb::analysis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> names_of(const Matrix& matrix) {
  std::vector<std::string> names;
  for (const Matrix::Row& row : matrix.rows) {
    names.push_back(row.name);
  }
  return names;
}

TEST(Matrix, columns_are_the_first_axis_on_which_results_differ) {
  const std::vector<Matrix::Run> stacks{run_of("1", "old", {timed_model("lenet", 2.0)}),
                                        run_of("2", "new", {timed_model("lenet", 1.0)})};
  const Matrix matrix = make_matrix(stacks, {});
  EXPECT_EQ(matrix.query.columns, Axis::kStack);
  EXPECT_THAT(matrix.columns, ElementsAre("old", "new"));
  EXPECT_DOUBLE_EQ(matrix.rows.at(0).cells.at(1).value->value, 1.0);

  const std::vector<Matrix::Run> batches{
      run_of("1", "old", {timed_model("lenet", 9.0, 16), timed_model("lenet", 2.0, 2)})};
  EXPECT_THAT(make_matrix(batches, {}).columns, ElementsAre("2", "16")) << "by size";
}

TEST(Matrix, what_differs_beside_both_axes_is_part_of_a_rows_name) {
  const std::vector<Matrix::Run> runs{
      run_of("1", "old", {timed_model("lenet", 1.0, 1), timed_model("lenet", 2.0, 8)}),
      run_of("2", "new", {timed_model("lenet", 3.0, 8, "bf16")})};
  const Matrix matrix = make_matrix(runs, {});
  EXPECT_THAT(names_of(matrix),
              ElementsAre("lenet, batch 1, f32", "lenet, batch 8, f32", "lenet, batch 8, bf16"));
  for (const Matrix::Row& row : matrix.rows) {
    EXPECT_EQ(row.cells.at(0).runs + row.cells.at(1).runs, 1U) << row.name;
  }
}

TEST(Matrix, threads_that_differ_with_the_stack_are_still_told_apart) {
  std::vector<Matrix::Run> runs{run_of("1", "old", {timed_model("lenet", 1.0)}),
                                run_of("2", "new", {timed_model("lenet", 2.0)})};
  runs[1].header.environment.identity["threads"] = "4";
  EXPECT_THAT(names_of(make_matrix(runs, {.columns = Axis::kStack})),
              ElementsAre("lenet, 1 thread", "lenet, 4 threads"));
}

TEST(Matrix, a_stack_that_only_one_system_has_belongs_to_the_system_and_is_told) {
  std::vector<Matrix::Run> runs{run_of("1", "default", {timed_model("lenet", 1.0)}),
                                run_of("2", "default", {timed_model("lenet", 2.0)})};
  runs[1].header.environment.identity["cpu.model"] = "B CPU, family 7, model 1, stepping 1";
  runs[1].header.environment.identity["library"] = "newer";
  const Matrix matrix = make_matrix(runs, {.columns = Axis::kSystem});
  EXPECT_THAT(matrix.columns, ElementsAre("A CPU", "B CPU"));
  EXPECT_THAT(names_of(matrix), ElementsAre("lenet"));
  EXPECT_THAT(matrix.along, ElementsAre(Axis::kStack));
}

TEST(Matrix, stacks_and_systems_of_one_name_are_told_apart_by_what_differs) {
  std::vector<Matrix::Run> runs{run_of("1", "default", {timed_model("lenet", 1.0)}),
                                run_of("2", "default", {timed_model("lenet", 2.0)}),
                                run_of("3", "default", {timed_model("lenet", 3.0)})};
  runs[0].header.environment.identity["library"] = "onednn-3.1";
  runs[1].header.environment.identity["library"] = "onednn-3.2";
  runs[2].header.environment.identity["library"] = "onednn-3.2";
  const Matrix matrix = make_matrix(runs, {});
  EXPECT_THAT(matrix.columns,
              ElementsAre("default (library onednn-3.1)", "default (library onednn-3.2)"));
  EXPECT_EQ(matrix.rows.at(0).cells.at(1).runs, 2U);
  EXPECT_THAT(make_matrix(runs, {.only = {{Axis::kStack, {"default"}}}}).columns.size(), 2U);
}

TEST(Matrix, equal_gpus_are_one_system_and_one_stack) {
  std::vector<Matrix::Run> runs{run_of("1", "gpu", {timed_model("lenet", 1.0)}),
                                run_of("2", "gpu", {timed_model("lenet", 2.0)})};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i].header.environment.identity["gpu"] = "A GPU";
    runs[i].header.environment.identity["gpu.uuid"] = "GPU-" + std::to_string(i);
  }
  for (const Axis axis : {Axis::kStack, Axis::kSystem}) {
    const Matrix matrix = make_matrix(runs, {.columns = axis});
    ASSERT_EQ(matrix.columns.size(), 1U);
    EXPECT_EQ(matrix.rows.at(0).cells.at(0).runs, 2U);
  }
}

TEST(Matrix, a_cell_without_a_value_says_why_and_is_never_zero) {
  ModelResults layers_only = timed_model("alexnet", 1.0);
  layers_only.executions.clear();
  const std::vector<Matrix::Run> runs{
      run_of("1",
             "old",
             {timed_model("lenet", 1.0),
              failed_model("vgg", results::Outcome::Kind::kCrashed, "signal 11"),
              layers_only}),
      run_of("2", "new", {timed_model("lenet", 1.0)})};
  const Matrix matrix = make_matrix(runs, {});
  ASSERT_THAT(names_of(matrix), ElementsAre("lenet", "vgg", "alexnet"));
  const Matrix::Cell& crashed = matrix.rows[1].cells[0];
  EXPECT_EQ(crashed.missing.kind, Matrix::Value::Missing::Kind::kFailed);
  EXPECT_EQ(crashed.missing.word, "crashed");
  EXPECT_THAT(crashed.missing.reason, HasSubstr("signal 11"));
  const Matrix::Cell& absent = matrix.rows[1].cells[1];
  EXPECT_EQ(absent.missing.kind, Matrix::Value::Missing::Kind::kNotInSuite);
  EXPECT_THAT(absent.missing.reason, HasSubstr("s of run 2"));
  const Matrix::Cell& unexecuted = matrix.rows[2].cells[0];
  EXPECT_EQ(unexecuted.missing.kind, Matrix::Value::Missing::Kind::kNotExecuted);
  EXPECT_EQ(unexecuted.missing.mode, "plain");
  EXPECT_EQ(unexecuted.missing.run, 0U);
  EXPECT_EQ(unexecuted.missing.instance->model, "alexnet");
}

TEST(Matrix, over_random_runs_a_cell_has_a_positive_value_or_a_reason_and_no_value_is_lost) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 60; ++round) {
    std::vector<Matrix::Run> runs;
    std::size_t timed = 0;
    const int count = 1 + static_cast<int>(random() % 4);
    for (int i = 0; i < count; ++i) {
      std::vector<ModelResults> models;
      for (const char* const name : {"a", "b", "c"}) {
        const auto batch = static_cast<std::int64_t>(1 + random() % 2);
        switch (random() % 3) {
          case 0:
            models.push_back(
                timed_model(name, 1e-6 * static_cast<double>(1 + random() % 999), batch));
            ++timed;
            break;
          case 1:
            models.push_back(
                failed_model(name, results::Outcome::Kind::kOutOfMemory, "no memory", batch));
            break;
          default:
            break;
        }
      }
      if (models.empty()) {
        models.push_back(timed_model("a", 1.0));
        ++timed;
      }
      runs.push_back(run_of(std::to_string(i + 1), i % 2 == 0 ? "x" : "y", std::move(models)));
    }
    const Matrix matrix = make_matrix(runs, {});
    std::size_t found = 0;
    for (const Matrix::Row& row : matrix.rows) {
      ASSERT_EQ(row.cells.size(), matrix.columns.size());
      for (const Matrix::Cell& cell : row.cells) {
        found += cell.runs;
        if (cell.value) {
          EXPECT_GT(cell.value->value, 0.0);
        } else {
          EXPECT_FALSE(cell.missing.word.empty());
          EXPECT_FALSE(cell.missing.reason.empty());
        }
      }
    }
    EXPECT_EQ(found, timed);
  }
}

TEST(Matrix, several_runs_of_a_cell_give_the_middle_or_the_newest) {
  const std::vector<Matrix::Run> runs{run_of("3", "x", {timed_model("lenet", 9.0)}),
                                      run_of("1", "x", {timed_model("lenet", 1.0)}),
                                      run_of("2", "x", {timed_model("lenet", 2.0)})};
  const Matrix middle = make_matrix(runs, {});
  EXPECT_TRUE(middle.shared);
  EXPECT_DOUBLE_EQ(middle.rows.at(0).cells.at(0).value->value, 2.0);
  EXPECT_EQ(middle.rows.at(0).cells.at(0).runs, 3U);
  const Matrix newest = make_matrix(runs, {.shared = Matrix::Query::SharedCells::kNewest});
  EXPECT_DOUBLE_EQ(newest.rows.at(0).cells.at(0).value->value, 9.0);
}

TEST(Matrix, the_newest_run_counts_though_it_failed_and_the_middle_tells_of_it) {
  const std::vector<Matrix::Run> runs{
      run_of("1", "x", {timed_model("lenet", 1.0)}),
      run_of("2", "x", {failed_model("lenet", results::Outcome::Kind::kTimedOut, "60 s")})};
  EXPECT_FALSE(make_matrix(runs, {.shared = Matrix::Query::SharedCells::kNewest})
                   .rows.at(0)
                   .cells.at(0)
                   .value);
  const Matrix::Cell cell = make_matrix(runs, {}).rows.at(0).cells.at(0);
  EXPECT_DOUBLE_EQ(cell.value->value, 1.0);
  EXPECT_EQ(cell.left_out, 1U);
  EXPECT_THAT(cell.missing.reason, HasSubstr("60 s"));
}

TEST(Matrix, relative_to_a_column_divides_by_it_and_says_where_it_has_no_value) {
  const std::vector<Matrix::Run> runs{
      run_of("1", "x", {timed_model("lenet", 2.0)}),
      run_of("2", "y", {timed_model("lenet", 3.0), timed_model("vgg", 1.0)})};
  const Matrix matrix = make_matrix(runs, {.relative_to = "x"});
  EXPECT_DOUBLE_EQ(matrix.rows.at(0).cells.at(0).value->value, 1.0);
  EXPECT_FALSE(matrix.rows.at(0).cells.at(0).value->low) << "1 by definition";
  EXPECT_DOUBLE_EQ(matrix.rows.at(0).cells.at(1).value->value, 1.5);
  EXPECT_EQ(matrix.rows.at(1).cells.at(1).missing.kind, Matrix::Value::Missing::Kind::kNoReference);
  EXPECT_THAT(matrix.rows.at(1).cells.at(1).missing.reason, HasSubstr("x has no value"));
  EXPECT_EQ(make_matrix(runs, {.relative_to = kFirstColumn}).reference, 0U);
  EXPECT_THROW(static_cast<void>(make_matrix(runs, {.relative_to = "z"})), Error);
}

TEST(Matrix, bounds_of_a_stack_hold_for_its_system_and_threads) {
  const auto bounded = [](double seconds, double bound) {
    ModelResults model = timed_model("lenet", seconds);
    model.bounds = {{results::BoundKind::kLibrary, "plain", true, Estimate{bound, {}, {}}}};
    return model;
  };
  std::vector<Matrix::Run> runs{run_of("1", "ours", {bounded(3.0, 1.0)}),
                                run_of("3", "ours", {bounded(3.0, 2.0)}),
                                run_of("2", "ours", {bounded(3.0, 1.5)}),
                                run_of("4", "theirs", {bounded(6.0, 5.0), timed_model("vgg", 1.0)}),
                                run_of("5", "theirs", {bounded(6.0, 5.0)})};
  runs.back().header.environment.identity["threads"] = "2";
  const Matrix::Query query{.quantity = Quantity::kGap,
                            .columns = Axis::kStack,
                            .only = {{Axis::kStack, {"theirs"}}},
                            .bounds_of = "ours"};
  const Matrix matrix = make_matrix(runs, query);
  std::map<std::string, Matrix::Cell> cells;
  for (const Matrix::Row& row : matrix.rows) {
    cells[row.name] = row.cells.at(0);
  }
  EXPECT_DOUBLE_EQ(cells.at("lenet, 1 thread").value->value, 3.0) << "the newest of three bounds";
  EXPECT_EQ(cells.at("lenet, 2 threads").missing.kind, Matrix::Value::Missing::Kind::kNoBound);
  EXPECT_EQ(cells.at("vgg, 1 thread").missing.kind, Matrix::Value::Missing::Kind::kNoBound);
  EXPECT_THROW(static_cast<void>(make_matrix(runs, {.bounds_of = "absent"})), Error);
}

TEST(Matrix, mean_of_ratios_is_over_own_rows_and_over_common_ones) {
  const std::vector<Matrix::Run> runs{
      run_of("1", "x", {timed_model("a", 1.0), timed_model("b", 1.0), timed_model("c", 1.0)}),
      run_of("2", "y", {timed_model("a", 2.0), timed_model("b", 4.0), timed_model("c", 8.0)}),
      run_of("3", "z", {timed_model("a", 2.0), timed_model("b", 0.5)})};
  const Matrix matrix = make_matrix(runs, {.relative_to = "x"});
  EXPECT_DOUBLE_EQ(matrix.means.at(1).own->mean, 4.0);
  EXPECT_EQ(matrix.means.at(1).own->n, 3U);
  EXPECT_NEAR(matrix.means.at(1).common->mean, std::sqrt(8.0), 1e-12);
  EXPECT_EQ(matrix.means.at(1).common->n, 2U);
  EXPECT_NEAR(matrix.means.at(2).own->mean, 1.0, 1e-12);
  const Matrix times = make_matrix(runs, {});
  EXPECT_FALSE(times.means.at(1).own) << "times of unlike rows are not averaged";
  EXPECT_EQ(times.means.at(1).common->n, 2U);
  EXPECT_FALSE(times.means.at(1).common->low) << "their spread is that of the models' sizes";
}

TEST(Matrix, mean_ratio_does_not_depend_on_which_column_is_the_reference) {
  std::mt19937_64 random(9);
  std::lognormal_distribution<double> draw(0.0, 1.0);
  for (int round = 0; round < 20; ++round) {
    std::vector<ModelResults> one;
    std::vector<ModelResults> other;
    for (int i = 0; i < 6; ++i) {
      one.push_back(timed_model("m" + std::to_string(i), draw(random)));
      other.push_back(timed_model("m" + std::to_string(i), draw(random)));
    }
    const std::vector<Matrix::Run> runs{run_of("1", "x", one), run_of("2", "y", other)};
    const double forward = make_matrix(runs, {.relative_to = "x"}).means.at(1).own->mean;
    const double backward = make_matrix(runs, {.relative_to = "y"}).means.at(0).own->mean;
    EXPECT_NEAR(forward * backward, 1.0, 1e-12);
  }
}

TEST(Matrix, mean_over_models_counts_them_and_tells_of_those_without_a_value) {
  const std::vector<Matrix::Run> runs{
      run_of("1",
             "x",
             {timed_model("a", 1.0, 1),
              timed_model("b", 4.0, 1),
              timed_model("a", 3.0, 8),
              failed_model("b", results::Outcome::Kind::kOutOfMemory, "too large", 8)})};
  const Matrix matrix = make_matrix(runs, {.columns = Axis::kBatch, .mean_over_models = true});
  EXPECT_THAT(names_of(matrix), ElementsAre("A CPU"));
  EXPECT_DOUBLE_EQ(matrix.rows.at(0).cells.at(0).value->value, 2.0);
  EXPECT_EQ(matrix.rows.at(0).cells.at(0).models, 2U);
  EXPECT_EQ(matrix.rows.at(0).cells.at(1).models, 1U);
  EXPECT_EQ(matrix.rows.at(0).cells.at(1).left_out, 1U);
  EXPECT_THROW(
      static_cast<void>(make_matrix(runs, {.rows = Axis::kModel, .mean_over_models = true})),
      Error);
}

TEST(Matrix, a_run_that_cannot_be_read_says_so_in_its_cells) {
  std::vector<Matrix::Run> runs{run_of("1", "x", {timed_model("a", 1.0)}),
                                run_of("2", "y", {timed_model("a", 1.0)})};
  runs[1].problem = "run 2: its graph has changed";
  const Matrix::Cell cell = make_matrix(runs, {}).rows.at(0).cells.at(1);
  EXPECT_EQ(cell.missing.kind, Matrix::Value::Missing::Kind::kNotAnalysed);
  EXPECT_THAT(cell.missing.reason, HasSubstr("graph has changed"));
}

TEST(Matrix, wrong_choices_are_refused_with_what_there_is) {
  const std::vector<Matrix::Run> runs{run_of("1", "x", {timed_model("a", 1.0, 4)})};
  try {
    static_cast<void>(make_matrix(runs, {.only = {{Axis::kBatch, {"1"}}}}));
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("there are 4"));
  }
  EXPECT_THROW(
      static_cast<void>(make_matrix(runs, {.rows = Axis::kStack, .columns = Axis::kStack})), Error);
  EXPECT_THROW(static_cast<void>(make_matrix(std::vector<Matrix::Run>{run_of("1", "x", {})}, {})),
               Error);
}

TEST(Matrix, extents_of_a_model_are_named_where_they_differ) {
  ModelResults small = timed_model("bert", 1.0);
  small.instance.dims = {{"sequence", 64}};
  ModelResults large = timed_model("bert", 2.0);
  large.instance.dims = {{"sequence", 128}};
  const std::vector<Matrix::Run> runs{run_of("1", "x", {small, large})};
  EXPECT_THAT(make_matrix(runs, {.rows = Axis::kModel, .columns = Axis::kStack}).rows.size(), 2U);
  EXPECT_THAT(names_of(make_matrix(runs, {.rows = Axis::kModel, .columns = Axis::kStack})),
              ElementsAre("bert, sequence 64", "bert, sequence 128"));
  EXPECT_EQ(
      make_matrix(
          runs, {.rows = Axis::kModel, .columns = Axis::kStack, .only = {{Axis::kModel, {"bert"}}}})
          .rows.size(),
      2U);
}

}  // namespace
}  // namespace plumb::analysis
