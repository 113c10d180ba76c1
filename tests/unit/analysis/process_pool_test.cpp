// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "harness/analysis/bounds/model_bounds.hpp"
#include "harness/analysis/bounds/result_set.hpp"
#include "harness/results/measurement.hpp"
#include "tests/support/result_rows.hpp"

namespace plumb::analysis {
namespace {

using ::testing::ElementsAre;

measure::SampleSummary summary_of(double median) {
  measure::SampleSummary summary;
  summary.n = 10;
  summary.median = summary.p90 = summary.mean = Seconds(median);
  summary.interval = {Seconds(0.999 * median), Seconds(1.001 * median)};
  summary.min = Seconds(0.99 * median);
  return summary;
}

TEST(ProcessPool, makes_the_interval_of_processes_however_many_samples_each_took) {
  std::vector<measure::SampleSummary> processes{
      summary_of(1.00), summary_of(1.02), summary_of(0.98), summary_of(1.04), summary_of(0.96)};
  const measure::SampleSummary pooled = pool_processes(processes);
  EXPECT_EQ(pooled.n, 50U);
  EXPECT_DOUBLE_EQ(pooled.median.count(), 1.0);
  EXPECT_DOUBLE_EQ(pooled.min.count(), 0.99 * 0.96);
  // Student's t of four degrees, 2.776, times the deviation, 0.0316, over the root of five.
  EXPECT_NEAR(pooled.interval.high.count() - 1.0, 0.03926, 1e-4);
  for (measure::SampleSummary& process : processes) {
    process.n *= 100;
  }
  EXPECT_DOUBLE_EQ(pool_processes(processes).interval.high.count(), pooled.interval.high.count());
}

TEST(ProcessPool, spans_the_intervals_of_two_and_leaves_one_alone) {
  const std::vector<measure::SampleSummary> two{summary_of(1.0), summary_of(1.2)};
  EXPECT_DOUBLE_EQ(pool_processes(two).interval.low.count(), 0.999);
  EXPECT_DOUBLE_EQ(pool_processes(two).interval.high.count(), 1.2 * 1.001);
  EXPECT_DOUBLE_EQ(pool_processes({two.data(), 1}).interval.high.count(), 1.001);
}

/// Makes rows of one variant in given processes.
class Rows {
 public:
  results::StoredMeasurement& add(results::Purpose purpose, std::int64_t process, double median) {
    results::StoredMeasurement row;
    row.row = static_cast<results::RowId>(rows_.size()) + 1;
    row.measurement = test::row(test::key(1), median, "impl=a", purpose);
    row.measurement.process = process;
    rows_.push_back(row);
    return rows_.back();
  }
  [[nodiscard]] std::vector<std::int64_t> deciding() const {
    std::vector<const results::StoredMeasurement*> rows;
    for (const results::StoredMeasurement& row : rows_) {
      rows.push_back(&row);
    }
    std::vector<std::int64_t> processes;
    for (const results::StoredMeasurement* row :
         deciding_rows(rows, "impl=a", results::CacheMode::kNone)) {
      processes.push_back(row->measurement.process);
    }
    return processes;
  }
  std::vector<results::StoredMeasurement>& all() { return rows_; }

 private:
  std::vector<results::StoredMeasurement> rows_;
};

TEST(ProcessPool, lets_confirming_and_quiet_rows_decide) {
  Rows rows;
  rows.add(results::Purpose::kFull, 1, 0.9);
  EXPECT_THAT(rows.deciding(), ElementsAre(1));
  rows.add(results::Purpose::kConfirm, 2, 1.0);
  rows.add(results::Purpose::kConfirm, 3, 1.0);
  rows.add(results::Purpose::kConfirm, 4, 1.3).measurement.disturbance.disturbed = true;
  EXPECT_THAT(rows.deciding(), ElementsAre(2, 3)) << "a full row won a race: it looks too good";
}

TEST(ProcessPool, leaves_out_what_a_slowed_down_host_measured) {
  Rows rows;
  for (std::int64_t process = 1; process <= 4; ++process) {
    const double pace = process == 3 ? 1.4e-5 : 1.02e-5;
    rows.add(results::Purpose::kConfirm, process, 1.0).measurement.readings[results::kHostPace] = {
        pace, 1.0e-5 * (process == 3 ? 1.35 : 1.0), pace, 2};
  }
  ModelExecutions none;
  const auto fastest = fastest_pace(rows.all(), none);
  ASSERT_TRUE(fastest.has_value());
  EXPECT_DOUBLE_EQ(*fastest, 1.0e-5);
  mark_slow_host(*fastest, rows.all(), none);
  EXPECT_THAT(rows.deciding(), ElementsAre(1, 2, 4));
  mark_slow_host(*fastest / 2.0, rows.all(), none);
  EXPECT_THAT(rows.deciding(), ElementsAre(1, 2, 3, 4))
      << "of a host that was slow all along the rows are kept, marked";
}

}  // namespace
}  // namespace plumb::analysis
