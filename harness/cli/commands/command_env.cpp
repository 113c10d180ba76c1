// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "harness/cli/command.hpp"
#include "harness/cli/option_checks.hpp"
#include "harness/session/host/system_facts.hpp"
#include "harness/session/host/worker_choice.hpp"
#include "reporting/content/run/documents.hpp"

namespace plumb::cli {

void add_env(CLI::App& app, CommandContext& context) {
  struct EnvOptions {
    session::WorkerChoice worker;
    bool explain = false;
  };
  const auto options = std::make_shared<EnvOptions>();
  CLI::App* const env =
      app.add_subcommand("env", "what identifies a series here, and what is only recorded");
  add_stack_option(*env, options->worker.stack);
  add_worker_options(*env, options->worker);
  env->add_flag("--explain", options->explain, "say what each part is for");
  env->callback([&context, options] {
    const session::WorkerChoice& choice = options->worker;
    worker::WorkerProcess worker(session::worker_options(choice));
    reporting::write_environment(
        session::join_environment(
            session::read_system(), worker.describe(), choice.threads, choice.stack),
        context.output_mode(),
        options->explain,
        std::cout);
  });
}

}  // namespace plumb::cli
