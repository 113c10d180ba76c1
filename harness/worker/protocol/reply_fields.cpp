// SPDX-License-Identifier: Apache-2.0
// Fields of what a worker answers. Those of results that are stored, too, are in harness/results.

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/encoding.hpp"
#include "harness/results/measurement_fields.hpp"
#include "harness/results/profile/profile_json.hpp"
#include "harness/worker/protocol/described_content.hpp"
#include "harness/worker/protocol/requests.hpp"

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
void describe(Fields& fields, Described<Fields, WorkerService::VariantList>& value) {
  fields("variants", value.variants, {.elements = kMaximumVariants});
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, ExecuteRequest::Progress>& value) {
  fields("share", value.share, {.least = 0.0, .most = 1.0});
  fields("elapsed_seconds", value.elapsed, kMeasuredTime);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, LoadRequest::Progress>& value) {
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
void describe(Fields& fields, Described<Fields, Trace::File>& value) {
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
void describe(Fields& fields, Described<Fields, WorkerService::Exported>& value) {
  fields("written", value.written);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, WorkerService::LongStep>& value) {
  fields("seconds_at_most", value.at_most);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, WorkerService::ReportedError>& value) {
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
PLUMB_REPLY(WorkerService::VariantList)
PLUMB_REPLY(ExecuteRequest::Progress)
PLUMB_REPLY(LoadRequest::Progress)
PLUMB_REPLY(Reproducer)
PLUMB_REPLY(Trace)
PLUMB_REPLY(Alternation)
PLUMB_REPLY(WorkerService::Exported)
PLUMB_REPLY(WorkerService::LongStep)
PLUMB_REPLY(WorkerService::ReportedError)

#undef PLUMB_REPLY

// Fields of a profile that a worker took. Its samples and chains of calls are attachments.

namespace {

using results::FieldLimits;
using results::SampledProfile;

/// Attachments of a profile, one list each. Addresses have 8 bytes, little-endian. Other numbers
/// are varints. That of no step and of no chain is 0, and others are 1 more than they are.
enum Part { kAddresses, kSteps, kBlocks, kThreads, kSampleChains, kDepths, kReturns, kParts };

constexpr FieldLimits kShortText{.longest = kMaxProfileTextBytes};

void put_address(std::string& out, std::uint64_t address) {
  char bytes[sizeof address];
  std::memcpy(bytes, &address, sizeof address);
  out.append(bytes, sizeof address);
}

/// Reader of one list of numbers.
class PackedNumbers {
 public:
  PackedNumbers(const protocol::Content& content, Part part)
      : left_(content.attachments(static_cast<int>(part))) {}

  [[nodiscard]] std::size_t bytes() const { return left_.size(); }
  [[nodiscard]] std::uint64_t address() {
    std::uint64_t address = 0;
    if (left_.size() < sizeof address) {
      refuse_field("attachments", "shorter than its samples");
    }
    std::memcpy(&address, left_.data(), sizeof address);
    left_.remove_prefix(sizeof address);
    return address;
  }
  [[nodiscard]] std::uint32_t number() {
    const std::optional<std::uint64_t> value = take_varint(left_);
    if (!value || *value > std::numeric_limits<std::uint32_t>::max()) {
      refuse_field("attachments", "shorter than its samples");
    }
    return static_cast<std::uint32_t>(*value);
  }
  void end() const {
    if (!left_.empty()) {
      refuse_field("attachments", "longer than its samples");
    }
  }

 private:
  std::string_view left_;
};

void read_chains(const protocol::Content& content, SampledProfile& profile) {
  PackedNumbers depths(content, kDepths);
  PackedNumbers returns(content, kReturns);
  while (depths.bytes() > 0) {
    const std::uint32_t depth = depths.number();
    if (profile.chains.size() == kMaxCallChains || depth > kMaxCallDepth) {
      refuse_field("chains", "more or deeper than allowed");
    }
    results::CallChain& chain = profile.chains.emplace_back();
    for (std::uint32_t i = 0; i < depth; ++i) {
      chain.push_back(returns.address());
    }
  }
  returns.end();
}

void check(const results::SampledProfile::Sample& sample, const SampledProfile& profile) {
  if ((sample.step != results::kNoStep && sample.step >= profile.steps.size()) ||
      sample.block >= profile.blocks.size() || sample.thread >= profile.threads ||
      (sample.chain != results::kNoChain && sample.chain >= profile.chains.size())) {
    refuse_field("samples", "of a step, block, thread or chain that the profile has not");
  }
}

void read_samples(const protocol::Content& content, SampledProfile& profile) {
  PackedNumbers addresses(content, kAddresses);
  PackedNumbers steps(content, kSteps);
  PackedNumbers blocks(content, kBlocks);
  PackedNumbers threads(content, kThreads);
  PackedNumbers chains(content, kSampleChains);
  const std::size_t count = addresses.bytes() / sizeof(std::uint64_t);
  if (count > kMaxProfileSamples) {
    refuse_field("samples", "more than allowed");
  }
  profile.samples.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const results::SampledProfile::Sample sample{
        addresses.address(),
        steps.number() - 1,
        blocks.number(),
        threads.number(),
        profile.chains.empty() ? results::kNoChain : chains.number() - 1};
    check(sample, profile);
    profile.samples.push_back(sample);
  }
  for (const PackedNumbers& list : {addresses, steps, blocks, threads, chains}) {
    list.end();
  }
}

void check(const Profile& profile) {
  std::uint64_t before = 0;
  for (const results::SampledProfile::Mapping& mapping : profile.samples.mappings) {
    if (mapping.begin < before || mapping.end <= mapping.begin) {
      refuse_field("mappings", "not in the order of their addresses");
    }
    before = mapping.end;
    static_cast<void>(results::limited(mapping.path, "path", kShortText));
    static_cast<void>(results::limited(mapping.build_id, "build_id", kShortText));
  }
  for (const results::SampledProfile::Block& block : profile.samples.blocks) {
    if (block.executions == 0) {
      refuse_field("executions", "0");
    }
  }
  for (const results::SampledProfile::Step& step : profile.samples.steps) {
    static_cast<void>(results::limited(step.variant, "variant", kShortText));
  }
  for (const std::string& file : profile.code_files) {
    if (!is_plain_file_name(file)) {
      refuse_field("code_files", "not a list of names of files in the profile's folder");
    }
  }
}

}  // namespace

void attach(const Profile& profile, protocol::Content& content) {
  std::vector<std::string> parts(kParts);
  for (const results::SampledProfile::Sample& sample : profile.samples.samples) {
    put_address(parts[kAddresses], sample.address);
    put_varint(parts[kSteps], sample.step + 1);
    put_varint(parts[kBlocks], sample.block);
    put_varint(parts[kThreads], sample.thread);
    if (!profile.samples.chains.empty()) {
      put_varint(parts[kSampleChains], sample.chain + 1);
    }
  }
  for (const results::CallChain& chain : profile.samples.chains) {
    put_varint(parts[kDepths], chain.size());
    for (const std::uint64_t address : chain) {
      put_address(parts[kReturns], address);
    }
  }
  for (std::string& part : parts) {
    content.add_attachments(std::move(part));
  }
}

void detach(const protocol::Content& content, Profile& profile) {
  if (content.attachments_size() != kParts) {
    refuse_field("attachments", "not the lists of a profile");
  }
  read_chains(content, profile.samples);
  read_samples(content, profile.samples);
}

/// Leaves out samples and chains of calls: they are attachments.
template <typename Fields>
void describe(Fields& fields, Described<Fields, Profile>& value) {
  constexpr FieldLimits kSampleRate{.least = 0.0, .most = 1e9};
  Described<Fields, SampledProfile>& samples = value.samples;
  fields("clock", samples.clock, results::sampling_clock_from);
  fields("refused", samples.refused, kShortText);
  fields("asked_rate", samples.asked_rate, kSampleRate);
  fields("rate", samples.rate, kSampleRate);
  fields("threads", samples.threads);
  fields("lost", samples.lost);
  fields("steps", samples.steps, {.elements = kMaxProfileSteps});
  fields("blocks", samples.blocks, {.elements = kMaxProfileBlocks});
  fields("mappings", samples.mappings, {.elements = kMaxCodeMappings});
  fields("exact", samples.exact);
  fields("code_files", value.code_files, {.elements = kMaxCodeFiles});
  if constexpr (Fields::kReads) {
    check(value);
  }
}

template protocol::Content to_protocol<Profile>(const Profile&);
template Profile from_protocol<Profile>(const protocol::Content&);

}  // namespace plumb::worker
