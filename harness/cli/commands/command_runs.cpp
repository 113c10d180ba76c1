// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "harness/cli/command.hpp"
#include "harness/results/labels/run_labels.hpp"
#include "harness/store/store.hpp"
#include "reporting/content/run/documents.hpp"

namespace plumb::cli {

void add_runs(CLI::App& app, CommandContext& context) {
  CLI::App* const command = app.add_subcommand("runs", "list the runs in the store, newest first");
  const auto labels = std::make_shared<std::vector<std::string>>();
  command
      ->add_option("--label",
                   *labels,
                   "only runs with this label, NAME=VALUE, where the beginning of the value is "
                   "enough, such as commit=4f2a; may be repeated")
      ->allow_extra_args(false);
  command->callback([&context, labels] {
    const results::RunLabels wanted = results::parse_labels(*labels);
    const auto store = store::open_store(context.store_url());
    std::vector<results::RunRecord> runs = store->runs();
    std::erase_if(runs, [&](const results::RunRecord& run) {
      return !results::has_labels(run.header.environment, wanted);
    });
    reporting::write_runs(runs, context.output_mode(), std::cout);
  });
}

}  // namespace plumb::cli
