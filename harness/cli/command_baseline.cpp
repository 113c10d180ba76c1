// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "harness/cli/baseline_record.hpp"
#include "harness/cli/command.hpp"

namespace plumb {
namespace {

struct BaselineSetOptions {
  std::string run;
  std::string name;
  std::string who;
  std::string reason;
};

std::string user_name() {
  const passwd* const user = ::getpwuid(::geteuid());
  return user == nullptr ? fmt::format("uid {}", ::geteuid()) : std::string(user->pw_name);
}

void set_baseline(const CommandContext& context, const BaselineSetOptions& options) {
  const auto store = open_store(context.store_url);
  const RunRecord run = store->find_run(options.run);
  const std::string name = options.name.empty() ? "baseline/" + run.header.suite : options.name;
  accept_baseline(
      *store, run, name, options.who.empty() ? user_name() : options.who, options.reason);
  fmt::print(stderr, "{} is run {} now\n", name, run.header.id);
}

}  // namespace

void add_baseline(CLI::App& app, CommandContext& context) {
  CLI::App* const baseline =
      app.add_subcommand("baseline", "runs that others are compared with: accept one, list them");
  baseline->require_subcommand(1);

  const auto options = std::make_shared<BaselineSetOptions>();
  CLI::App* const set =
      baseline->add_subcommand("set", "accept a run as the baseline; who, when and why is kept");
  set->add_option("RUN", options->run, "a finished run: id, unique prefix, tag or @latest")
      ->required();
  set->add_option("--name",
                  options->name,
                  "its tag; default: baseline/SUITE, which `plumb serve` judges runs by");
  set->add_option("--reason", options->reason, "why it is accepted");
  set->add_option("--who", options->who, "who answers for it; default: the user's name");
  set->callback([&context, options] { set_baseline(context, *options); });

  CLI::App* const list = baseline->add_subcommand("list", "baselines now and before, newest first");
  list->callback([&context] {
    write_baselines(baselines_in(*open_store(context.store_url)),
                    context.json ? Style::kJson : Style::kText,
                    std::cout);
  });
}

}  // namespace plumb
