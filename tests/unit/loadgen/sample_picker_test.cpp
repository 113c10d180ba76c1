// SPDX-License-Identifier: Apache-2.0
// The numbers were recorded from MLCommons' LoadGen 6.0.17: a data set of 60 samples, 50 of them
// loaded, and the seeds of round v6.1. tests/integration/mlperf_logs_test.py compares with the
// LoadGen that is installed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/loadgen/load_generator.hpp"

namespace plumb::loadgen {
namespace {

using Indices = std::vector<std::uint64_t>;
using testing::ElementsAre;

EffectiveLoad load_of(RequestedLoad::Scenario scenario,
                      RequestedLoad::Mode mode,
                      std::uint64_t samples_per_query) {
  EffectiveLoad load;
  load.scenario = scenario;
  load.mode = mode;
  load.samples_per_query = samples_per_query;
  load.total_samples = 60;
  load.loaded_samples = 50;
  load.seeds = kMlperfSeeds;
  return load;
}

/// Picks `count` samples.
Indices picks(const EffectiveLoad& load, std::size_t count) {
  SamplePicker picker(load);
  Indices all;
  for (Indices query; all.size() < count;) {
    picker.pick(query);
    if (query.empty()) {
      break;
    }
    all.insert(all.end(), query.begin(), query.end());
  }
  all.resize(std::min(count, all.size()));
  return all;
}

TEST(SamplePicker, loads_the_set_that_loadgen_loads) {
  const Indices set =
      sample_set(load_of(RequestedLoad::Scenario::kServer, RequestedLoad::Mode::kPerformance, 1));
  EXPECT_EQ(set, (Indices{1,  5,  13, 44, 11, 37, 12, 36, 15, 33, 17, 42, 26, 38, 29, 9,  25,
                          6,  7,  41, 3,  22, 27, 20, 23, 40, 49, 32, 34, 46, 48, 24, 31, 4,
                          35, 21, 2,  47, 18, 19, 16, 45, 0,  39, 30, 8,  28, 43, 10, 14}));
}

TEST(SamplePicker, draws_what_loadgen_draws) {
  const Indices drawn{0, 6, 21, 23, 2, 34, 39, 40, 45, 41, 8, 12, 1, 24, 8, 26, 3, 39, 2, 47};
  EXPECT_EQ(
      picks(load_of(RequestedLoad::Scenario::kSingleStream, RequestedLoad::Mode::kPerformance, 1),
            20),
      drawn);
  EXPECT_EQ(
      picks(load_of(RequestedLoad::Scenario::kServer, RequestedLoad::Mode::kPerformance, 1), 20),
      drawn);
  EXPECT_EQ(
      picks(load_of(RequestedLoad::Scenario::kMultiStream, RequestedLoad::Mode::kPerformance, 8),
            30),
      (Indices{49, 32, 34, 46, 48, 24, 31, 4,  21, 2, 47, 18, 19, 16, 45,
               0,  4,  35, 21, 2,  47, 18, 19, 16, 7, 41, 3,  22, 27, 20}));
  EXPECT_THAT(
      picks(load_of(RequestedLoad::Scenario::kOffline, RequestedLoad::Mode::kPerformance, 55), 5),
      ElementsAre(1, 5, 13, 44, 11));
}

TEST(SamplePicker, offline_goes_round_the_set) {
  const EffectiveLoad load =
      load_of(RequestedLoad::Scenario::kOffline, RequestedLoad::Mode::kPerformance, 55);
  const Indices picked = picks(load, 110);
  const Indices set = sample_set(load);
  for (std::size_t i = 0; i < picked.size(); ++i) {
    EXPECT_EQ(picked[i], set[i % 50]) << i;
  }
}

TEST(SamplePicker, accuracy_asks_in_loadgens_order) {
  // LoadGen loaded all of a data set of 50 samples.
  const auto of = [](RequestedLoad::Scenario scenario, std::uint64_t samples_per_query) {
    EffectiveLoad load = load_of(scenario, RequestedLoad::Mode::kAccuracy, samples_per_query);
    load.total_samples = 50;
    return picks(load, 60);
  };
  const Indices single = of(RequestedLoad::Scenario::kSingleStream, 1);
  ASSERT_EQ(single.size(), 50U);
  EXPECT_EQ(Indices(single.begin(), single.begin() + 10),
            (Indices{28, 6, 12, 37, 21, 34, 11, 41, 23, 29}));
  EXPECT_EQ(of(RequestedLoad::Scenario::kServer, 1), single);
  EXPECT_EQ(of(RequestedLoad::Scenario::kOffline, 50),
            sample_set(
                load_of(RequestedLoad::Scenario::kOffline, RequestedLoad::Mode::kPerformance, 50)));
  const Indices multi = of(RequestedLoad::Scenario::kMultiStream, 8);
  ASSERT_EQ(multi.size(), 50U) << "LoadGen asks some again, to fill the query that is cut here";
  EXPECT_EQ(Indices(multi.begin(), multi.begin() + 10),
            (Indices{10, 14, 25, 6, 7, 41, 3, 22, 27, 20}));
}

}  // namespace
}  // namespace plumb::loadgen
