// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/model_source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <onnx/onnx_pb.h>

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
    const bool int8 = model.dtype == kInt8;
    const std::optional<DataType> type = int8 ? DataType::kF32 : parse_data_type(model.dtype);
    if (!type || !is_floating(*type)) {
      throw Error(
          Error::Kind::kUser,
          fmt::format("model '{}' asks for dtype '{}', which is none of f32, bf16, f16, int8",
                      model.name,
                      model.dtype));
    }
    Graph graph = load_graph(model.path ? model.path->string() : model.name,
                             ReadOptions{.batch = model.batch, .dims = model.dims});
    if (int8) {
      graph = int8_graph(graph).graph;
    } else if (*type != DataType::kF32) {
      graph = with_precision(graph, *type);
    }
    models.push_back(
        {ModelInstance{model.name, model.batch, model.dtype, model.dims}, std::move(graph)});
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
