// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>

#include "harness/cli/command.hpp"
#include "harness/store/store.hpp"
#include "reporting/content/run/documents.hpp"

namespace plumb {

void add_runs(CLI::App& app, CommandContext& context) {
  CLI::App* const command = app.add_subcommand("runs", "list the runs in the store, newest first");
  command->callback([&context] {
    const auto store = open_store(context.store_url());
    write_runs(store->runs(), context.json ? OutputMode::kJson : OutputMode::kText, std::cout);
  });
}

}  // namespace plumb
