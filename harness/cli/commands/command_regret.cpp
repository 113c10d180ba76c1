// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "harness/cli/command.hpp"
#include "harness/store/store.hpp"
#include "harness/terminal/messages.hpp"
#include "reporting/content/stack/stack_documents.hpp"
#include "reporting/formats/output_format.hpp"

namespace plumb::cli {
namespace {

struct RegretOptions {
  std::vector<std::string> runs{"@latest"};
  std::vector<std::string> outputs;
  std::string cache = "none";
};

void report_regret(const CommandContext& context, const RegretOptions& options) {
  const auto store = store::open_store(context.store_url());
  reporting::RegretReport report;
  for (const std::string& name : options.runs) {
    const results::RunRecord run = store->find_run(name);
    report.push_back(analysis::heuristic_regret(
        run, store->measurements(run.header.id), results::parse_cache_mode(options.cache).value()));
  }
  reporting::write_regret(report, context.output_mode(), std::cout);
  reporting::write_reports(
      report, reporting::regret_formats(), options.outputs, terminal::announce_report);
}

}  // namespace

void add_regret(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<RegretOptions>();
  CLI::App* const command = app.add_subcommand(
      "regret", "what the library's own choices cost: its heuristic against its fastest variants");
  command->add_option("RUN", options->runs, "runs: id, unique prefix, tag or @latest")
      ->capture_default_str();
  command->add_option("--cache", options->cache, "rows of this cache mode")
      ->check(CLI::IsMember({"none", "weights", "all"}))
      ->capture_default_str();
  command
      ->add_option("-o,--output",
                   options->outputs,
                   "also write this report; may be repeated: " +
                       reporting::format_list(reporting::regret_formats()))
      ->each(reporting::check_format(reporting::regret_formats()));
  command->callback([&context, options] { report_regret(context, *options); });
}

}  // namespace plumb::cli
