// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/base/json_text.hpp"
#include "harness/cli/command.hpp"
#include "harness/session/host/user_paths.hpp"
#include "harness/session/work/suite_models.hpp"

namespace plumb {

void add_suite(CLI::App& app, CommandContext& context) {
  CLI::App* const suite = app.add_subcommand("suite", "look at suites");
  suite->require_subcommand(1);
  const auto name = std::make_shared<std::string>();
  CLI::App* const show =
      suite->add_subcommand("show", "the suite as it runs: every default explicit");
  show->add_option("SUITE", *name, "a path or an installed name")->required();
  // The resolved suite is JSON with and without --json.
  show->callback([&context, name] {
    const ResolvedSuite resolved = resolve_suite(context.models, read_suite(find_suite(*name)));
    nlohmann::json document = nlohmann::json::parse(to_json(resolved));
    document["schema_version"] = 1;
    if (!resolved.exclusions.empty()) {
      document["exclude"] = nlohmann::json::parse(to_json(resolved.exclusions)).at("exclusions");
    }
    std::cout << json_text(document, 2) << '\n';
  });
}

}  // namespace plumb
