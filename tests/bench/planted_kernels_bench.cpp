// SPDX-License-Identifier: Apache-2.0
//
// Plants another implementation of one layer, twenty times, and asks a difference of profiles which
// function changed. Prints each trial, and exits 1 if fewer than nineteen name a function of the
// planted layer first. Usage: planted_kernels_bench [SECONDS of each profile].
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "harness/analysis/profile/named_samples.hpp"
#include "harness/analysis/profile/profile_difference.hpp"
#include "harness/analysis/profile/profile_summary.hpp"
#include "harness/cli/run_options.hpp"
#include "harness/cli/zoo_models.hpp"
#include "harness/importers/symbols/code_names.hpp"
#include "harness/session/host/worker_choice.hpp"
#include "harness/session/work/suite_models.hpp"

namespace plumb {
namespace {

constexpr int kTrialsOfModel = 5;
constexpr int kMinNamed = 19;

/// Model with the library's choice for each layer, and other choices for some.
class PlantedModel {
 public:
  PlantedModel(const std::string& name, worker::WorkerProcess& worker) {
    cli::SuiteChoice choice;
    choice.models = {name};
    const suite::ResolvedSuite suite = cli::chosen_suite(source_, choice);
    planned_ = session::load_model(source_, suite.models.at(0));
    request_.model = session::make_execute_request(source_, suite.models.at(0));
    for (model::LayerId id = 0; id < planned_.graph.layers.size(); ++id) {
      const model::Layer& layer = planned_.graph.layers[id];
      if (layer.role == model::Layer::Role::kCompute) {
        add_layer(id, layer.key, worker.variants(layer.key));
      }
    }
  }

  /// A step of the mode, and the variant that is planted there.
  struct Plant {
    std::size_t step = 0;
    std::string variant;
  };
  [[nodiscard]] const std::vector<Plant>& plants() const { return plants_; }
  [[nodiscard]] std::string layer_of(const Plant& plant) const {
    return planned_.graph.layers[steps_[plant.step].layers.front()].name;
  }

  /// Profiles the model in a worker of its own. Null: without another variant.
  [[nodiscard]] results::NamedProfile profile(const Plant* plant, Seconds budget) {
    std::string folder = (std::filesystem::temp_directory_path() / "plumb-plant-XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr) {
      throw Error(Error::Kind::kEnvironment, "no temporary folder");
    }
    worker::ProfileRequest request = request_;
    request.folder = folder;
    request.budget = budget;
    results::ExecutionMode mode;
    mode.best_variant = true;
    request.model.modes = {{mode, steps_, Seconds(0.0)}};
    if (plant != nullptr) {
      request.model.modes[0].steps[plant->step].choices = {{plant->variant, Seconds(1e-3)}};
    }
    worker::WorkerProcess worker(session::worker_options("default", 1));
    const worker::Profile taken = worker.profile(request, Seconds(300), [] { return true; });
    std::vector<std::filesystem::path> dumps;
    for (const std::string& file : taken.code_files) {
      dumps.push_back(std::filesystem::path(folder) / file);
    }
    results::NamedProfile profile =
        analysis::name_samples(taken.samples, importers::read_code_names(taken.samples, dumps));
    for (std::size_t i = 0; i < profile.steps.size(); ++i) {
      const std::vector<std::size_t>& layers = profile.steps[i].layers;
      profile.step_names[i] =
          layers.empty() ? "(outputs)" : planned_.graph.layers.at(layers.front()).name;
    }
    std::filesystem::remove_all(folder);
    return profile;
  }

 private:
  void add_layer(model::LayerId id,
                 const model::LayerKey& key,
                 const std::vector<worker::Variant>& variants) {
    const auto chosen = std::find_if(
        variants.begin(), variants.end(), [](const auto& each) { return each.library_choice; });
    const std::string& choice = (chosen == variants.end() ? variants.at(0) : *chosen).text;
    for (const worker::Variant& variant : variants) {
      if (key.text.starts_with("v1:conv;") && variant.text != choice &&
          !variant.reference_implementation) {
        plants_.push_back({steps_.size(), variant.text});
      }
    }
    steps_.push_back({{id}, key, {{choice, Seconds(1e-3)}}});
  }

  cli::ZooModels source_;
  session::PlannedModel planned_;
  worker::ProfileRequest request_;
  std::vector<worker::ModeStep> steps_;
  std::vector<Plant> plants_;
};

bool run_trial(PlantedModel& model,
               const results::NamedProfile& baseline,
               const PlantedModel::Plant& plant,
               Seconds budget) {
  const results::NamedProfile candidate = model.profile(&plant, budget);
  const analysis::ProfileDifference difference =
      analysis::compute_profile_difference(baseline, candidate);
  const analysis::FunctionChange& first = difference.functions.at(0);
  const bool named = first.step == model.layer_of(plant) && first.is_certain();
  fmt::print("{}: {} as {}: {:+.1f} µs of {:.1f} µs; first {:+.1f} µs in {} of {}\n",
             named ? "named" : "not named",
             model.layer_of(plant),
             plant.variant,
             1e6 * difference.change().count(),
             1e6 * difference.baseline.count(),
             1e6 * first.change().count(),
             analysis::name_of(first.function),
             first.step);
  return named;
}

int run(Seconds budget) {
  int named = 0;
  int trials = 0;
  for (const char* const name : {"squeezenet1.1", "resnet18-v1", "mobilenet-v2", "inception-v1"}) {
    worker::WorkerProcess worker(session::worker_options("default", 1));
    PlantedModel model(name, worker);
    const results::NamedProfile baseline = model.profile(nullptr, budget);
    const std::size_t count = model.plants().size();
    for (int i = 0; i < kTrialsOfModel && count > 0; ++i) {
      ++trials;
      named += run_trial(model, baseline, model.plants()[(2 * i + 1) * count / 10], budget) ? 1 : 0;
    }
  }
  fmt::print("{} of {} trials name the planted layer's function first\n", named, trials);
  return trials - named > 20 - kMinNamed ? 1 : 0;
}

}  // namespace
}  // namespace plumb

int main(int argc, char** argv) {
  try {
    return plumb::run(plumb::Seconds(argc > 1 ? std::atof(argv[1]) : 3.0));
  } catch (const std::exception& error) {
    fmt::print("{}\n", error.what());
    return 1;
  }
}
