// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "harness/loadgen/load_settings.hpp"
#include "harness/results/json_fields.hpp"

/// Fields of a requested load, for results and for requests. For .cpp files only, as
/// json_object.hpp.
namespace plumb::results {

/// Words of a load.
inline constexpr std::array kLoadScenarios{loadgen::LoadScenario::kSingleStream,
                                           loadgen::LoadScenario::kMultiStream,
                                           loadgen::LoadScenario::kServer,
                                           loadgen::LoadScenario::kOffline};
inline constexpr std::array kLoadModes{loadgen::LoadMode::kPerformance,
                                       loadgen::LoadMode::kAccuracy};

template <typename Fields>
void describe(Fields& fields, Described<Fields, loadgen::LoadSeeds>& value) {
  fields.converted("samples", value.samples, wide_value, wide_from);
  fields.converted("schedule", value.schedule, wide_value, wide_from);
  // Earlier versions took the data set in its own order, and stored no seed of it.
  fields.converted_since("data_set", value.data_set, wide_value, wide_from, std::uint64_t{0});
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, loadgen::RequestedLoad>& value) {
  fields("scenario", value.scenario, kLoadScenarios);
  fields("mode", value.mode, kLoadModes);
  fields("minimum_duration_seconds", value.minimum_duration, kMeasuredTime);
  fields("fixed_duration_seconds", value.fixed_duration, kMeasuredTime);
  fields("maximum_duration_seconds", value.maximum_duration, kMeasuredTime);
  fields("minimum_queries", value.minimum_queries);
  fields("samples_per_query", value.samples_per_query);
  fields("percentile", value.percentile);
  fields("latency_limit_seconds", value.latency_limit, kMeasuredTime);
  fields("target_rate", value.target_rate);
  fields("expected_rate", value.expected_rate);
  fields("warm_up_seconds", value.warm_up, kMeasuredTime);
  fields("stall_limit_seconds", value.stall_limit, kMeasuredTime);
  fields("loaded_samples", value.loaded_samples);
  fields("total_samples", value.total_samples);
  fields("seeds", value.seeds);
}

}  // namespace plumb::results
