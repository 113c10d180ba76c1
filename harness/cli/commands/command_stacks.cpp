// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <memory>

#include "harness/base/error.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/option_checks.hpp"
#include "harness/session/host/gpu_profile.hpp"
#include "harness/session/host/user_paths.hpp"
#include "harness/session/host/worker_choice.hpp"
#include "harness/session/work/planner.hpp"
#include "harness/session/work/suite_models.hpp"
#include "harness/stacks/stack_contents.hpp"
#include "harness/stacks/stack_fetch.hpp"
#include "harness/stacks/stack_probe.hpp"
#include "harness/terminal/messages.hpp"
#include "reporting/content/stack/stack_documents.hpp"

namespace plumb::cli {
namespace {

constexpr std::size_t kLayersExplained = 20;  // as many as the text shows; 0.1 s for each side

std::filesystem::path stacks_folder() {
  return session::data_folder() / "stacks";
}

/// Probes stacks and prints the reports. What cannot be started is a problem of its stack; a single
/// stack throws instead. Returns whether all are sound.
bool probe(const std::vector<std::string>& names,
           const std::string& device,
           reporting::OutputMode style) {
  std::vector<analysis::StackReport> reports;
  for (const std::string& name : names) {
    try {
      const worker::WorkerOptions options = session::worker_options({name, 1, device});
      worker::WorkerProcess worker(options);
      reports.push_back(stacks::probe_worker(worker, options.stack));
    } catch (const Error& error) {
      if (names.size() == 1) {
        throw;
      }
      reports.push_back(
          {.name = name, .backend = "", .libraries = {}, .device = "", .problems = {error.what()}});
    }
  }
  reporting::write_stacks(reports, style, std::cout);
  return std::all_of(reports.begin(), reports.end(), [](const analysis::StackReport& report) {
    return report.problems.empty();
  });
}

/// Lists every key that a suite needs, fused keys included; none without a suite.
std::vector<model::LayerKey> list_keys(const session::ModelSource& models,
                                       const std::string& suite) {
  std::vector<model::LayerKey> keys;
  if (!suite.empty()) {
    const suite::ResolvedSuite resolved =
        session::resolve_suite(models, suite::read_suite(session::find_suite(suite)));
    for (const session::WorkItem& item :
         session::work_items(session::load_models(models, resolved, {}),
                             resolved.layers,
                             resolved.caches,
                             session::Shard{})) {
      keys.push_back(item.key);
    }
  }
  return keys;
}

}  // namespace

void add_stacks(CLI::App& app, CommandContext& context) {
  CLI::App* const stacks = app.add_subcommand("stacks", "library versions side by side");
  stacks->require_subcommand(1);

  stacks->add_subcommand("list", "list the stacks, and what their files name")
      ->callback([&context] {
        reporting::write_stacks(
            stacks::list_stacks(stacks_folder()), context.output_mode(), std::cout);
      });

  CLI::App* const probing = stacks->add_subcommand(
      "probe", "start a worker with a stack and show which libraries it really mapped");
  const auto names = std::make_shared<std::vector<std::string>>();
  const auto probed_device = std::make_shared<std::string>();
  probing->add_option("STACK", *names, "stacks to probe; default: all");
  add_device_option(*probing, *probed_device);
  probing->callback([&context, names, probed_device] {
    std::vector<std::string> wanted = *names;
    if (wanted.empty()) {
      for (const analysis::StackReport& stack : stacks::list_stacks(stacks_folder())) {
        wanted.push_back(stack.name);
      }
    }
    if (!probe(wanted, *probed_device, context.output_mode())) {
      context.exit_status = static_cast<int>(Error::Kind::kEnvironment);
    }
  });

  struct Sides {
    std::string from;
    std::string to;
    std::string suite;
    std::string gpu;
  };
  CLI::App* const comparing =
      stacks->add_subcommand("diff", "what differs between two stacks before anything is measured");
  const auto sides = std::make_shared<Sides>();
  comparing->add_option("FROM", sides->from, "a stack")->required();
  comparing->add_option("TO", sides->to, "another")->required();
  comparing->add_option(
      "SUITE", sides->suite, "also compare what they have for each layer of this suite");
  comparing->add_option("--gpu",
                        sides->gpu,
                        "for CUDA stacks: count what they would offer on this GPU (see preview)");
  comparing->callback([&context, sides] {
    const std::vector<model::LayerKey> keys = list_keys(context.models, sides->suite);
    const std::string device =
        sides->gpu.empty() ? "" : session::read_gpu_profile(sides->gpu).properties;
    const worker::WorkerOptions from = session::worker_options({sides->from});
    const worker::WorkerOptions to = session::worker_options({sides->to});
    analysis::StackDifference difference = analysis::stack_difference(
        stacks::stack_contents(from, keys, device), stacks::stack_contents(to, keys, device));
    stacks::explain_choices(from, to, kLayersExplained, difference);
    reporting::write_stack_difference(difference, context.output_mode(), std::cout);
  });

  CLI::App* const fetching = stacks->add_subcommand(
      "fetch", "unpack wheels, or packages of a Debian release, as a stack of their own");
  const auto request = std::make_shared<stacks::FetchRequest>();
  fetching->add_option("PACKAGE==VERSION", request->packages, "such as onednn-cpu-gomp==2023.2.0")
      ->required();
  fetching->add_option(
      "--name", request->name, "name of the stack; default: the first package and version");
  fetching->add_option("--debian",
                       request->debian_release,
                       "take packages of this release, such as trixie, with their C library");
  const auto alone = std::make_shared<bool>(false);
  fetching->add_flag("--no-deps", *alone, "leave out what the wheels depend on");
  fetching->callback([&context, request, alone] {
    request->dependencies = !*alone;
    const std::string name = stacks::fetch_stack(
        *request, stacks_folder(), [](const std::string& line) { terminal::say(line); });
    terminal::say(
        fmt::format("the stack '{}' is in '{}'", name, (stacks_folder() / name).string()));
    if (!probe({name}, {}, context.output_mode())) {
      context.exit_status = static_cast<int>(Error::Kind::kEnvironment);
    }
  });
}

}  // namespace plumb::cli
