// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/base/json_text.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/run_options.hpp"

namespace plumb::cli {

void add_suite(CLI::App& app, CommandContext& context) {
  CLI::App* const suite = app.add_subcommand("suite", "show suites");
  suite->require_subcommand(1);
  const auto choice = std::make_shared<SuiteChoice>();
  CLI::App* const show =
      suite->add_subcommand("show", "the suite as it runs: every default explicit");
  add_suite_choice(*show, *choice);
  // The resolved suite is JSON with and without --json.
  show->callback([&context, choice] {
    const suite::ResolvedSuite resolved = chosen_suite(context.models, *choice);
    nlohmann::json document = nlohmann::json::parse(to_json(resolved));
    document["schema_version"] = 1;
    if (!resolved.exclusions.empty()) {
      document["exclude"] = nlohmann::json::parse(to_json(resolved.exclusions)).at("exclusions");
    }
    std::cout << json_text(document, 2) << '\n';
  });
}

}  // namespace plumb::cli
