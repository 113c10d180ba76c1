// SPDX-License-Identifier: Apache-2.0
// Plans of the thirty vision models in every mode that needs no measured times, against committed
// lines. PLUMB_PLAN_TEXTS=FOLDER writes the whole plans, PLUMB_UPDATE_PLANS=1 the lines anew.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <ostream>

#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"
#include "runners/engine/exec/mode_graph.hpp"
#include "runners/engine/exec/requested_model.hpp"
#include "suites/zoo/zoo.hpp"
#include "tests/golden/plans/model_planner.hpp"
#include "tests/golden/plans/plan_lines.hpp"

namespace plumb::golden {
namespace {

constexpr std::string_view kTraining = "training";
constexpr std::string_view kLastVariant = "last_variant";

/// One backend and the file of its lines.
struct PlannedBackend {
  const char* name;
  std::unique_ptr<ModelPlanner> (*make)();
};

void PrintTo(const PlannedBackend& backend, std::ostream* out) {
  *out << backend.name;
}

/// Reads the names of a suite's models.
std::vector<std::string> model_names() {
  std::ifstream suite(PLUMB_TEST_SUITE);
  std::vector<std::string> names;
  constexpr std::string_view kName = "name = \"";
  bool models = false;
  for (std::string line; std::getline(suite, line);) {
    models = models || line == "[[model]]";
    if (models && line.starts_with(kName)) {
      const std::size_t end = line.find('"', kName.size());
      names.push_back(line.substr(kName.size(), end - kName.size()));
    }
  }
  return names;
}

worker::ExecuteRequest request_of(const std::string& name, bool training) {
  worker::ExecuteRequest request;
  request.name = name;
  request.model = zoo::find(name)->build(1).SerializeAsString();
  request.training = training ? "sgd" : "";
  return request;
}

/// Names, for each layer, the last variant in the backend's list that is no reference code.
worker::LayerVariants last_variants(const model::Graph& graph, const worker::Backend& backend) {
  worker::LayerVariants result;
  for (const model::Layer& layer : graph.layers) {
    if (layer.role != model::Layer::Role::kCompute || result.contains(layer.key)) {
      continue;
    }
    const std::vector<worker::Variant> variants = backend.variants(layer.key);
    const auto last =
        std::find_if(variants.rbegin(), variants.rend(), [](const worker::Variant& variant) {
          return !variant.reference_implementation;
        });
    if (last != variants.rend()) {
      result.emplace(layer.key, last->text);
    }
  }
  return result;
}

/// Returns a mode's text without a word that names no mode, and whether it was there.
std::pair<std::string, bool> without(std::string mode, std::string_view word) {
  if (!mode.starts_with(word)) {
    return {mode, false};
  }
  mode.erase(0, std::min(mode.size(), word.size() + 1));
  return {mode.empty() ? "plain" : mode, true};
}

PlanText planned(ModelPlanner& planner, const std::string& name, const std::string& text) {
  const auto [untrained, training] = without(text, kTraining);
  const auto [mode, last] = without(untrained, kLastVariant);
  try {
    const engine::RequestedModel model(request_of(name, training));
    const worker::ModeRequest request{results::execution_mode_from(mode), {}};
    engine::ModeGraph graph = engine::graph_of_mode(model.graph(), request, planner.backend());
    if (last) {
      graph.variants = last_variants(graph.fused.graph, planner.backend());
    }
    return planner.plan(graph.fused.graph, graph.variants, request.mode.has_branches());
  } catch (const Error& refusal) {
    return {fmt::format("refused: {}", refusal.what()), ""};
  }
}

/// Returns the line of a plan without its name.
std::string line_of(const PlanText& plan) {
  constexpr std::size_t kDigits = 16;
  return plan.text.empty()
             ? plan.figures
             : fmt::format("{}; {}", plan.figures, sha256(plan.text).substr(0, kDigits));
}

std::filesystem::path lines_file(const PlannedBackend& backend) {
  return std::filesystem::path(PLUMB_TEST_PLANS) / fmt::format("{}.txt", backend.name);
}

/// Reads a file of lines, each "NAME: TEXT".
std::map<std::string, std::string> read_lines(const std::filesystem::path& path) {
  std::map<std::string, std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos) {
      lines[line.substr(0, colon)] = line.substr(colon + 2);
    }
  }
  return lines;
}

void write_lines(const std::filesystem::path& path,
                 const std::map<std::string, std::string>& lines) {
  std::ofstream file(path);
  for (const auto& [name, text] : lines) {
    file << name << ": " << text << '\n';
  }
}

/// Writes a plan's text and returns the file's path.
std::filesystem::path write_text(const std::string& name, const PlanText& plan) {
  const char* const named = std::getenv("PLUMB_PLAN_TEXTS");
  const std::filesystem::path folder = named != nullptr ? named : ::testing::TempDir();
  std::filesystem::create_directories(folder);
  std::filesystem::path path = folder / (name + ".txt");
  std::ofstream(path) << plan.figures << '\n' << plan.text;
  return path;
}

class ModelPlans : public ::testing::TestWithParam<std::tuple<PlannedBackend, std::string>> {};

TEST_P(ModelPlans, are_those_that_were_committed) {
  const auto& [backend, model] = GetParam();
  const std::unique_ptr<ModelPlanner> planner = backend.make();
  const bool update = std::getenv("PLUMB_UPDATE_PLANS") != nullptr;
  std::map<std::string, std::string> lines = read_lines(lines_file(backend));
  const std::string environment = lines["environment"];
  if (!update && environment != planner->environment()) {
    GTEST_SKIP() << "the lines are of " << environment << ", here is " << planner->environment();
  }
  for (const std::string& mode : planner->modes()) {
    const PlanText plan = planned(*planner, model, mode);
    const std::string line = line_of(plan);
    std::string& wanted = lines[model + " " + mode];
    const std::string name = fmt::format("{}-{}-{}", backend.name, model, mode);
    if (std::getenv("PLUMB_PLAN_TEXTS") != nullptr) {
      static_cast<void>(write_text(name, plan));
    }
    if (update) {
      wanted = line;
    } else if (wanted != line) {
      ADD_FAILURE() << mode << "\n  was " << wanted << "\n  is  " << line
                    << "\n  whole plan: " << write_text(name, plan).string();
    }
  }
  if (update) {
    lines["environment"] = planner->environment();
    write_lines(lines_file(backend), lines);
  }
}

std::vector<PlannedBackend> backends() {
  std::vector<PlannedBackend> list{{"cuda", make_cuda_planner}};
#ifdef PLUMB_PLANS_ONEDNN
  list.push_back({"onednn", make_onednn_planner});
#endif
  return list;
}

INSTANTIATE_TEST_SUITE_P(Zoo,
                         ModelPlans,
                         ::testing::Combine(::testing::ValuesIn(backends()),
                                            ::testing::ValuesIn(model_names())),
                         [](const auto& instance) {
                           std::string name = std::get<0>(instance.param).name + std::string("_") +
                                              std::get<1>(instance.param);
                           for (char& letter : name) {
                             letter = letter == '-' || letter == '.' ? '_' : letter;
                           }
                           return name;
                         });

}  // namespace
}  // namespace plumb::golden
