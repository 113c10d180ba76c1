// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <prometheus/text_serializer.h>

#include <sstream>

#include "reporting/content/store/store_pages.hpp"
#include "reporting/prometheus/metric_families.hpp"
#include "tests/unit/reporting/sample_report.hpp"

namespace plumb::reporting {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

HostMetrics sample_host(const std::string& name = "gpu-07") {
  HostMetrics host;
  host.device = "Sample CPU";
  host.suite = "nightly";
  host.stack = "default";
  analysis::HostHealth::Reading& newest = host.health.newest;
  newest.of = {"5f0c", "onednn", "2", "5"};
  newest.run = "01JFKD2M4N5P6Q7R8S9T0VWXYZ";
  newest.started = parse_timestamp("2026-01-01T00:00:00Z");
  newest.finished = parse_timestamp("2026-01-01T00:30:00Z");
  newest.controls = {Seconds(1e-7), Seconds(0.002), Seconds(0.005), name};
  host.health.of_class = {Seconds(1e-7), Seconds(0.001), Seconds(0.005)};
  host.health.noise = 0.0125;
  host.health.drift = "the control 'product' took 0.001 s and 0.002 s, +100.0%";
  return host;
}

std::string exposition(const std::vector<HostMetrics>& hosts) {
  return prometheus::TextSerializer().Serialize(host_families(hosts));
}

std::string page(const std::vector<HostMetrics>& hosts) {
  std::ostringstream out;
  write_hosts_page(hosts, parse_timestamp("2026-01-01T02:30:00Z"), out);
  return out.str();
}

TEST(HostMetrics, a_host_has_its_age_controls_noise_and_drift) {
  const std::string labels =
      R"({host="gpu-07",backend="onednn",device="Sample CPU",threads="2",system="5f0c")";
  const std::string text = exposition({sample_host()});
  EXPECT_THAT(
      text,
      AllOf(HasSubstr("plumb_host_run_timestamp_seconds" + labels +
                      R"(,event="finished"} 1767227400)"),
            HasSubstr("plumb_host_control_seconds" + labels + R"(,control="product"} 0.002)"),
            HasSubstr("plumb_host_control_ratio" + labels + R"(,control="product"} 2)"),
            HasSubstr("plumb_host_control_ratio" + labels + R"(,control="copy"} 1)"),
            HasSubstr("plumb_host_noise_ratio" + labels + "} 0.0125"),
            HasSubstr("plumb_host_drifted" + labels + "} 1")));
  EXPECT_THAT(exposition({}), testing::IsEmpty());
}

TEST(HostMetrics, what_is_not_known_has_no_metric) {
  HostMetrics host = sample_host("");
  host.health.of_class.reset();
  host.health.noise.reset();
  host.health.drift.clear();
  const std::string text = exposition({host});
  EXPECT_THAT(text, HasSubstr(R"(plumb_host_control_seconds{backend="onednn")"));
  EXPECT_THAT(text,
              AllOf(Not(HasSubstr("host=")),
                    Not(HasSubstr("drifted")),
                    Not(HasSubstr("noise")),
                    Not(HasSubstr("ratio"))));
}

TEST(HostMetrics, no_two_metrics_have_the_same_labels) {
  HostMetrics other = sample_host();
  other.health.newest.of.method = "4";
  const std::string both = exposition({sample_host(), other});
  EXPECT_EQ(both, exposition({sample_host()}));
}

TEST(HostsPage, shows_each_host_and_first_those_that_left_their_class) {
  HostMetrics calm = sample_host("gpu-01");
  calm.health.drift.clear();
  calm.health.newest.controls.product = Seconds(0.001);
  const std::string text = page({calm, sample_host()});
  EXPECT_THAT(text, HasSubstr("gpu-07 left its class."));
  EXPECT_LT(text.find("<td>gpu-07</td>"), text.find("<td>gpu-01</td>"));
  EXPECT_THAT(text, HasSubstr("2.000 ms (+100.0 %)"));
  EXPECT_THAT(text, HasSubstr("<a href=\"/runs/01JFKD2M4N5P6Q7R8S9T0VWXYZ\">nightly</a>"));
  EXPECT_THAT(text, HasSubstr("<td class=\"number\">2 h</td>"));
  EXPECT_THAT(text, HasSubstr("1.25 %"));
  EXPECT_THAT(page({}), HasSubstr("No finished run has measured the controls"));
}

TEST(HostsPage, hostile_names_are_text) {
  HostMetrics host = sample_host(kHostileName);
  host.device = host.suite = host.stack = host.health.drift = kHostileName;
  const std::string text = page({host});
  EXPECT_THAT(text, Not(HasSubstr("<script")));
  EXPECT_THAT(text, HasSubstr("&lt;/script&gt;"));
}

}  // namespace
}  // namespace plumb::reporting
