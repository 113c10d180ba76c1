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
    std::string stack = "default";
    int threads = 1;
    std::string device;
    bool explain = false;
  };
  const auto options = std::make_shared<EnvOptions>();
  CLI::App* const env =
      app.add_subcommand("env", "what identifies a series here, and what is only recorded");
  env->add_option("--stack", options->stack, "library versions")->capture_default_str();
  env->add_option("--threads", options->threads, "threads of the worker")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  add_device_option(*env, options->device);
  env->add_flag("--explain", options->explain, "say what each part is for");
  env->callback([&context, options] {
    worker::WorkerProcess worker(
        session::worker_options(options->stack, options->threads, options->device));
    reporting::write_environment(
        session::join_environment(
            session::read_system(), worker.describe(), options->threads, options->stack),
        context.json ? reporting::OutputMode::kJson : reporting::OutputMode::kText,
        options->explain,
        std::cout);
  });
}

}  // namespace plumb::cli
