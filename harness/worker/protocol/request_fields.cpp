// SPDX-License-Identifier: Apache-2.0
// Fields of what `plumb` asks of a worker.
#include <fmt/core.h>

#include <algorithm>
#include <concepts>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "harness/results/measurement_fields.hpp"
#include "harness/worker/protocol/described_content.hpp"
#include "harness/worker/protocol/worker_service.hpp"

namespace plumb::worker {
namespace {

using nlohmann::json;
using results::Described;
using results::FieldLimits;
using results::kMeasuredTime;
using results::refuse_field;

constexpr std::size_t kMaximumBuckets = 64;
constexpr std::size_t kMaximumDims = 1000;
constexpr std::size_t kMaximumLibraries = 1000;
constexpr std::size_t kMaximumModes = 100;
constexpr std::size_t kDigestDigits = 64;
constexpr std::int64_t kMaximumBatch = 1 << 20;
constexpr FieldLimits kKey{.shortest = 1, .longest = results::kKeyText.longest};
constexpr FieldLimits kAttempts{.high = 1000};
constexpr FieldLimits kSamplingRate{.least = kMinSamplingRate, .most = kMaxSamplingRate};
constexpr FieldLimits kProfileTime{.least = 0.0, .most = kMaxProfileBudget.count()};

json caches_value(const std::vector<results::CacheMode>& caches) {
  json list = json::array();
  for (const results::CacheMode cache : caches) {
    list.push_back(to_text(cache));
  }
  return list;
}

std::vector<results::CacheMode> caches_from(const json& value, const char* name) {
  constexpr std::size_t kCacheModes = 3;
  std::vector<results::CacheMode> caches;
  for (const json& word : value) {
    const auto cache =
        word.is_string() ? results::parse_cache_mode(word.get<std::string>()) : std::nullopt;
    if (!cache || caches.size() == kCacheModes) {
      refuse_field(name, fmt::format("not a list of at most {} cache modes", kCacheModes));
    }
    caches.push_back(*cache);
  }
  return caches;
}

json mode_value(const results::ExecutionMode& mode) {
  return to_text(mode);
}

results::ExecutionMode mode_from(const json& value, const char* name) {
  if (!value.is_string()) {
    refuse_field(name, "not a text");
  }
  return results::execution_mode_from(value.get<std::string>());
}

json clock_value(const std::optional<results::SampledProfile::Clock>& clock) {
  return clock ? json(results::to_text(*clock)) : json();
}

std::optional<results::SampledProfile::Clock> clock_from(const json& value, const char* name) {
  if (value.is_null()) {
    return std::nullopt;
  }
  const auto clock =
      value.is_string() ? results::sampling_clock_from(value.get<std::string>()) : std::nullopt;
  if (!clock) {
    refuse_field(name, "not a clock that samples");
  }
  return clock;
}

void check_full(const char* name, const std::filesystem::path& path) {
  if (!path.is_absolute()) {
    refuse_field(name, "not an absolute path");
  }
}

void check(const ModeRequest::Step& step) {
  if (step.choices.empty()) {
    refuse_field("choices", "empty: a step of a mode has no variant");
  }
}

void check(const ExecuteRequest& request) {
  const std::optional<model::DataType> type = model::parse_data_type(request.dtype);
  if (request.dtype != "tf32" && !(type && model::is_floating(*type))) {
    refuse_field("dtype",
                 fmt::format("'{}', which is not a type of models", request.dtype.substr(0, 100)));
  }
  if (request.modes.empty()) {
    refuse_field("modes", "empty: a model is to be executed in no mode");
  }
}

void check_one_mode(const ExecuteRequest& request) {
  if (request.modes.size() != 1) {
    refuse_field("modes", "not one mode");
  }
}

void check(const Alternation::Request& request) {
  for (const ExecuteRequest& shape : request.shapes) {
    check_one_mode(shape);
    if (shape.modes.front().mode != request.shapes.front().modes.front().mode) {
      refuse_field("modes", "not the same one mode of all shapes");
    }
  }
  for (const std::uint32_t shape : request.order) {
    if (shape >= request.shapes.size()) {
      refuse_field("order", "not a list of indices of the shapes");
    }
  }
}

void check(const LoadRequest& request) {
  const auto ascends = [](const auto& a, const auto& b) { return a.samples < b.samples; };
  if (request.buckets.empty() || request.buckets.front().samples != 1 ||
      std::adjacent_find(request.buckets.begin(), request.buckets.end(), std::not_fn(ascends)) !=
          request.buckets.end()) {
    refuse_field("buckets", "a list that does not begin at 1 or does not ascend");
  }
  if (request.batches.maximum_batch > request.buckets.back().samples) {
    refuse_field("maximum_batch", "above the largest bucket");
  }
}

/// Requests of one model.
template <typename Request>
concept NamesModel =
    std::same_as<Request, Trace::Request> || std::same_as<Request, Profile::Request>;

/// Requests of models, whose bytes are attachments.
template <typename Request>
concept NamesModels = NamesModel<Request> || std::same_as<Request, ExecuteRequest> ||
    std::same_as<Request, LoadRequest> || std::same_as<Request, Alternation::Request>;

/// Returns the models that a request names, in the order of their attachments.
template <typename Request>
auto models_of(Request& request) {
  using Plain = std::remove_const_t<Request>;
  using Model = std::conditional_t<std::is_const_v<Request>, const ExecuteRequest, ExecuteRequest>;
  std::vector<Model*> models;
  if constexpr (NamesModel<Plain>) {
    models = {&request.model};
  } else if constexpr (std::same_as<Plain, LoadRequest>) {
    for (auto& bucket : request.buckets) {
      models.push_back(&bucket.model);
    }
  } else if constexpr (std::same_as<Plain, Alternation::Request>) {
    for (auto& shape : request.shapes) {
      models.push_back(&shape);
    }
  } else {
    models = {&request};
  }
  return models;
}

}  // namespace

template <NamesModels Request>
void attach(const Request& request, protocol::Content& content) {
  for (const ExecuteRequest* model : models_of(request)) {
    content.add_attachments(model->model);
  }
}

template <NamesModels Request>
void detach(const protocol::Content& content, Request& request) {
  const auto models = models_of(request);
  if (static_cast<std::size_t>(content.attachments_size()) != models.size()) {
    refuse_field(
        "attachments",
        fmt::format(
            "a list of {}, not the bytes of {} models", content.attachments_size(), models.size()));
  }
  for (std::size_t i = 0; i < models.size(); ++i) {
    models[i]->model = content.attachments(static_cast<int>(i));
  }
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, WorkerService::Setup>& value) {
  fields("libraries", value.libraries, {.elements = kMaximumLibraries});
  fields("threads", value.threads, {.low = 1, .high = 1 << 16});
  fields("observe_kernels", value.observe.kernels);
  fields("observe_metrics", value.observe.metrics, {.elements = kMaxMetrics});
  fields("place", value.place, {.high = std::numeric_limits<std::uint32_t>::max()});
  fields("device", value.device, {.longest = kMaxDeviceName});
  fields("takes_turns", value.takes_turns);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, WorkerService::VariantsRequest>& value) {
  fields("key", value.key.text, kKey);
}

template <typename Fields>
void describe_plan(Fields& fields, Described<Fields, measure::SamplingPlan>& value) {
  constexpr FieldLimits kSamples{.low = 1, .high = kMaxSentSamples};
  fields("warm_up_at_least_seconds", value.warm_up_at_least, kMeasuredTime);
  fields("warm_up_at_most_seconds", value.warm_up_at_most, kMeasuredTime);
  fields("budget_seconds", value.budget, kMeasuredTime);
  fields("relative_half_width", value.relative_half_width, {.least = 0.0, .most = 1e6});
  fields("samples_at_least", value.samples_at_least, kSamples);
  fields("samples_at_most", value.samples_at_most, kSamples);
  fields("sample_at_least_seconds", value.sample_at_least, kMeasuredTime);
  fields(
      "repetitions_at_most", value.repetitions_at_most, {.low = 1, .high = std::int64_t{1} << 40});
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, WorkerService::MeasureRequest>& value) {
  fields("key", value.key.text, kKey);
  fields.converted("caches", value.caches, caches_value, caches_from);
  fields("variants", value.variants, {.elements = kMaximumVariants});
  fields("purpose", value.purpose, results::parse_purpose);
  fields.nested("sampling", [&](auto& sampling) { describe_plan(sampling, value.sampling); });
  fields("race_budget_seconds", value.race_budget, kMeasuredTime);
  fields("race_margin", value.race_margin, {.least = 0.0, .most = 1e6});
  fields.converted("seed", value.seed, results::wide_value, results::wide_from);
  fields("verify", value.verify);
  fields("verify_fully_below_macs", value.verify_fully_below_macs);
  fields("disturbed_attempts", value.disturbed_attempts, kAttempts);
  fields("host_pace_seconds", value.host_pace, kMeasuredTime);
  fields("in_turns", value.in_turns);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, ModeRequest::Choice>& value) {
  fields("variant", value.variant);
  fields("seconds", value.seconds, kMeasuredTime);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, ModeRequest::Step>& value) {
  fields("layers", value.layers);
  fields("key", value.key.text, kKey);
  fields("choices", value.choices);
  if constexpr (Fields::kReads) {
    check(value);
  }
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, ModeRequest>& value) {
  fields.converted("mode", value.mode, mode_value, mode_from);
  fields("steps", value.steps);
  fields("reorder_seconds_per_byte", value.reorder_per_byte, kMeasuredTime);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, ExecuteRequest::Sampling>& value) {
  fields("rate", value.rate, kSamplingRate);
  fields("folder", value.folder);
  if constexpr (Fields::kReads) {
    check_full("folder", value.folder);
  }
}

template <typename Fields>
void describe_code(Fields& fields, Described<Fields, results::ModelCode>& value) {
  fields("file", value.file);
  fields("function", value.function, {.shortest = 1, .longest = 1000});
  fields("sha256", value.sha256, {.shortest = kDigestDigits, .longest = kDigestDigits});
  if constexpr (Fields::kReads) {
    check_full("file", value.file);
    if (value.sha256.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos) {
      refuse_field("sha256", "not a digest of hex digits");
    }
  }
}

/// Leaves out the model's bytes: they are an attachment.
template <typename Fields>
void describe(Fields& fields, Described<Fields, ExecuteRequest>& value) {
  fields("name", value.name);
  fields("path", value.path);
  fields.nested("code", value.code, [](auto& code, auto& of) { describe_code(code, of); });
  fields("batch", value.batch);
  fields("rebatch", value.rebatch);
  fields("dims", value.dims, {.elements = kMaximumDims});
  fields("modes", value.modes, {.elements = kMaximumModes});
  fields("dtype", value.dtype);
  fields("training", value.training);
  fields.nested("sampling", [&](auto& sampling) { describe_plan(sampling, value.sampling); });
  fields.converted("seed", value.seed, results::wide_value, results::wide_from);
  fields("disturbed_attempts", value.disturbed_attempts, kAttempts);
  fields("host_pace_seconds", value.host_pace, kMeasuredTime);
  fields("profile", value.profile);
  fields("verify", value.verify);
  fields("in_turns", value.in_turns);
  fields("sampled", value.sampled);
  if constexpr (Fields::kReads) {
    check(value);
  }
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, LoadRequest::Bucket>& value) {
  fields("samples", value.samples, {.low = 1, .high = kMaximumBatch});
  fields("model", value.model);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, LoadRequest>& value) {
  fields("buckets", value.buckets, {.elements = kMaximumBuckets});
  fields("inputs_per_sample", value.inputs_per_sample, {.low = 1, .high = std::int64_t{1} << 40});
  fields("load", value.load);
  fields("maximum_batch", value.batches.maximum_batch, {.low = 1});
  fields("timeout_seconds", value.batches.timeout, kMeasuredTime);
  fields("lanes", value.batches.lanes, {.low = 1, .high = 1024});
  fields("budget_seconds", value.budget, kMeasuredTime);
  fields("data_set_samples", value.data_set, {.low = 1, .high = 1 << 26});
  fields("accuracy_log", value.accuracy_log);
  if constexpr (Fields::kReads) {
    check(value);
  }
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, WorkerService::PreviewRequest>& value) {
  fields("key", value.key.text, kKey);
  fields("device", value.device, {.longest = std::size_t{64} << 10U});
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, Reproducer::Request>& value) {
  fields("key", value.key.text, kKey);
  fields("rows", value.rows, {.elements = kMaximumReproducerRows});
  fields.converted("seed", value.seed, results::wide_value, results::wide_from);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, Trace::Request>& value) {
  fields("model", value.model);
  fields("folder", value.folder);
  fields("executions", value.executions, {.low = 1, .high = kMaxTracedExecutions});
  if constexpr (Fields::kReads) {
    check_one_mode(value.model);
    check_full("folder", value.folder);
  }
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, Alternation::Request>& value) {
  fields("shapes", value.shapes, {.elements = kMaxAlternatedShapes});
  fields(
      "order", value.order, {.high = kMaxAlternatedShapes, .elements = kMaxAlternatedExecutions});
  if constexpr (Fields::kReads) {
    check(value);
  }
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, Profile::Request>& value) {
  fields("model", value.model);
  fields.since("layer", value.layer);
  fields("folder", value.folder);
  fields("rate", value.rate, kSamplingRate);
  fields("budget_seconds", value.budget, kProfileTime);
  fields("within_seconds", value.within, kProfileTime);
  fields.converted("clock", value.clock, clock_value, clock_from);
  fields("chains", value.chains);
  if constexpr (Fields::kReads) {
    check_one_mode(value.model);
    check_full("folder", value.folder);
  }
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, WorkerService::SamplesRequest>& value) {
  fields.converted("mode", value.mode, mode_value, mode_from);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, WorkerService::ExportRequest>& value) {
  fields.nested("code", [&](auto& code) { describe_code(code, value.code); });
  fields("path", value.path);
  fields.converted("seed", value.seed, results::wide_value, results::wide_from);
  if constexpr (Fields::kReads) {
    check_full("path", value.path);
  }
}

#define PLUMB_REQUEST(Type)                                  \
  template protocol::Content to_protocol<Type>(const Type&); \
  template Type from_protocol<Type>(const protocol::Content&);

PLUMB_REQUEST(WorkerService::Setup)
PLUMB_REQUEST(WorkerService::VariantsRequest)
PLUMB_REQUEST(WorkerService::MeasureRequest)
PLUMB_REQUEST(ExecuteRequest)
PLUMB_REQUEST(LoadRequest)
PLUMB_REQUEST(WorkerService::PreviewRequest)
PLUMB_REQUEST(Reproducer::Request)
PLUMB_REQUEST(Trace::Request)
PLUMB_REQUEST(Alternation::Request)
PLUMB_REQUEST(Profile::Request)
PLUMB_REQUEST(WorkerService::SamplesRequest)
PLUMB_REQUEST(WorkerService::ExportRequest)

#undef PLUMB_REQUEST

}  // namespace plumb::worker
