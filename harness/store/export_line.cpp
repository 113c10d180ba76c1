// SPDX-License-Identifier: Apache-2.0
#include "harness/store/export_line.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <exception>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "harness/base/digest.hpp"
#include "harness/base/encoding.hpp"
#include "harness/base/error.hpp"
#include "harness/results/exclusion.hpp"
#include "harness/results/execution.hpp"
#include "harness/results/json_object.hpp"
#include "harness/results/paired_round.hpp"
#include "harness/results/profile/profile_json.hpp"
#include "harness/results/results_json.hpp"
#include "harness/results/scenario_result.hpp"
#include "harness/results/trace/executed_trace.hpp"

namespace plumb::store {
namespace {

using nlohmann::json;

constexpr int kFormat = 3;
constexpr std::size_t kMaximumReferences = 1'000'000;
constexpr std::int64_t kMaximumPosition = 0xFFFFFFFF;

// The lines are written field by field, so that a row's JSON is inserted as the text that it
// already is.
json to_value(const std::vector<ExportLines::RowReference>& rows) {
  json result = json::array();
  for (const ExportLines::RowReference& row : rows) {
    result.push_back(json::array({row.run, row.position}));
  }
  return result;
}

std::string write(const ExportLines::Header& header) {
  return fmt::format(R"({{"type":"plumbline_export","format":{}}})", header.format);
}

std::string write(const results::RunRecord& record) {
  return fmt::format(R"({{"type":"run","state":"{}","finished":{},"tags":{},"run":{}}})",
                     to_text(record.state),
                     record.finished ? json_text(to_text(*record.finished)) : "null",
                     json_text(record.tags),
                     to_json(record.header));
}

std::string write(const ExportLines::Row& row) {
  return fmt::format(R"({{"type":"row","run":{},"position":{},"checksum":"{:016x}","row":{}}})",
                     json_text(row.place.run),
                     row.place.position,
                     static_cast<std::uint64_t>(row.checksum),
                     to_json(row.row));
}

std::string write(const ExportLines::Reuse& reuse) {
  return json_text({{"type", "reused"}, {"run", reuse.run}, {"rows", to_value(reuse.rows)}});
}

std::string write(const ExportLines::Derived& derived) {
  const results::DerivedRecord& record = derived.record;
  return json_text({{"type", "derived"},
                    {"run", record.run},
                    {"kind", record.kind},
                    {"subject", record.subject},
                    {"analysis_version", record.analysis_version},
                    {"payload", record.payload},
                    {"computed", to_text(record.computed)},
                    {"inputs", to_value(derived.inputs)}});
}

std::string write(const results::StoredProfile& stored) {
  return json_text({{"type", "profile"},
                    {"run", stored.run},
                    {"subject", stored.subject},
                    {"taken", to_text(stored.taken)},
                    {"profile", json(results::to_json(stored.profile))}});
}

std::string write(const ExportLines::End& end) {
  return fmt::format(R"({{"type":"end","lines":{}}})", end.lines);
}

std::vector<ExportLines::RowReference> references(const results::JsonObject& object,
                                                  const char* name) {
  std::vector<ExportLines::RowReference> rows;
  for (const json& pair : object.array(name, kMaximumReferences)) {
    const bool good = pair.is_array() && pair.size() == 2 && pair[0].is_string() &&
                      pair[1].is_number_unsigned() &&
                      pair[1].get<std::uint64_t>() <= static_cast<std::uint64_t>(kMaximumPosition);
    if (!good) {
      throw Error(Error::Kind::kUser,
                  fmt::format("field '{}' is not a list of [run, position]", name));
    }
    rows.push_back({pair[0].get<std::string>(), pair[1].get<std::int64_t>()});
  }
  return rows;
}

ExportLines::Header read_header(const results::JsonObject& object) {
  const std::int64_t format = object.integer("format", 1, results::JsonObject::kHighest);
  if (format > kFormat) {
    throw Error(Error::Kind::kUser,
                fmt::format("the export has format {}, but this program reads up to {}: use the "
                            "newer plumb that wrote it",
                            format,
                            kFormat));
  }
  return {static_cast<int>(format)};
}

results::RunRecord read_run(const json& value, const results::JsonObject& object) {
  results::RunRecord run;
  const std::string& state = object.text("state");
  const std::optional<results::RunState> known = results::parse_run_state(state);
  if (!known) {
    throw Error(Error::Kind::kUser, fmt::format("field 'state' has the unknown value '{}'", state));
  }
  run.state = *known;
  if (object.has("finished")) {
    run.finished = object.time("finished");
  }
  run.tags = object.texts("tags", 1000);
  (void)object.object("run");
  run.header = results::run_header_from_json(value["run"].dump());
  return run;
}

ExportLines::Row read_row_line(const json& value, const results::JsonObject& object) {
  ExportLines::Row row;
  row.place = {object.text("run"), object.integer("position", 0, kMaximumPosition)};
  const std::string& hex = object.text("checksum");
  std::uint64_t checksum = 0;
  const auto [end, failure] = std::from_chars(hex.data(), hex.data() + hex.size(), checksum, 16);
  if (hex.size() != 16 || failure != std::errc{} || end != hex.data() + hex.size()) {
    throw Error(Error::Kind::kUser, "field 'checksum' is not 16 hexadecimal digits");
  }
  row.checksum = static_cast<std::int64_t>(checksum);
  (void)object.object("row");
  row.row = results::measurement_from_json(value["row"].dump());
  return row;
}

ExportLines::Derived read_derived(const results::JsonObject& object) {
  ExportLines::Derived derived;
  results::DerivedRecord& record = derived.record;
  record.run = object.text("run");
  record.kind = object.text("kind");
  record.subject = object.text("subject");
  record.analysis_version = object.text("analysis_version");
  record.payload = object.text("payload");
  record.computed = object.time("computed");
  derived.inputs = references(object, "inputs");
  return derived;
}

results::StoredProfile read_profile(const json& value, const results::JsonObject& object) {
  results::StoredProfile stored;
  stored.run = object.text("run");
  stored.subject = object.text("subject");
  stored.taken = object.time("taken");
  (void)object.object("profile");
  stored.profile = results::named_profile_from_json(value["profile"]);
  return stored;
}

}  // namespace

std::string to_json(const ExportLine& line) {
  return std::visit([](const auto& content) { return write(content); }, line);
}

ExportLine parse_export_line(std::string_view text) {
  const json value = results::parse_json(text);
  const results::JsonObject object(value);
  const std::string& type = object.text("type");
  if (type == "row") {
    return read_row_line(value, object);
  }
  if (type == "run") {
    return read_run(value, object);
  }
  if (type == "reused") {
    return ExportLines::Reuse{object.text("run"), references(object, "rows")};
  }
  if (type == "derived") {
    return read_derived(object);
  }
  if (type == "profile") {
    return read_profile(value, object);
  }
  if (type == "end") {
    return ExportLines::End{object.integer("lines", 0, results::JsonObject::kHighest)};
  }
  if (type == "plumbline_export") {
    return read_header(object);
  }
  throw Error(Error::Kind::kUser, fmt::format("field 'type' has the unknown value '{}'", type));
}

namespace {

constexpr std::string_view kField = R"(,"digest":")";
constexpr std::string_view kEnd = R"("})";
constexpr std::size_t kDigits = 16;
constexpr std::size_t kSealSize = kField.size() + kDigits + kEnd.size();

std::uint64_t compute_digest(std::string_view line, std::uint64_t before) {
  return hash64(std::as_bytes(std::span(line)), before);
}

}  // namespace

std::string ExportLines::seal(std::string_view line) {
  PLUMB_CHECK(line.ends_with('}'));
  digest_ = compute_digest(line, digest_);
  return fmt::format("{}{}{:016x}{}", line.substr(0, line.size() - 1), kField, digest_, kEnd);
}

bool ExportLines::is_sealed(std::string_view line) {
  return line.size() > kSealSize && line.ends_with(kEnd) &&
         line.substr(line.size() - kSealSize, kField.size()) == kField;
}

std::string ExportLines::unseal(std::string_view line) {
  if (!is_sealed(line)) {
    throw Error(Error::Kind::kUser, "the line has no digest: it was altered or cut off");
  }
  std::string content(line.substr(0, line.size() - kSealSize));
  content += '}';
  digest_ = compute_digest(content, digest_);
  const std::string_view digits = line.substr(line.size() - kEnd.size() - kDigits, kDigits);
  if (digits != fmt::format("{:016x}", digest_)) {
    throw Error(Error::Kind::kUser,
                "the line does not match its digest: it or the order of the lines was altered");
  }
  return content;
}

namespace {

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
