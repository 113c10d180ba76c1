// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "harness/base/error.hpp"
#include "harness/worker/protocol/worker_service.hpp"

namespace plumb::worker {
namespace {

using Names = std::vector<std::string>;

TEST(MetricNames, stand_between_commas) {
  EXPECT_EQ(parse_metric_names("sm__inst_executed.sum,lts__t_sector_hit_rate.pct"),
            (Names{"sm__inst_executed.sum", "lts__t_sector_hit_rate.pct"}));
}

TEST(MetricNames, refuses_what_is_none) {
  std::string many = "m.sum";
  for (std::size_t i = 0; i < kMaxMetrics; ++i) {
    many += ",m" + std::to_string(i) + ".sum";
  }
  for (const std::string& text : {std::string(),
                                  std::string(","),
                                  std::string("a.sum,,b.sum"),
                                  std::string("sm__inst_executed"),
                                  std::string("a.sum,a.sum"),
                                  std::string("a b.sum"),
                                  std::string("a-b.sum"),
                                  std::string("<b>.sum"),
                                  std::string("a.sum\n"),
                                  std::string(65, 'a') + ".sum",
                                  many}) {
    EXPECT_THROW(static_cast<void>(parse_metric_names(text)), Error) << text;
  }
}

}  // namespace
}  // namespace plumb::worker
