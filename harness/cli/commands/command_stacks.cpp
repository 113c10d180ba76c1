// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <set>

#include "harness/base/error.hpp"
#include "harness/base/file_io.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/shared_options.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/rewrite/rewrite.hpp"
#include "harness/rewrite/types/typed_graph.hpp"
#include "harness/session/host/host.hpp"
#include "harness/session/work/suite_models.hpp"
#include "harness/session/work/work_items.hpp"
#include "harness/stacks/stack_fetch.hpp"
#include "harness/stacks/stack_probe.hpp"
#include "harness/store/store.hpp"
#include "harness/terminal/terminal.hpp"
#include "reporting/content/stack/stack_documents.hpp"
#include "reporting/formats/output_format.hpp"

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
      const worker::WorkerProcess::Options options = session::worker_options({name, 1, device});
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
    for (const session::WorkSource::Item& item :
         session::work_items(session::load_models(models, resolved, {}),
                             resolved.layers,
                             resolved.caches,
                             session::WorkSource::Shard{})) {
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
    const worker::WorkerProcess::Options from = session::worker_options({sides->from});
    const worker::WorkerProcess::Options to = session::worker_options({sides->to});
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

namespace {

struct PreviewOptions {
  std::string suite;
  std::string from;
  std::string to;
  std::string gpu;
  std::string dtype;
  std::string output;
  std::vector<std::string> models;
  bool gate = false;
};

/// Reads the suite. A type on the command line replaces the suite's types, and each model is then
/// read once.
suite::ResolvedSuite suite_in(const session::ModelSource& models, const PreviewOptions& options) {
  suite::ResolvedSuite suite =
      session::resolve_suite(models, suite::read_suite(session::find_suite(options.suite)));
  if (!options.dtype.empty()) {
    std::set<std::string> seen;
    std::erase_if(suite.models, [&](suite::ResolvedSuite::Model& model) {
      model.dtype = options.dtype;
      return !seen.insert(analysis::subject_of({model.name, model.batch, model.dtype, model.dims}))
                  .second;
    });
  }
  return suite;
}

/// Lists every key of the suite once, fused keys included, with the models that use it.
std::vector<analysis::EnginePreview::Layer> list_layers(const session::ModelSource& models,
                                                        const PreviewOptions& options,
                                                        const suite::ResolvedSuite& suite) {
  std::vector<analysis::EnginePreview::Layer> layers;
  std::map<model::LayerKey, std::size_t> places;
  const auto add = [&](const session::WorkSource::Item& item, const std::string& model) {
    const model::LayerKey key = options.dtype == rewrite::kTf32
                                    ? model::to_key(rewrite::with_tf32(model::parse_key(item.key)))
                                    : item.key;
    const auto [place, is_new] = places.try_emplace(key, layers.size());
    if (is_new) {
      layers.push_back({key, {}, {key, {}, {}}, {key, {}, {}}});
    }
    std::vector<analysis::EnginePreview::Use>& uses = layers[place->second].uses;
    if (uses.empty() || uses.back().model != model) {
      uses.push_back({model, 0});
    }
    uses.back().nodes += item.occurrences;
  };
  for (const session::PlannedModel& model : session::load_models(models, suite, options.models)) {
    for (const session::WorkSource::Item& item :
         session::work_items(std::span(&model, 1), {}, {}, {})) {
      add(item, to_text(model.instance, ", "));
    }
  }
  if (options.models.empty()) {
    for (const session::WorkSource::Item& item : session::work_items({}, suite.layers, {}, {})) {
      add(item, suite.name);
    }
  }
  if (layers.empty()) {
    throw Error(
        Error::Kind::kUser,
        fmt::format("suite '{}' has no layer to preview: see plumb suite show", suite.name));
  }
  return layers;
}

/// Asks one stack about every layer, and returns the environment that its worker describes.
results::Environment ask_all(const std::string& stack,
                             const session::GpuProfile& gpu,
                             std::vector<analysis::EnginePreview::Layer>& layers,
                             results::EngineChoices analysis::EnginePreview::Layer::*answer,
                             session::ProgressDisplay::Progress& progress,
                             const CommandContext& context) {
  const auto begin = std::chrono::steady_clock::now();
  stacks::StackInquiry inquiry(session::worker_options({stack}));
  session::ProgressDisplay::Stage stage(context.progress);
  const std::size_t before = progress.done;
  const Seconds elapsed_before = progress.elapsed;
  for (analysis::EnginePreview::Layer& layer : layers) {
    if (context.stop) {
      throw Error(Error::Kind::kTryAgain, "stopped before the preview of all layers was complete");
    }
    layer.*answer = inquiry.ask({layer.key, gpu.properties});
    ++progress.done;
    const Seconds here = std::chrono::steady_clock::now() - begin;
    progress.elapsed = elapsed_before + here;
    progress.left = here / static_cast<double>(progress.done - before) *
                    static_cast<double>(progress.total - progress.done);
    progress.current = stack;
    stage.show(progress);
  }
  return inquiry.environment();
}

void print(const reporting::PreviewReport& report,
           const PreviewOptions& options,
           reporting::OutputMode style) {
  if (options.output.empty()) {
    return reporting::write_preview(report, style, std::cout);
  }
  const bool json = std::filesystem::path(options.output).extension() == ".json";
  write_whole_file(options.output, [&](std::ostream& out) {
    reporting::write_preview(report, json ? reporting::OutputMode::kJson : style, out);
  });
}

void preview(CommandContext& context, const PreviewOptions& options) {
  const session::GpuProfile gpu = session::read_gpu_profile(options.gpu);
  const suite::ResolvedSuite suite = suite_in(context.models, options);
  std::vector<analysis::EnginePreview::Layer> layers = list_layers(context.models, options, suite);
  session::ProgressDisplay::Progress progress{
      .total = 2 * layers.size(), .current = "", .left = {}};
  reporting::PreviewReport report{
      .suite = suite.name,
      .gpu = gpu.name,
      .profile = gpu.file,
      .dtype = options.dtype.empty() ? "as the suite says" : options.dtype,
      .from = {options.from, {}},
      .to = {options.to, {}},
      .preview = {}};
  report.from.environment =
      ask_all(options.from, gpu, layers, &analysis::EnginePreview::Layer::from, progress, context);
  report.to.environment =
      ask_all(options.to, gpu, layers, &analysis::EnginePreview::Layer::to, progress, context);
  report.preview = analysis::preview_engines(layers);
  print(report, options, context.output_mode());
  const bool bad =
      std::any_of(report.preview.comparisons.begin(),
                  report.preview.comparisons.end(),
                  [](const analysis::EnginePreview::Comparison& one) {
                    return one.change == analysis::EnginePreview::Change::kSupportLost ||
                           one.change == analysis::EnginePreview::Change::kNumerics;
                  });
  context.exit_status = options.gate && bad ? 1 : 0;
}

}  // namespace

void add_preview(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<PreviewOptions>();
  CLI::App* const command = app.add_subcommand(
      "preview", "what a cuDNN upgrade will change on a described GPU, without the GPU");
  command->add_option("SUITE", options->suite, "a path or an installed name")->required();
  command->add_option("--from", options->from, "the present stack")->required();
  command->add_option("--to", options->to, "the stack of the upgrade")->required();
  command
      ->add_option("--gpu", options->gpu, "A100, B200, H100, H200, L40S, T4, or a profile's file")
      ->required();
  command
      ->add_option("--dtype", options->dtype, "element type to use in place of the suite's types")
      ->check(CLI::IsMember({"f32", "tf32", "f16", "bf16"}));
  command->add_option("--model", options->models, "only this model of the suite; may be repeated");
  command->add_option("-o,--output",
                      options->output,
                      "write into this file: as JSON if its name ends in .json, else as text");
  command->add_flag("--gate", options->gate, "exit 1 if support is lost or numerical notes change");
  command->callback([&context, options] { preview(context, *options); });
}

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
