// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/model_source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <onnx/onnx_pb.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>

#include "harness/base/error.hpp"
#include "harness/rewrite/quantized_graph.hpp"
#include "harness/rewrite/rewrite.hpp"
#include "suites/zoo/zoo.hpp"

namespace plumb {
namespace {

const zoo::Entry& find_entry(const std::string& name) {
  const zoo::Entry* const entry = zoo::find(name);
  if (entry == nullptr) {
    throw Error(
        Error::Kind::kUser,
        fmt::format(
            "there is no model '{}': neither a file nor a built-in name; did you mean '{}'? "
            "(`plumb model list` shows all)",
            name,
            zoo::nearest_name(name)));
  }
  return *entry;
}

/// Returns the first extent of the first input that is no scalar. Empty if there is none.
std::optional<std::int64_t> first_extent(const Graph& graph) {
  for (const ValueId input : graph.inputs) {
    if (!graph.values[input].type.dims.empty()) {
      return graph.values[input].type.dims.front();
    }
  }
  return std::nullopt;
}

void log_notes(const PlannedModel& model) {
  for (const std::string& note : model.graph.notes) {
    spdlog::warn("model '{}': {}", model.instance.model, note);
  }
}

}  // namespace

onnx::ModelProto build_zoo_model(const std::string& name, const ReadOptions& options) {
  return find_entry(name).build(options.batch.value_or(1), options.dims);
}

ResolvedSuite resolve_suite(const SuiteSpec& spec) {
  return resolve(spec, [](ResolvedSuite::Model& model) {
    if (!model.path) {
      const zoo::Sizes sizes = find_entry(model.name).sizes(model.batch, model.dims);
      model.dims.insert(sizes.axes.begin(), sizes.axes.end());
    }
  });
}

Graph load_graph(const std::string& name, const ReadOptions& options) {
  std::error_code error;
  if (std::filesystem::is_regular_file(name, error)) {
    return read_model(name, options);
  }
  Graph graph = graph_of(build_zoo_model(name, options));
  graph.name = name;
  return graph;
}

PlannedModel load_model(const ResolvedSuite::Model& model) {
  const bool int8 = model.dtype == kInt8;
  const std::optional<DataType> type = int8 ? DataType::kF32 : parse_data_type(model.dtype);
  if (!type || !is_floating(*type)) {
    throw Error(Error::Kind::kUser,
                fmt::format("model '{}' asks for dtype '{}', which is none of f32, bf16, f16, int8",
                            model.name,
                            model.dtype));
  }
  ReadOptions options{.dims = model.dims, .rebatch = model.rebatch};
  (model.open_batch ? options.open_batch : options.batch) = model.batch;
  Graph graph = load_graph(model.path ? model.path->string() : model.name, options);
  ModelInstance instance{model.name, model.batch, model.dtype, model.dims};
  if (model.open_batch) {
    instance.batch = first_extent(graph).value_or(model.batch);
  }
  if (int8) {
    graph = int8_graph(graph).graph;
  } else if (*type != DataType::kF32) {
    graph = with_precision(graph, *type);
  }
  return {std::move(instance), std::move(graph)};
}

std::vector<PlannedModel> prepare_models(ResolvedSuite& suite) {
  std::vector<PlannedModel> models;
  std::vector<ResolvedSuite::Model> kept;
  std::vector<Error> problems;
  for (ResolvedSuite::Model& model : suite.models) {
    try {
      models.push_back(load_model(model));
    } catch (const Error& error) {
      if (error.kind() == Error::Kind::kInternal) {
        throw;
      }
      problems.push_back(error);
      continue;
    }
    log_notes(models.back());
    model.batch = models.back().instance.batch;
    model.open_batch = false;
    kept.push_back(std::move(model));
  }
  suite.models = std::move(kept);
  if (problems.size() == 1 && models.empty() && suite.layers.empty()) {
    throw Error(problems.front());
  }
  for (const Error& problem : problems) {
    spdlog::error("{}", problem.what());
  }
  if (!problems.empty() && models.empty() && suite.layers.empty()) {
    throw Error(Error::Kind::kUser, "no model of the suite could be read, as said above");
  }
  return models;
}

std::vector<PlannedModel> load_models(const ResolvedSuite& suite,
                                      const std::vector<std::string>& only) {
  const auto wanted = [&](const std::string& name) {
    return only.empty() || std::find(only.begin(), only.end(), name) != only.end();
  };
  std::vector<PlannedModel> models;
  for (const ResolvedSuite::Model& model : suite.models) {
    if (!wanted(model.name)) {
      continue;
    }
    models.push_back(load_model(model));
    log_notes(models.back());
  }
  if (models.empty() && !only.empty()) {
    throw Error(Error::Kind::kUser,
                fmt::format("suite '{}' has no model '{}'", suite.name, fmt::join(only, "', '")));
  }
  return models;
}

void keep_models(ResolvedSuite& suite, const std::vector<std::string>& names) {
  std::erase_if(suite.models, [&](const ResolvedSuite::Model& model) {
    return std::find(names.begin(), names.end(), model.name) == names.end();
  });
  suite.layers.clear();
  if (suite.models.empty()) {
    throw Error(Error::Kind::kUser,
                fmt::format("suite '{}' has no model '{}'", suite.name, fmt::join(names, "', '")));
  }
}

}  // namespace plumb
