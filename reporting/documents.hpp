// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "harness/model/graph.hpp"
#include "harness/results/environment.hpp"
#include "harness/results/run.hpp"
#include "reporting/report.hpp"

namespace plumb {

/// Ways in which a command prints: for people, or as JSON. The JSON is one document with
/// `schema_version` (fields: DESIGN §6).
enum class Style { kText, kJson };

inline constexpr int kJsonSchemaVersion = 1;

/// Names one model a user can ask for.
struct ModelListing {
  std::string name;
  std::string source;
  std::string task;
  std::map<std::string, std::int64_t> axes;  ///< what varies beside the batch, and its standard
  std::string rounds;                        ///< MLPerf rounds; empty: none
  std::string deviations;                    ///< from the benchmark's model; empty: none
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
