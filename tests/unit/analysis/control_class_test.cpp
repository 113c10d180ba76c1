// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>

#include "harness/analysis/history/run_series.hpp"

namespace plumb::analysis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const HostHealth::Class kClass{"5f0c", "onednn", "1", "5"};

HostHealth::Reading reading(const std::string& host,
                            double product,
                            double copy = 1.0,
                            const HostHealth::Class& of = kClass) {
  HostHealth::Reading result;
  result.of = of;
  result.run = host + std::to_string(product);
  result.controls = {Seconds(1e-7), Seconds(product), Seconds(copy), host};
  return result;
}

std::vector<HostHealth::Reading> readings(const std::string& host,
                                          std::size_t count,
                                          double product) {
  return std::vector<HostHealth::Reading>(count, reading(host, product));
}

TEST(ControlClass, needs_four_readings) {
  EXPECT_THAT(compute_class_controls(readings("a", 3, 1.0)), IsEmpty());
  const ClassControls classes = compute_class_controls(readings("a", 4, 2.0));
  ASSERT_THAT(classes, SizeIs(1));
  EXPECT_EQ(classes.at(kClass).product, Seconds(2.0));
}

TEST(ControlClass, is_the_median_over_the_hosts_however_often_one_runs) {
  std::vector<HostHealth::Reading> all = readings("busy", 100, 2.0);
  for (const char* const host : {"a", "b", "c"}) {
    const auto own = readings(host, kReadingsOfHost, 1.0);
    all.insert(all.end(), own.begin(), own.end());
  }
  EXPECT_EQ(compute_class_controls(all).at(kClass).product, Seconds(1.0));
}

TEST(ControlClass, other_hardware_and_other_threads_are_other_classes) {
  std::vector<HostHealth::Reading> all = readings("a", 4, 1.0);
  const HostHealth::Class threads{"5f0c", "onednn", "2", "5"};
  for (int i = 0; i < 4; ++i) {
    all.push_back(reading("a", 3.0, 1.0, threads));
  }
  const ClassControls classes = compute_class_controls(all);
  EXPECT_EQ(classes.at(kClass).product, Seconds(1.0));
  EXPECT_EQ(classes.at(threads).product, Seconds(3.0));
}

TEST(ControlClass, is_left_by_a_product_or_a_copy_beyond_the_limits) {
  const ClassControls classes = compute_class_controls(readings("a", 4, 1.0));
  EXPECT_THAT(find_class_drift(reading("a", 1.0999), classes), IsEmpty());
  EXPECT_THAT(find_class_drift(reading("a", 1.11), classes), HasSubstr("'product'"));
  EXPECT_THAT(find_class_drift(reading("a", 1.11), classes), HasSubstr("+11.0%"));
  EXPECT_THAT(find_class_drift(reading("a", 0.89), classes), HasSubstr("-11.0%"));
  EXPECT_THAT(find_class_drift(reading("a", 1.0, 1.19), classes), IsEmpty());
  EXPECT_THAT(find_class_drift(reading("a", 1.0, 1.21), classes), HasSubstr("'copy'"));
  EXPECT_THAT(find_class_drift(reading("a", 9.0, 9.0, {"other", "", "", ""}), classes), IsEmpty());
}

TEST(HostHealth, is_of_the_newest_run_of_each_host) {
  std::vector<HostHealth::Reading> all{reading("a", 1.5)};
  for (const char* const host : {"b", "a"}) {
    const auto own = readings(host, 5, 1.0);
    all.insert(all.end(), own.begin(), own.end());
  }
  const std::vector<HostHealth> hosts = compute_host_health(all, compute_class_controls(all));
  ASSERT_THAT(hosts, SizeIs(2));
  EXPECT_EQ(hosts[0].newest.controls.host, "a");
  EXPECT_THAT(hosts[0].drift, HasSubstr("+50.0%"));
  EXPECT_EQ(hosts[0].of_class->product, Seconds(1.0));
  // Six readings, of which one is ln 1.5 above the others: sqrt(x² (1 − 1/6) / 5).
  ASSERT_TRUE(hosts[0].noise);
  EXPECT_NEAR(*hosts[0].noise, std::log(1.5) / std::sqrt(6.0), 1e-12);
  EXPECT_THAT(hosts[1].drift, IsEmpty());
  EXPECT_EQ(hosts[1].noise, 0.0);
}

TEST(HostHealth, says_nothing_of_what_few_runs_cannot_tell) {
  const std::vector<HostHealth::Reading> all = readings("a", 3, 1.0);
  const std::vector<HostHealth> hosts = compute_host_health(all, compute_class_controls(all));
  ASSERT_THAT(hosts, SizeIs(1));
  EXPECT_FALSE(hosts[0].of_class);
  EXPECT_FALSE(hosts[0].noise);
  EXPECT_THAT(hosts[0].drift, IsEmpty());
  EXPECT_THAT(compute_host_health({}, {}), IsEmpty());
}

TEST(HostHealth, a_new_level_becomes_the_class_in_time) {
  std::vector<HostHealth::Reading> all = readings("a", 5, 1.5);
  const auto before = readings("a", 20, 1.0);
  all.insert(all.end(), before.begin(), before.end());
  const auto drift = [&] {
    return compute_host_health(all, compute_class_controls(all)).front().drift;
  };
  EXPECT_THAT(drift(), IsEmpty()) << "half of the newest ten";
  all.erase(all.begin());
  EXPECT_THAT(drift(), HasSubstr("+50.0%"));
}

}  // namespace
}  // namespace plumb::analysis
