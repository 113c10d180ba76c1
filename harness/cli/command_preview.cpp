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
#include "harness/session/host/gpu_profile.hpp"
#include "harness/session/host/user_paths.hpp"
#include "harness/session/host/worker_choice.hpp"
#include "harness/session/work/suite_models.hpp"
#include "harness/stacks/stack_inquiry.hpp"
#include "reporting/content/stack/preview_documents.hpp"

namespace plumb {
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
ResolvedSuite suite_in(const ModelSource& models, const PreviewOptions& options) {
  ResolvedSuite suite = resolve_suite(models, read_suite(find_suite(options.suite)));
  if (!options.dtype.empty()) {
    std::set<std::string> seen;
    std::erase_if(suite.models, [&](ResolvedSuite::Model& model) {
      model.dtype = options.dtype == "tf32" ? "f32" : options.dtype;
      return !seen.insert(subject_of({model.name, model.batch, model.dtype, model.dims})).second;
    });
  }
  return suite;
}

LayerKey with_tf32(const LayerKey& key) {
  LayerSpec spec = parse_key(key);
  if (spec.math == MathClass::kStrict && spec.op == "conv") {
    spec.math = MathClass::kTf32;
  }
  return to_key(spec);
}

/// Lists every key of the suite once, fused keys included, with the models that use it.
std::vector<PreviewedLayer> layers_of(const ModelSource& models,
                                      const PreviewOptions& options,
                                      const ResolvedSuite& suite) {
  std::vector<PreviewedLayer> layers;
  std::map<LayerKey, std::size_t> places;
  const auto add = [&](const WorkItem& item, const std::string& model) {
    const LayerKey key = options.dtype == "tf32" ? with_tf32(item.key) : item.key;
    const auto [place, is_new] = places.try_emplace(key, layers.size());
    if (is_new) {
      layers.push_back({key, {}, {key, {}, {}}, {key, {}, {}}});
    }
    std::vector<LayerUse>& uses = layers[place->second].uses;
    if (uses.empty() || uses.back().model != model) {
      uses.push_back({model, 0});
    }
    uses.back().nodes += item.occurrences;
  };
  for (const PlannedModel& model : load_models(models, suite, options.models)) {
    for (const WorkItem& item : work_items(std::span(&model, 1), {}, {}, {})) {
      add(item, to_text(model.instance, ", "));
    }
  }
  if (options.models.empty()) {
    for (const WorkItem& item : work_items({}, suite.layers, {}, {})) {
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
Environment ask_all(const std::string& stack,
                    const GpuProfile& gpu,
                    std::vector<PreviewedLayer>& layers,
                    EngineChoices PreviewedLayer::*answer,
                    Progress& progress,
                    const CommandContext& context) {
  const auto begin = std::chrono::steady_clock::now();
  StackInquiry inquiry(worker_options(stack, 1));
  ProgressStage stage(context.progress);
  const std::size_t before = progress.done;
  const Seconds elapsed_before = progress.elapsed;
  for (PreviewedLayer& layer : layers) {
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

void print(const PreviewReport& report, const PreviewOptions& options, OutputMode style) {
  if (options.output.empty()) {
    return write_preview(report, style, std::cout);
  }
  const bool json = std::filesystem::path(options.output).extension() == ".json";
  write_whole_file(options.output, [&](std::ostream& out) {
    write_preview(report, json ? OutputMode::kJson : style, out);
  });
}

void preview(CommandContext& context, const PreviewOptions& options) {
  const GpuProfile gpu = read_gpu_profile(options.gpu);
  const ResolvedSuite suite = suite_in(context.models, options);
  std::vector<PreviewedLayer> layers = layers_of(context.models, options, suite);
  Progress progress{.total = 2 * layers.size(), .current = "", .left = {}};
  PreviewReport report{.suite = suite.name,
                       .gpu = gpu.name,
                       .profile = gpu.file,
                       .dtype = options.dtype.empty() ? "as the suite says" : options.dtype,
                       .from = {options.from, {}},
                       .to = {options.to, {}},
                       .preview = {}};
  report.from.environment =
      ask_all(options.from, gpu, layers, &PreviewedLayer::from, progress, context);
  report.to.environment = ask_all(options.to, gpu, layers, &PreviewedLayer::to, progress, context);
  report.preview = preview_engines(layers);
  print(report, options, context.json ? OutputMode::kJson : OutputMode::kText);
  const bool bad = std::any_of(report.preview.comparisons.begin(),
                               report.preview.comparisons.end(),
                               [](const EngineComparison& one) {
                                 return one.change == EngineChange::kSupportLost ||
                                        one.change == EngineChange::kNumerics;
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

}  // namespace plumb
