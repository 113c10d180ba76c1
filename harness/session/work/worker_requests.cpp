// SPDX-License-Identifier: Apache-2.0
#include "harness/session/work/worker_requests.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "harness/analysis/bounds/model_partition.hpp"
#include "harness/analysis/micro_batch/layer_division.hpp"
#include "harness/base/error.hpp"
#include "harness/results/results_json.hpp"
#include "harness/rewrite/fused_graph.hpp"
#include "harness/rewrite/gradient/folded_norms.hpp"
#include "harness/rewrite/rewrite.hpp"
#include "harness/rewrite/types/typed_graph.hpp"
#include "harness/worker/protocol/worker_service.hpp"

namespace plumb::session {
namespace {

std::vector<analysis::PartitionStep> cover_steps(const PlannedModel& model,
                                                 const analysis::ResultSet& results,
                                                 const results::ExecutionMode& mode) {
  const analysis::ModelPartition::Mode cover = mode.fuses() && !mode.int8  // 8 bits: fused already
                                                   ? analysis::ModelPartition::Mode::kFusion
                                                   : analysis::ModelPartition::Mode::kPlain;
  const auto steps_of = [&](const model::Graph& graph) {
    return analysis::partition_model(graph, results, cover, mode.fusion_family()).steps;
  };
  return mode.other_type().empty() ? steps_of(model.graph)
                                   : steps_of(rewrite::typed_graph(model.graph, mode.other_type()));
}

bool complete(const std::vector<analysis::PartitionStep>& steps) {
  return std::all_of(steps.begin(), steps.end(), [](const analysis::PartitionStep& step) {
    return step.time.has_value();
  });
}

/// Returns the price of a change of layout, for each byte read or written. Absent: not calibrated.
std::optional<Seconds> seconds_per_byte(const analysis::ResultSet& results) {
  const std::optional<results::Calibration>& calibration = results.calibration();
  return calibration && calibration->memory_bandwidth.value > 0.0
             ? std::optional(Seconds(1.0 / calibration->memory_bandwidth.value))
             : std::nullopt;
}

/// Lists the variants of a step with their times. Without a price of reorders, only the fastest.
std::vector<worker::ModeRequest::Choice> list_choices(const analysis::PartitionStep& step,
                                                      const analysis::ResultSet& results) {
  std::vector<worker::ModeRequest::Choice> choices;
  if (seconds_per_byte(results)) {
    for (const analysis::KeyTime& time :
         results.variant_times(step.key, results::CacheMode::kNone)) {
      choices.push_back({time.variant, time.time.median});
    }
  }
  if (choices.empty()) {
    choices.push_back({step.time->variant, step.time->time.median});
  }
  return choices;
}

/// Lists the layers that the mode micro_batch executes otherwise than the library by its own
/// choice. Absent: times are missing, of which the log tells.
std::optional<std::vector<worker::ModeRequest::Step>> list_divisions(
    const PlannedModel& model,
    const analysis::ResultSet& results,
    const results::VariantId::DivisionRule& rule) {
  std::vector<worker::ModeRequest::Step> steps;
  for (const model::Layer& layer : model.graph.layers) {
    if (layer.role != model::Layer::Role::kCompute ||
        analysis::part_sizes(layer.spec, rule.policy).empty()) {
      continue;
    }
    const analysis::LayerDivision division = analysis::divide_layer(results, layer.spec, rule);
    if (!division.why_not.empty()) {
      spdlog::warn("{}: not executed in the mode micro_batch: {}: {}",
                   to_text(model.instance, ", "),
                   layer.name,
                   division.why_not);
      return std::nullopt;
    }
    if (!division.own_choice) {
      const auto id = static_cast<model::LayerId>(&layer - model.graph.layers.data());
      steps.push_back({{id}, layer.key, {{division.variant, division.time()}}});
    }
  }
  return steps;
}

worker::ModeRequest make_request(const results::ExecutionMode& mode,
                                 const std::vector<analysis::PartitionStep>& steps,
                                 const analysis::ResultSet& results) {
  worker::ModeRequest request{mode, {}, {}};
  if (mode.best_variant) {
    for (const analysis::PartitionStep& step : steps) {
      request.steps.push_back({step.layers, step.key, list_choices(step, results)});
    }
    request.reorder_per_byte = seconds_per_byte(results).value_or(Seconds(0));
  }
  return request;
}

/// Returns whether a model has layers that can use a channels-last layout.
bool has_images(const model::Graph& graph) {
  return std::any_of(graph.layers.begin(), graph.layers.end(), [](const model::Layer& layer) {
    return layer.role == model::Layer::Role::kCompute &&
           (layer.spec.op == "conv" || layer.spec.op == "conv_transpose");
  });
}

/// Joins all that belongs to a family of fusions, whether or not a backend has it.
model::Graph with_family(const model::Graph& graph, std::string_view family) {
  const std::vector<rewrite::Match> joined = rewrite::largest_matches(
      graph, [](const rewrite::Match&) { return true; }, family);
  return rewrite::fused_graph(graph, joined).graph;
}

/// Returns whether a mode needs measured layers before it can be executed or makes sense.
bool needs_times(const results::ExecutionMode& mode) {
  return mode.best_variant || !mode.other_type().empty();
}

}  // namespace

bool has_micro_batch(std::span<const results::ExecutionMode> modes) {
  return std::any_of(modes.begin(), modes.end(), [](const results::ExecutionMode& mode) {
    return mode.micro_batch;
  });
}

std::vector<PlannedModel> models_in_other_forms(std::span<const PlannedModel> models,
                                                std::span<const results::ExecutionMode> modes,
                                                std::set<std::string> types) {
  for (const results::ExecutionMode& mode : modes) {
    if (mode.best_variant && !mode.other_type().empty()) {
      types.emplace(mode.other_type());
    }
  }
  const bool folded =
      std::any_of(modes.begin(), modes.end(), [](const auto& mode) { return mode.folded_norms; });
  std::vector<PlannedModel> typed;
  for (const PlannedModel& model : models) {
    const auto has = [&](std::string_view type) {
      return model.instance.dtype == to_text(model::DataType::kF32) &&
             rewrite::has_form(model.graph, type);
    };
    for (const results::ExecutionMode& mode : modes) {
      const std::string_view type = mode.other_type();
      if (!mode.fusion_family().empty() && (type.empty() || has(type))) {
        typed.push_back(
            {model.instance,
             with_family(type.empty() ? model.graph : rewrite::typed_graph(model.graph, type),
                         mode.fusion_family())});
      }
    }
    if (auto step = folded ? rewrite::folded_norms(model.graph) : std::nullopt) {
      typed.push_back({model.instance, std::move(step->graph)});
    }
    for (const std::string& type : types) {
      if (has(type)) {
        typed.push_back({model.instance, rewrite::typed_graph(model.graph, type)});
      }
    }
  }
  return typed;
}

analysis::ResultSet read_result_set(const store::Store& store, const results::RunId& run) {
  std::optional<results::Calibration> calibration;
  const std::string environment = store.find_run(run).header.environment.id();
  if (const auto record = store.latest_calibration(environment)) {
    calibration = results::calibration_from_json(record->payload);
  }
  return analysis::ResultSet(store.measurements(run), calibration);
}

std::vector<worker::ModeRequest> mode_requests(const PlannedModel& model,
                                               const analysis::ResultSet& results,
                                               const WantedModes& wanted) {
  const bool asked = !wanted.modes.empty();
  std::vector<worker::ModeRequest> requests;
  for (const results::ExecutionMode& mode : asked ? wanted.modes : results::default_modes()) {
    if (!mode.other_type().empty() && model.instance.dtype != to_text(model::DataType::kF32)) {
      continue;  // it is in another type already
    }
    if (!rewrite::has_form(model.graph, mode.other_type())) {
      if (asked) {
        requests.push_back({mode, {}, {}});  // the worker says why there is none
      }
      continue;
    }
    if (mode.channels_last && !asked && !has_images(model.graph)) {
      continue;
    }
    if (mode.micro_batch) {
      if (auto divided = list_divisions(model, results, wanted.division)) {
        requests.push_back({mode, *std::move(divided), {}});
      }
      continue;
    }
    std::vector<analysis::PartitionStep> steps;
    // A mode that was asked for needs no times if the library chooses its variants.
    if (needs_times(mode) && !(asked && !mode.best_variant)) {
      steps = cover_steps(model, results, mode);
      if (steps.empty() || !complete(steps)) {
        if (asked) {
          spdlog::warn(
              "{}: not executed in the mode {}, which needs a time for every layer in "
              "this run",
              to_text(model.instance, ", "),
              to_text(mode));
        }
        continue;
      }
    }
    requests.push_back(make_request(mode, steps, results));
  }
  return requests;
}

std::optional<results::Controls> measure_controls(
    const std::function<
        std::vector<results::Measurement>(const worker::WorkerService::MeasureRequest&)>& measure) {
  results::Controls controls;
  for (const results::Controls::Time& control : results::kControlTimes) {
    worker::WorkerService::MeasureRequest request;
    request.key.text = control.key;
    const std::vector<results::Measurement> rows = measure(request);
    const auto row = first_timed(rows);
    if (row == rows.end()) {
      return std::nullopt;
    }
    controls.*control.time = row->summary.median;
  }
  return controls;
}

std::vector<results::Measurement>::const_iterator first_timed(
    const std::vector<results::Measurement>& rows) {
  return std::find_if(rows.begin(), rows.end(), [](const results::Measurement& row) {
    return row.purpose == results::Purpose::kFull && row.outcome.timed();
  });
}

namespace {

constexpr std::size_t kMaxVariants = 16;
constexpr const char* kMetricsMissing = "metrics_missing";

bool is_wanted(const results::Measurement& row) {
  return row.purpose != results::Purpose::kRace && row.outcome.timed();
}

std::vector<std::string> list_variants(const std::vector<results::Measurement>& rows) {
  std::vector<const results::Measurement*> timed;
  for (const results::Measurement& row : rows) {
    if (is_wanted(row)) {
      timed.push_back(&row);
    }
  }
  std::stable_sort(
      timed.begin(), timed.end(), [](const results::Measurement* a, const results::Measurement* b) {
        return a->library_choice != b->library_choice ? a->library_choice
                                                      : a->summary.median < b->summary.median;
      });
  std::vector<std::string> variants;
  for (const results::Measurement* const row : timed) {
    const bool known = std::find(variants.begin(), variants.end(), row->variant) != variants.end();
    if (!known && variants.size() < kMaxVariants) {
      variants.push_back(row->variant);
    }
  }
  return variants;
}

/// Returns a request with as little timing as possible, because its times are not used.
worker::WorkerService::MeasureRequest request_for(const std::vector<results::Measurement>& rows) {
  worker::WorkerService::MeasureRequest request;
  request.key = rows.front().key;
  request.variants = list_variants(rows);
  request.sampling.warm_up_at_most = Seconds(0.0);
  request.sampling.budget = Seconds(1e-3);
  request.sampling.samples_at_least = 2;
  request.sampling.samples_at_most = 2;
  request.disturbed_attempts = 1;
  request.verify = false;
  return request;
}

/// Removes the attributes that are "unknown", with the ".source" of each.
results::Attributes known(results::Attributes seen) {
  for (auto one = seen.begin(); one != seen.end();) {
    if (one->second == "unknown") {
      seen.erase(one->first + ".source");
      one = seen.erase(one);
    } else {
      ++one;
    }
  }
  return seen;
}

/// Adds attributes and readings to the timed rows of a variant; empty: of all variants. New
/// attributes replace those of the row, new readings do not.
void add(std::vector<results::Measurement>& rows,
         const std::string& variant,
         const results::Attributes& attributes,
         const results::Readings& readings) {
  for (results::Measurement& row : rows) {
    if (is_wanted(row) && (variant.empty() || row.variant == variant)) {
      results::Attributes above = attributes;
      above.merge(row.attributes);
      row.attributes = std::move(above);
      row.readings.merge(results::Readings(readings));
    }
  }
}

void miss(const char* attribute,
          const std::string& reason,
          std::vector<results::Measurement>& rows) {
  spdlog::warn("{}: {}", attribute, reason);
  add(rows, "", {{attribute, reason}}, {});
}

/// Executes the variants in a worker that observes them, and adds what it reports to the rows. If
/// it fails, the rows keep the reason as the attribute `missing`.
void look(worker::WorkerProcess::Options settings,
          Seconds timeout,
          worker::WorkerService::Setup::Observation observe,
          const char* missing,
          std::vector<results::Measurement>& rows) {
  if (std::none_of(rows.begin(), rows.end(), is_wanted)) {
    return;
  }
  settings.setup.observe = std::move(observe);
  try {
    worker::WorkerProcess worker(settings);
    worker.measure(request_for(rows), timeout, [&](const results::Measurement& seen) {
      add(rows, seen.variant, known(seen.attributes), seen.readings);
    });
  } catch (const worker::WorkerDied& death) {
    miss(missing, death.outcome().reason, rows);
  } catch (const Error& error) {
    miss(missing, error.what(), rows);
  }
}

}  // namespace

void look_at_kernels(worker::WorkerProcess::Options settings,
                     Seconds timeout,
                     std::vector<results::Measurement>& rows) {
  look(std::move(settings), timeout, {.kernels = true, .metrics = {}}, "kernels_missing", rows);
}

void look_at_counters(worker::WorkerProcess::Options settings,
                      Seconds timeout,
                      std::vector<std::string> metrics,
                      std::vector<results::Measurement>& rows) {
  look(std::move(settings),
       timeout,
       {.kernels = false, .metrics = std::move(metrics)},
       kMetricsMissing,
       rows);
}

void miss_counters(const std::string& reason, std::vector<results::Measurement>& rows) {
  miss(kMetricsMissing, reason, rows);
}

}  // namespace plumb::session
