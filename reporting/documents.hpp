// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "harness/model/graph.hpp"
#include "harness/results/environment.hpp"
#include "harness/results/run.hpp"
#include "reporting/report.hpp"

namespace plumb {

/// Says how a command prints: for people, or one JSON document with `schema_version` (fields:
/// DESIGN §6).
enum class Style { kText, kJson };

inline constexpr int kJsonSchemaVersion = 1;

/// Names one model a user can ask for.
struct ModelListing {
  std::string name;
  std::string source;
  std::string task;
};

/// `plumb model list`
void write_model_list(std::span<const ModelListing> models, Style style, std::ostream& out);
/// `plumb model show`
void write_model(const Graph& graph, Style style, std::ostream& out);
/// `plumb runs`
void write_runs(std::span<const RunRecord> runs, Style style, std::ostream& out);
/// `plumb bound`
void write_bounds(const RunReport& report, Style style, std::ostream& out);
/// `plumb whatif`
void write_what_ifs(const RunReport& report, Style style, std::ostream& out);
/// `plumb env`
void write_environment(const Environment& environment,
                       Style style,
                       bool explain,
                       std::ostream& out);
/// `plumb layer`: all rows of one key, fastest first
void write_layer(const LayerKey& key,
                 std::span<const Measurement> rows,
                 const Environment& environment,
                 Style style,
                 std::ostream& out);

}  // namespace plumb
