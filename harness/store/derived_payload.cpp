// SPDX-License-Identifier: Apache-2.0
#include "harness/store/derived_payload.hpp"

#include <fmt/format.h>

#include <array>
#include <exception>
#include <nlohmann/json.hpp>
#include <string_view>

#include "harness/base/error.hpp"
#include "harness/results/exclusion.hpp"
#include "harness/results/execution.hpp"
#include "harness/results/json_object.hpp"
#include "harness/results/paired_round.hpp"
#include "harness/results/results_json.hpp"
#include "harness/results/scenario_result.hpp"
#include "harness/results/trace/executed_trace.hpp"

namespace plumb::store {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxEntries = 1'000'000;

void check_models(const std::string& payload, const char* list) {
  const json document = results::parse_json(payload);
  for (const json& model : results::JsonObject(document).array("models", kMaxEntries)) {
    for (const json& entry : results::JsonObject(model).array(list, kMaxEntries)) {
      static_cast<void>(results::JsonObject(entry));
    }
  }
}

void check_bound(const std::string& payload) {
  check_models(payload, "bounds");
}

void check_whatif(const std::string& payload) {
  check_models(payload, "whatifs");
}

void check_model_results(const std::string& payload) {
  check_models(payload, "executions");
}

void check_noise(const std::string& payload) {
  const json document = results::parse_json(payload);
  for (const json& entry : results::JsonObject(document).array("metrics", kMaxEntries)) {
    const results::JsonObject metric(entry);
    static_cast<void>(metric.text("series"));
    static_cast<void>(metric.number("process"));
    static_cast<void>(metric.number("floor"));
  }
}

void check_comparison(const std::string& payload) {
  const json document = results::parse_json(payload);
  const results::JsonObject comparison(document);
  static_cast<void>(comparison.texts("varied", kMaxEntries));
  const results::JsonObject limits = comparison.object("limits");
  for (const char* const name :
       {"alpha", "false_discovery_rate", "end_to_end_floor", "layer_floor"}) {
    static_cast<void>(limits.number(name));
  }
}

void check_confirmation(const std::string& payload) {
  const json document = results::parse_json(payload);
  const results::JsonObject confirmation(document);
  static_cast<void>(confirmation.texts("series", kMaxEntries));
  if (confirmation.has("pairs")) {
    static_cast<void>(confirmation.object("pairs").array("metrics", kMaxEntries));
  } else {
    static_cast<void>(confirmation.integer("after_process", 0, results::JsonObject::kHighest));
  }
}

void check_run_times(const std::string& payload) {
  const json document = results::parse_json(payload);
  for (const json& entry : results::JsonObject(document).array("series", kMaxEntries)) {
    const results::JsonObject series(entry);
    static_cast<void>(series.text("id"));
    for (const json& value : series.array("log_seconds", kMaxEntries)) {
      if (!value.is_number()) {
        throw Error(Error::Kind::kUser, "field 'log_seconds' has an element that is not a number");
      }
    }
  }
}

void check_qualification(const std::string& payload) {
  const json document = results::parse_json(payload);
  const results::JsonObject qualification(document);
  for (const char* const name : {"baseline", "candidate", "criteria"}) {
    static_cast<void>(qualification.object(name));
  }
  for (const char* const name : {"started", "finished"}) {
    static_cast<void>(qualification.time(name));
  }
  for (const char* const name : {"suite", "reason", "verdict"}) {
    static_cast<void>(qualification.text(name));
  }
  for (const char* const name : {"results", "models", "layers", "findings", "looks", "notes"}) {
    static_cast<void>(qualification.array(name, kMaxEntries));
  }
}

void check_change(const std::string& payload) {
  const json document = results::parse_json(payload);
  const results::JsonObject change(document);
  static_cast<void>(change.text("state"));
  static_cast<void>(change.number("before_seconds"));
  static_cast<void>(change.number("after_seconds"));
}

void check_baseline(const std::string& payload) {
  const json document = results::parse_json(payload);
  const results::JsonObject baseline(document);
  static_cast<void>(baseline.time("accepted"));
  for (const char* const name : {"who", "reason", "previous"}) {
    static_cast<void>(baseline.text(name));
  }
}

void check_json(const std::string& payload) {
  static_cast<void>(results::parse_json(payload));
}

/// Makes a check of a function that parses a payload.
template <auto parse>
void check_with(const std::string& payload) {
  static_cast<void>(parse(payload));
}

struct Kind {
  std::string_view name;
  void (*check)(const std::string& payload);
};

constexpr std::array kKinds{
    Kind{results::kBaselineRecord, check_baseline},
    Kind{results::kBoundRecord, check_bound},
    Kind{results::kCalibrationRecord, check_with<results::calibration_from_json>},
    Kind{results::kChangeRecord, check_change},
    Kind{results::kComparisonRecord, check_comparison},
    Kind{results::kConfirmationRecord, check_confirmation},
    Kind{results::kModelResultsRecord, check_model_results},
    Kind{results::kLoadRecord, check_with<results::scenario_result_from_json>},
    Kind{results::kPairedExecutionRecord, check_with<results::execution_from_json>},
    Kind{results::kQualificationRecord, check_qualification},
    Kind{results::kWhatIfRecord, check_whatif},
    Kind{results::kAlternationRecord, check_with<results::execution_from_json>},
    Kind{results::kControlsRecord, check_with<results::controls_from_json>},
    Kind{results::kExclusionsRecord, check_with<results::exclusions_from_json>},
    Kind{results::kExecutionRecord, check_with<results::execution_from_json>},
    Kind{results::kTraceRecord, check_with<results::traced_losses_from_json>},
    Kind{results::kNoiseRecord, check_noise},
    Kind{results::kRunTimesRecord, check_run_times},
};

}  // namespace

void check_derived_payload(const results::DerivedRecord& record) {
  auto check = &check_json;
  for (const Kind& kind : kKinds) {
    check = kind.name == record.kind ? kind.check : check;
  }
  try {
    check(record.payload);
  } catch (const std::exception& error) {
    throw Error(Error::Kind::kUser,
                fmt::format("the payload of '{}' of '{}' is not valid: {}",
                            record.kind,
                            record.subject,
                            error.what()));
  }
}

}  // namespace plumb::store
