// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness/session/stored/run_analysis.hpp"
#include "tests/support/result_rows.hpp"
#include "tests/support/temporary_folder.hpp"

namespace plumb::session {
namespace {

/// A store of runs that measured one key with some threads on some processor.
class StoredScaling : public testing::Test {
 protected:
  results::RunHeader run(const std::string& threads,
                         double microseconds,
                         const std::string& cpu = "Xeon",
                         const std::string& gpu = "") {
    const std::string id = "01J" + std::string(22, '0') + std::to_string(count_++);
    results::RunHeader header = test::header(id, count_, cpu);
    header.environment.identity["threads"] = threads;
    if (!gpu.empty()) {
      header.environment.identity["gpu"] = gpu;
    }
    store_->begin_run(header);
    const std::vector<results::Measurement> rows{test::row(test::key(4), microseconds)};
    store_->append(id, rows);
    store_->finish_run(id, results::RunState::kFinished, header.started);
    return header;
  }

  [[nodiscard]] analysis::CoSchedule::Scaling scaling_of(const results::RunHeader& header) const {
    const std::vector<model::LayerKey> keys{test::key(4)};
    return read_scaling(*store_, header, keys);
  }

 private:
  TemporaryFolder folder_;
  std::unique_ptr<store::Store> store_ =
      store::open_store("sqlite:" + (folder_.path() / "store.db").string());
  int count_ = 0;
};

TEST_F(StoredScaling, joins_runs_that_differ_in_nothing_but_fewer_threads) {
  run("1", 9.0);
  run("2", 6.0);
  run("8", 3.0);
  run("1", 99.0, "EPYC");
  const analysis::CoSchedule::Scaling scaling = scaling_of(run("4", 4.0));
  EXPECT_EQ(scaling.processors(), 4U);
  ASSERT_EQ(scaling.by_threads().size(), 2U);
  const auto one = scaling.by_threads().at(1).best(test::key(4), results::CacheMode::kNone);
  EXPECT_NEAR(one->raw.median.count(), 9e-6, 1e-12);
  EXPECT_TRUE(scaling.by_threads().contains(2));
}

TEST_F(StoredScaling, takes_the_newest_times) {
  run("1", 9.0);
  run("1", 7.0);
  const analysis::CoSchedule::Scaling scaling = scaling_of(run("2", 4.0));
  const auto one = scaling.by_threads().at(1).best(test::key(4), results::CacheMode::kNone);
  EXPECT_NEAR(one->raw.median.count(), 7e-6, 1e-12);
}

TEST_F(StoredScaling, of_one_thread_is_empty) {
  run("1", 9.0);
  EXPECT_TRUE(scaling_of(run("1", 8.0)).empty());
  EXPECT_EQ(scaling_of(run("many", 8.0)).processors(), 1U);
}

TEST_F(StoredScaling, of_a_gpu_is_empty) {
  run("1", 9.0, "Xeon", "H200");
  EXPECT_TRUE(scaling_of(run("2", 9.0, "Xeon", "H200")).empty());
}

}  // namespace
}  // namespace plumb::session
