// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <prometheus/text_serializer.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <ostream>
#include <vector>

#include "harness/analysis/report/run_kind.hpp"
#include "harness/base/error.hpp"
#include "harness/base/whole_file.hpp"
#include "harness/cli/command.hpp"
#include "harness/serve/push_gateway.hpp"
#include "harness/serve/run_history.hpp"

namespace plumb::cli {
namespace {

struct PushOptions {
  std::string run = "@latest";
  std::string gateway;
  std::string text_file;
  std::string job = "plumb";
  std::vector<std::string> grouping;
  std::size_t layers = 10;
};

/// Returns the state of a run's series after that run. Throws Error{kUser} if the run is not
/// finished.
reporting::SuiteMetrics state_after(const session::Archive& archive,
                                    const std::string& name,
                                    std::size_t layers) {
  const store::Store& store = archive.store;
  const results::RunRecord run = store.find_run(name);
  if (run.state != results::RunState::kFinished) {
    throw Error(Error::Kind::kUser,
                fmt::format("run {} is not finished, so there is nothing to push: continue it with "
                            "plumb run --resume",
                            run.header.id));
  }
  if (!analysis::is_point_of_history(run.header)) {
    throw Error(Error::Kind::kUser,
                fmt::format("run {} {}, so it has no series; push another run of `plumb run`",
                            run.header.id,
                            analysis::why_no_history(run.header)));
  }
  const analysis::RunSeries series = analysis::run_series_of(run.header);
  std::vector<results::RunRecord> runs = store.runs();
  const auto found = std::find_if(runs.begin(), runs.end(), [&](const results::RunRecord& each) {
    return each.header.id == run.header.id;
  });
  PLUMB_CHECK(found != runs.end());
  runs.erase(runs.begin(), found);
  std::erase_if(runs, [&](const results::RunRecord& each) {
    return analysis::run_series_of(each.header) != series;
  });
  return serve::RunHistory(layers).suites(archive, runs).at(0);
}

std::string text_of(const reporting::SuiteMetrics& suite, const std::string& version) {
  std::vector<prometheus::MetricFamily> families{reporting::build_info(version)};
  reporting::metric_families({&suite, 1}, [&](prometheus::MetricFamily&& family) {
    families.push_back(std::move(family));
  });
  return prometheus::TextSerializer().Serialize(families);
}

serve::GroupingKey grouping_of(const PushOptions& options, const analysis::RunSeries& series) {
  serve::GroupingKey key{{"job", options.job},
                         {"suite", series.suite},
                         {"backend", series.backend},
                         {"stack", series.stack},
                         {"threads", series.threads},
                         {"system", series.system}};
  for (const std::string& text : options.grouping) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    if (equals == std::string::npos || !serve::is_label_name(name)) {
      throw Error(Error::Kind::kUser,
                  fmt::format("'{}' is not a grouping label: write --grouping NAME=VALUE", text));
    }
    key.emplace_back(name, text.substr(equals + 1));
  }
  return key;
}

void push(const CommandContext& context, const PushOptions& options) {
  if (options.gateway.empty() && options.text_file.empty()) {
    throw Error(
        Error::Kind::kUser,
        "name a destination: plumb push --gateway http://HOST:9091, or --textfile FILE.prom");
  }
  const auto store = store::open_store(context.store_url());
  const reporting::SuiteMetrics suite =
      state_after({*store, context.models}, options.run, options.layers);
  const std::string text = text_of(suite, context.version);
  if (!options.text_file.empty()) {
    write_whole_file(options.text_file, [&](std::ostream& out) { out << text; });
    spdlog::info("wrote {}", options.text_file);
  }
  if (!options.gateway.empty()) {
    serve::push_to_gateway(options.gateway, grouping_of(options, suite.series), text);
    spdlog::info("pushed run {}", suite.newest->run.header.id);
  }
}

}  // namespace

void add_push(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<PushOptions>();
  CLI::App* const command = app.add_subcommand(
      "push", "send a run's metrics to a Pushgateway or node_exporter, for jobs that end");
  command->add_option("RUN", options->run, "a run: id, unique prefix, tag or @latest")
      ->capture_default_str();
  command->add_option("--gateway",
                      options->gateway,
                      "URL of a Pushgateway; user and password are taken from ~/.netrc");
  command->add_option("--textfile",
                      options->text_file,
                      "file for node_exporter's textfile collector, replaced as a whole");
  command->add_option("--job", options->job, "job label of the group")->capture_default_str();
  command->add_option(
      "--grouping", options->grouping, "NAME=VALUE, a further label of the group; may be repeated");
  command->add_option("--layers", options->layers, "slowest layers of each model")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  command->callback([&context, options] { push(context, *options); });
}

}  // namespace plumb::cli
