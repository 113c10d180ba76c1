// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "harness/results/run.hpp"

namespace plumb::results {
namespace {

// printf 'cpu.model=Xeon\nthreads=1\n' | sha256sum
TEST(Environment, id_is_the_hash_of_the_identity_lines) {
  const Environment environment{{{"threads", "1"}, {"cpu.model", "Xeon"}}, {}};
  EXPECT_EQ(environment.id(), "4922efb7137386db");
}

TEST(Environment, facts_do_not_change_the_id) {
  const Environment bare{{{"threads", "1"}}, {}};
  const Environment with_facts{{{"threads", "1"}}, {{"kernel", "6.1"}}};
  EXPECT_EQ(bare.id(), with_facts.id());
}

TEST(Environment, identity_changes_the_id) {
  const Environment one{{{"threads", "1"}}, {}};
  const Environment two{{{"threads", "2"}}, {}};
  EXPECT_NE(one.id(), two.id());
}

TEST(Environment, without_threads_there_is_one) {
  EXPECT_EQ(threads_of({{{"threads", "12"}}, {}}), 12);
  EXPECT_EQ(threads_of({{{"cpu.model", "Xeon"}}, {}}), 1);
  EXPECT_EQ(fact_of({{"kernel", "6.1"}}, "kernel"), "6.1");
  EXPECT_EQ(fact_of({{"kernel", "6.1"}}, "governor"), "");
}

TEST(Environment, the_device_is_the_gpu_before_the_processor) {
  Environment environment{{{"cpu.model", "A CPU"}}, {}};
  EXPECT_EQ(device_model(environment), "A CPU");
  environment.identity["gpu.model"] = "A GPU of NVBench";
  EXPECT_EQ(device_model(environment), "A GPU of NVBench");
  environment.identity["gpu"] = "A GPU";
  EXPECT_EQ(device_model(environment), "A GPU");
  EXPECT_EQ(device_model({}), "");
}

}  // namespace
}  // namespace plumb::results
