// SPDX-License-Identifier: Apache-2.0
// Fields of what a worker answers. Those of results that are stored, too, are in harness/results.
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "harness/results/measurement_fields.hpp"
#include "harness/worker/protocol/described_content.hpp"

namespace plumb::worker {
namespace {

using nlohmann::json;
using results::Described;
using results::kMeasuredTime;
using results::refuse_field;

static_assert(std::endian::native == std::endian::little, "attachments are little-endian");

constexpr std::size_t kMaximumVariables = 64;
constexpr std::size_t kLongestPhase = 200;

json status_value(Error::Kind kind) {
  return static_cast<int>(kind);
}

Error::Kind kind_from(const json& value, const char* name) {
  for (const Error::Kind kind : {Error::Kind::kUser,
                                 Error::Kind::kEnvironment,
                                 Error::Kind::kRefused,
                                 Error::Kind::kTryAgain,
                                 Error::Kind::kInternal}) {
    if (value == static_cast<int>(kind)) {
      return kind;
    }
  }
  refuse_field(name, "not an exit status of this program");
}

void check_file_name(const std::string& name) {
  if (!is_plain_file_name(name)) {
    refuse_field("name", "not the name of a file in its folder");
  }
}

/// Lists of times that are attachments of a row. No store has the turns.
enum TimeList { kSamples, kTurns, kTimeLists };

std::string packed(const std::vector<Seconds>& times) {
  std::string bytes(times.size() * sizeof(Seconds), '\0');
  if (!times.empty()) {
    std::memcpy(bytes.data(), times.data(), bytes.size());
  }
  return bytes;
}

std::vector<Seconds> unpacked(const std::string& bytes, const char* name, std::size_t most) {
  const std::size_t count = bytes.size() / sizeof(Seconds);
  if (bytes.size() % sizeof(Seconds) != 0 || count > most) {
    refuse_field(name, fmt::format("{} bytes, not at most {} times", bytes.size(), most));
  }
  std::vector<Seconds> times(count);
  if (count > 0) {
    std::memcpy(times.data(), bytes.data(), bytes.size());
  }
  for (const Seconds time : times) {
    static_cast<void>(results::limited(time.count(), name, kMeasuredTime));
  }
  return times;
}

}  // namespace

results::Measurement text_part(results::Measurement row) {
  row.samples.clear();
  return row;
}

results::Execution text_part(results::Execution execution) {
  execution.row = text_part(std::move(execution.row));
  return execution;
}

void attach(const results::Measurement& row, protocol::Content& content) {
  content.add_attachments(packed(row.samples));
  content.add_attachments(packed(row.turns));
}

void attach(const results::Execution& execution, protocol::Content& content) {
  attach(execution.row, content);
}

/// Takes the times of a row, too. Its key, which a store may lack, must be there.
void detach(const protocol::Content& content, results::Measurement& row) {
  if (row.key.text.empty()) {
    refuse_field("key", "empty");
  }
  if (content.attachments_size() != kTimeLists) {
    refuse_field("attachments", "not the samples and turns of a row");
  }
  row.samples =
      unpacked(content.attachments(kSamples), "samples_seconds", results::kMaxStoredSamples);
  row.turns = unpacked(content.attachments(kTurns), "turns_seconds", row.samples.size());
}

void detach(const protocol::Content& content, results::Execution& execution) {
  detach(content, execution.row);
}

bool is_plain_file_name(const std::string& name) {
  constexpr std::size_t kLongestName = 64;
  return !name.empty() && name.size() <= kLongestName && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '-' || c == '.';
         });
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, Variant>& value) {
  fields("text", value.text);
  fields("library_choice", value.library_choice);
  fields("reference_implementation", value.reference_implementation);
  fields("channels_last", value.channels_last);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, VariantList>& value) {
  fields("variants", value.variants, {.elements = kMaximumVariants});
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, ExecuteProgress>& value) {
  fields("share", value.share, {.least = 0.0, .most = 1.0});
  fields("elapsed_seconds", value.elapsed, kMeasuredTime);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, LoadProgress>& value) {
  fields("phase", value.phase);
  fields("batches", value.batches);
  fields("elapsed_seconds", value.elapsed, kMeasuredTime);
  if constexpr (Fields::kReads) {
    value.phase.resize(std::min(value.phase.size(), kLongestPhase));
  }
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, Reproducer::File>& value) {
  fields("name", value.name);
  fields("text", value.text, {.longest = kMaximumReproducerBytes});
  if constexpr (Fields::kReads) {
    check_file_name(value.name);
  }
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, Reproducer>& value) {
  fields("files", value.files, {.elements = kMaximumReproducerFiles});
  fields("instructions", value.instructions, {.longest = kMaximumReproducerBytes});
  fields("log_variables", value.log_variables);
  fields("log_prefix", value.log_prefix);
  if (Fields::kReads && value.log_variables.size() > kMaximumVariables) {
    refuse_field("log_variables", "a list of too many");
  }
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, TraceFile>& value) {
  fields("format", value.format, {.longest = kMaxTraceFormatBytes});
  fields("name", value.name);
  if constexpr (Fields::kReads) {
    check_file_name(value.name);
  }
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, Trace>& value) {
  fields("files", value.files, {.elements = kMaxTraceFiles});
  fields("untraced_seconds", value.untraced, kMeasuredTime);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, Alternation>& value) {
  fields("one_program", value.one_program);
  fields("preparation_seconds", value.preparation, kMeasuredTime);
  fields("seconds",
         value.seconds,
         {.least = kMeasuredTime.least,
          .most = kMeasuredTime.most,
          .elements = kMaxAlternatedExecutions});
  fields.since("disturbance", value.disturbance);
  fields.unless_empty("readings", value.readings, results::readings_value, results::readings_from);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, Exported>& value) {
  fields("written", value.written);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, LongStep>& value) {
  fields("seconds_at_most", value.at_most);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, ReportedError>& value) {
  fields.converted("exit_status", value.kind, status_value, kind_from);
  fields("text", value.text);
}

#define PLUMB_REPLY(Type)                                    \
  template protocol::Content to_protocol<Type>(const Type&); \
  template Type from_protocol<Type>(const protocol::Content&);

PLUMB_REPLY(results::Environment)
PLUMB_REPLY(results::Measurement)
PLUMB_REPLY(results::Calibration)
PLUMB_REPLY(results::Execution)
PLUMB_REPLY(results::ScenarioResult)
PLUMB_REPLY(results::EngineChoices)
PLUMB_REPLY(VariantList)
PLUMB_REPLY(ExecuteProgress)
PLUMB_REPLY(LoadProgress)
PLUMB_REPLY(Reproducer)
PLUMB_REPLY(Trace)
PLUMB_REPLY(Alternation)
PLUMB_REPLY(Exported)
PLUMB_REPLY(LongStep)
PLUMB_REPLY(ReportedError)

#undef PLUMB_REPLY

}  // namespace plumb::worker
