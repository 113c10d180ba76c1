// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/store/hosts_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "reporting/content/store/store_pages.hpp"
#include "reporting/document/quantity_text.hpp"
#include "reporting/formats/html_page.hpp"

namespace plumb::reporting {
namespace {

constexpr std::size_t kHostsShown = 1000;

/// Writes a control's time, and how it lies to that of the class.
std::string control_text(const HostMetrics& host, Seconds results::Controls::*time) {
  const Seconds own = host.health.newest.controls.*time;
  if (!host.health.of_class) {
    return time_text(own);
  }
  return fmt::format(
      "{} ({:+.1f} %)", time_text(own), 100.0 * (own / ((*host.health.of_class).*time) - 1.0));
}

PageCell state_cell(const HostMetrics& host) {
  if (!host.health.of_class) {
    return text_cell("too few runs to tell");
  }
  return host.health.drift.empty() ? text_cell("in its class")
                                   : word_cell("left its class", Tone::kWarning);
}

PageRow host_row(const HostMetrics& host, Timestamp now) {
  const analysis::HostReading& newest = host.health.newest;
  return {
      text_cell(newest.controls.host.empty() ? "–" : newest.controls.host),
      text_cell(host.device),
      text_cell(newest.of.backend),
      text_cell(newest.of.threads.empty() ? "–" : newest.of.threads),
      code_cell(newest.of.system),
      link_cell(host.suite, run_address(newest.run)),
      text_cell(host.stack),
      number_cell(age_text(newest.finished.value_or(newest.started), now)),
      number_cell(control_text(host, &results::Controls::product)),
      number_cell(control_text(host, &results::Controls::copy)),
      number_cell(host.health.noise ? fmt::format("{:.2f} %", 100.0 * *host.health.noise) : "–"),
      state_cell(host)};
}

}  // namespace

void write_hosts_page(std::span<const HostMetrics> hosts, Timestamp now, std::ostream& out) {
  HtmlPage page("Hosts");
  page.link("all models and runs", "/");
  std::vector<const HostMetrics*> sorted;
  for (const HostMetrics& host : hosts) {
    sorted.push_back(&host);
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto* one, const auto* other) {
    return !one->health.drift.empty() && other->health.drift.empty();
  });
  for (const HostMetrics* const host : sorted) {
    if (host->health.drift.empty()) {
      break;
    }
    page.verdict(
        fmt::format("{} left its class.", host->health.newest.controls.host),
        fmt::format("Beside the class, {}. Its runs are not compared.", host->health.drift),
        Tone::kWarning);
  }
  if (sorted.empty()) {
    page.paragraph("No finished run has measured the controls of its host.");
    page.write(out);
    return;
  }
  std::vector<PageRow> rows;
  for (std::size_t i = 0; i < std::min(sorted.size(), kHostsShown); ++i) {
    rows.push_back(host_row(*sorted[i], now));
  }
  page.table({text_cell("host"),
              text_cell("device"),
              text_cell("backend"),
              text_cell("threads"),
              text_cell("system"),
              text_cell("newest run"),
              text_cell("stack"),
              number_cell("age"),
              number_cell("control product"),
              number_cell("control copy"),
              number_cell("noise"),
              text_cell("controls")},
             rows);
  if (sorted.size() > kHostsShown) {
    page.paragraph(fmt::format("and {} others: see the metrics", sorted.size() - kHostsShown));
  }
  page.write(out);
}

}  // namespace plumb::reporting
