// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <set>

#include "harness/base/error.hpp"
#include "harness/base/whole_file.hpp"
#include "harness/cli/command.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/rewrite/rewrite.hpp"
#include "harness/rewrite/types/typed_graph.hpp"
#include "harness/session/host/gpu_profile.hpp"
#include "harness/session/host/user_paths.hpp"
#include "harness/session/host/worker_choice.hpp"
#include "harness/session/work/suite_models.hpp"
#include "harness/stacks/stack_inquiry.hpp"
#include "reporting/content/stack/stack_documents.hpp"

namespace plumb::cli {
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
std::vector<analysis::PreviewedLayer> list_layers(const session::ModelSource& models,
                                                  const PreviewOptions& options,
                                                  const suite::ResolvedSuite& suite) {
  std::vector<analysis::PreviewedLayer> layers;
  std::map<model::LayerKey, std::size_t> places;
  const auto add = [&](const session::WorkItem& item, const std::string& model) {
    const model::LayerKey key = options.dtype == rewrite::kTf32
                                    ? model::to_key(rewrite::with_tf32(model::parse_key(item.key)))
                                    : item.key;
    const auto [place, is_new] = places.try_emplace(key, layers.size());
    if (is_new) {
      layers.push_back({key, {}, {key, {}, {}}, {key, {}, {}}});
    }
    std::vector<analysis::LayerUse>& uses = layers[place->second].uses;
    if (uses.empty() || uses.back().model != model) {
      uses.push_back({model, 0});
    }
    uses.back().nodes += item.occurrences;
  };
  for (const session::PlannedModel& model : session::load_models(models, suite, options.models)) {
    for (const session::WorkItem& item : session::work_items(std::span(&model, 1), {}, {}, {})) {
      add(item, to_text(model.instance, ", "));
    }
  }
  if (options.models.empty()) {
    for (const session::WorkItem& item : session::work_items({}, suite.layers, {}, {})) {
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
                             std::vector<analysis::PreviewedLayer>& layers,
                             results::EngineChoices analysis::PreviewedLayer::*answer,
                             session::Progress& progress,
                             const CommandContext& context) {
  const auto begin = std::chrono::steady_clock::now();
  stacks::StackInquiry inquiry(session::worker_options({stack}));
  session::ProgressStage stage(context.progress);
  const std::size_t before = progress.done;
  const Seconds elapsed_before = progress.elapsed;
  for (analysis::PreviewedLayer& layer : layers) {
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
  std::vector<analysis::PreviewedLayer> layers = list_layers(context.models, options, suite);
  session::Progress progress{.total = 2 * layers.size(), .current = "", .left = {}};
  reporting::PreviewReport report{
      .suite = suite.name,
      .gpu = gpu.name,
      .profile = gpu.file,
      .dtype = options.dtype.empty() ? "as the suite says" : options.dtype,
      .from = {options.from, {}},
      .to = {options.to, {}},
      .preview = {}};
  report.from.environment =
      ask_all(options.from, gpu, layers, &analysis::PreviewedLayer::from, progress, context);
  report.to.environment =
      ask_all(options.to, gpu, layers, &analysis::PreviewedLayer::to, progress, context);
  report.preview = analysis::preview_engines(layers);
  print(report, options, context.output_mode());
  const bool bad = std::any_of(report.preview.comparisons.begin(),
                               report.preview.comparisons.end(),
                               [](const analysis::EngineComparison& one) {
                                 return one.change == analysis::EngineChange::kSupportLost ||
                                        one.change == analysis::EngineChange::kNumerics;
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

}  // namespace plumb::cli
