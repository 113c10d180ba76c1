// SPDX-License-Identifier: Apache-2.0
#include "reporting/prometheus/open_metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "harness/base/error.hpp"

namespace plumb::reporting {
namespace {

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\' || c == '"') {
      result += '\\';
    }
    result += c == '\n' ? "\\n" : std::string(1, c);
  }
  return result;
}

std::string labels_text(const MetricLabels& common, const MetricLabels& own) {
  std::string text;
  for (const MetricLabels* labels : {&common, &own}) {
    for (const auto& label : *labels) {
      text +=
          fmt::format("{}{}=\"{}\"", text.empty() ? "{" : ",", label.name, escaped(label.value));
    }
  }
  return text.empty() ? text : text + "}";
}

void refuse_double(const MetricLabels& common, const std::string& name, const MetricLabels& own) {
  for (const auto& label : own) {
    if (std::any_of(common.begin(), common.end(), [&](const auto& each) {
          return each.name == label.name;
        })) {
      throw Error(
          Error::Kind::kUser,
          fmt::format(
              "{} already has a label '{}': give a label with another name", name, label.name));
    }
  }
}

}  // namespace

void OpenMetricsHistory::add(std::span<const SuiteMetrics> suites,
                             Timestamp from,
                             Timestamp until) {
  metric_families(suites, [&](prometheus::MetricFamily&& family) { add(family, from, until); });
}

void OpenMetricsHistory::add(std::span<const HostMetrics> hosts, Timestamp from, Timestamp until) {
  for (const prometheus::MetricFamily& family : host_families(hosts)) {
    add(family, from, until);
  }
}

void OpenMetricsHistory::add(const prometheus::MetricFamily& given,
                             Timestamp from,
                             Timestamp until) {
  const auto [place, added] = families_.try_emplace(given.name);
  Family& family = place->second;
  if (added) {
    order_.push_back(given.name);
    family.help = given.help;
  }
  for (const prometheus::ClientMetric& metric : given.metric) {
    refuse_double(common_, given.name, metric.label);
    family.series[labels_text(common_, metric.label)].push_back({from, until, metric.gauge.value});
  }
}

std::size_t OpenMetricsHistory::write(std::ostream& out,
                                      std::optional<std::chrono::microseconds> step) {
  std::size_t samples = 0;
  for (const std::string& name : order_) {
    Family& family = families_.at(name);
    out << fmt::format("# HELP {} {}\n# TYPE {} gauge\n", name, family.help, name);
    for (auto& [labels, points] : family.series) {
      std::stable_sort(points.begin(), points.end(), [](const Point& one, const Point& other) {
        return one.from < other.from;
      });
      for (std::size_t i = 0; i < points.size(); ++i) {
        const Point& point = points[i];
        if (i + 1 < points.size() && points[i + 1].from == point.from) {
          continue;  // Two runs ended at one moment: a series has one value at a time.
        }
        Timestamp end = std::max(point.until, point.from + std::chrono::microseconds(1));
        if (i + 1 < points.size()) {
          end = std::min(end, points[i + 1].from);
        }
        Timestamp at = point.from;
        do {
          out << fmt::format("{}{} {} {:.3f}\n", name, labels, point.value, unix_seconds(at));
          ++samples;
        } while (step && (at += *step) < end);
      }
    }
  }
  out << "# EOF\n";
  return samples;
}

}  // namespace plumb::reporting
