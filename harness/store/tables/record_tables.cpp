// SPDX-License-Identifier: Apache-2.0
#include "harness/store/tables/record_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/results/json_object.hpp"
#include "harness/results/profile/named_profile.hpp"
#include "harness/results/profile/profile_json.hpp"
#include "harness/store/content_hash.hpp"
#include "harness/store/store_errors.hpp"

namespace plumb::store {
namespace {

using nlohmann::json;

constexpr std::string_view kSelectProfiles =
    "select p.id, r.id, p.subject, p.taken, p.model, p.mode, p.stack, p.clock, p.refused, "
    "p.asked_hertz, p.hertz, p.threads, p.lost_samples, p.executions, p.unsampled_seconds, "
    "p.blocks, p.problems, p.checksum, p.listings, p.processes "
    "from profiles p join runs r on r.number = p.run ";
constexpr std::int64_t kBetweenSteps = -1;

std::int64_t count_samples(const results::NamedProfile::Cell& cell) {
  return static_cast<std::int64_t>(results::count_samples(cell.counts));
}

/// Returns the executions of blocks without samples, and their time.
std::pair<std::int64_t, double> sum_blocks(
    const std::vector<results::SampledProfile::Block>& blocks) {
  std::pair<std::int64_t, double> sum;
  for (const results::SampledProfile::Block& block : blocks) {
    sum.first += block.executions;
    sum.second += block.unsampled.count();
  }
  return sum;
}

/// Reads a list as JSON. Absent: it is anything else.
template <typename Value>
std::optional<std::vector<Value>> read_list(std::string_view text) {
  try {
    return json::parse(text).get<std::vector<Value>>();
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

/// Reads listings of code. Absent: the text is anything else.
std::optional<std::vector<results::NamedProfile::Listing>> read_listings(std::string_view text,
                                                                         std::size_t blocks) {
  try {
    return results::code_listings_from_json(results::parse_json(text), blocks);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Takes what was decoded. Returns false if there is nothing.
template <typename Value>
bool take(std::optional<Value> decoded, Value& value) {
  const bool known = decoded.has_value();
  if (known) {
    value = *std::move(decoded);
  }
  return known;
}

}  // namespace

bool ProfileTable::insert(std::int64_t run_number, const results::StoredProfile& given) {
  const results::StoredProfile stored = storable(given);
  const results::NamedProfile& profile = stored.profile;
  const std::int64_t checksum = profile_checksum(stored);
  {
    const Connection::StatementCache::Use equal =
        statements_.use("select id from profiles where run = ? and checksum = ?");
    equal->bind(run_number).bind(checksum);
    if (equal->step()) {
      return false;
    }
  }
  const auto [executions, unsampled] = sum_blocks(profile.blocks);
  const std::string blocks = results::encode_blocks(profile.blocks);
  const std::string problems = json(profile.problems).dump();
  const auto listings = profile.listings.empty()
                            ? std::nullopt
                            : std::optional(results::to_json(profile.listings).dump());
  const auto processes =
      profile.processes.empty() ? std::nullopt : std::optional(json(profile.processes).dump());
  std::int64_t id = 0;
  {
    const Connection::StatementCache::Use statement = statements_.use(
        "insert into profiles (id, run, subject, taken, model, mode, stack, clock, refused, "
        "asked_hertz, hertz, threads, lost_samples, executions, unsampled_seconds, blocks, "
        "problems, checksum, listings, processes) select coalesce(max(id), 0) + 1, ?, ?, ?, ?, ?, "
        "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? from profiles returning id");
    statement->bind(run_number).bind(std::string_view(stored.subject)).bind(stored.taken);
    statement->bind(std::string_view(profile.model)).bind(std::string_view(profile.mode));
    statement->bind(std::string_view(profile.stack)).bind(to_text(profile.clock));
    statement->bind(std::string_view(profile.refused));
    statement->bind(profile.asked_rate).bind(profile.rate);
    statement->bind(static_cast<std::int64_t>(profile.threads));
    statement->bind(static_cast<std::int64_t>(profile.lost));
    statement->bind(executions).bind(unsampled).bind_bytes(blocks);
    statement->bind(std::string_view(problems)).bind(checksum);
    statement->bind(listings).bind(processes);
    PLUMB_CHECK(statement->step());
    id = statement->integer();
  }
  insert_steps(id, profile);
  insert_samples(id, profile);
  return true;
}

void ProfileTable::insert_steps(std::int64_t id, const results::NamedProfile& profile) {
  const auto id_of = [](TextTable& table, const std::string& text) {
    return text.empty() ? std::nullopt : std::optional(table.entry_of(text).id);
  };
  const Connection::StatementCache::Use statement = statements_.use(
      "insert into profile_steps (profile, step, name, layers, layer_key, variant, reorder) "
      "values (?, ?, ?, ?, ?, ?, ?)");
  for (std::size_t i = 0; i < profile.steps.size(); ++i) {
    const results::SampledProfile::Step& step = profile.steps[i];
    const std::string layers = json(step.layers).dump();
    statement->bind(id).bind(static_cast<std::int64_t>(i));
    statement->bind(std::string_view(profile.step_names[i])).bind(std::string_view(layers));
    statement->bind(id_of(keys_, step.key)).bind(id_of(variants_, step.variant));
    statement->bind_flag(step.reorder).run();
  }
}

void ProfileTable::insert_samples(std::int64_t id, const results::NamedProfile& profile) {
  std::vector<std::int64_t> functions;
  for (const results::NamedProfile::CodeNames::Function& function : profile.functions) {
    functions.push_back(function_id(function));
  }
  const Connection::StatementCache::Use statement = statements_.use(
      "insert into profile_samples (profile, step, function, samples, counts) values (?, ?, ?, ?, "
      "?)");
  for (const results::NamedProfile::Cell& cell : profile.cells) {
    const std::string counts = results::encode_counts(cell.counts);
    statement->bind(id).bind(cell.step == results::kNoStep ? kBetweenSteps
                                                           : std::int64_t{cell.step});
    statement->bind(functions.at(cell.function)).bind(count_samples(cell));
    statement->bind_bytes(counts).run();
  }
}

std::int64_t ProfileTable::function_id(const results::NamedProfile::CodeNames::Function& function) {
  ContentHash content;
  for (const std::string* const text : {&function.name, &function.image, &function.build_id}) {
    content.add(std::string_view(*text));
  }
  const std::int64_t hash = content.stored();
  for (const char* const sql :
       {"select id from functions where hash = ? and name = ? and image = ? and build_id = ?",
        "insert into functions (id, hash, name, image, build_id) "
        "select coalesce(max(id), 0) + 1, ?, ?, ?, ? from functions returning id"}) {
    const Connection::StatementCache::Use statement = statements_.use(sql);
    statement->bind(hash).bind(std::string_view(function.name));
    statement->bind(std::string_view(function.image)).bind(std::string_view(function.build_id));
    if (statement->step()) {
      return statement->integer();
    }
  }
  throw Error(Error::Kind::kInternal, "a function could not be stored; please report this bug");
}

std::vector<ProfileTable::ReadProfile> ProfileTable::read_heads(const results::RunId& run) {
  const Connection::StatementCache::Use use =
      statements_.use(std::string(kSelectProfiles) + "where r.id = ? order by p.id");
  Statement& statement = *use;
  statement.bind(std::string_view(run));
  std::vector<ReadProfile> all;
  while (statement.step()) {
    ReadProfile read;
    read.id = statement.integer();
    read.stored.run = statement.text();
    read.stored.subject = statement.text();
    read.stored.taken = statement.time();
    results::NamedProfile& profile = read.stored.profile;
    profile.model = statement.text();
    profile.mode = statement.text();
    profile.stack = statement.text();
    read.intact = take(results::sampling_clock_from(statement.text_view()), profile.clock);
    profile.refused = statement.text();
    profile.asked_rate = statement.number();
    profile.rate = statement.number();
    profile.threads = static_cast<std::uint64_t>(statement.integer());
    profile.lost = static_cast<std::uint64_t>(statement.integer());
    const std::int64_t executions = statement.integer();
    const double unsampled = statement.number();
    read.intact = take(results::decode_blocks(statement.blob_view()), profile.blocks) &&
                  sum_blocks(profile.blocks) == std::pair(executions, unsampled) && read.intact;
    read.intact =
        take(read_list<std::string>(statement.text_view()), profile.problems) && read.intact;
    read.checksum = statement.integer();
    if (const std::string_view listings = statement.text_view(); !listings.empty()) {
      read.intact =
          take(read_listings(listings, profile.blocks.size()), profile.listings) && read.intact;
    }
    if (const std::string_view processes = statement.text_view(); !processes.empty()) {
      read.intact = take(read_list<std::uint64_t>(processes), profile.processes) && read.intact;
    }
    all.push_back(std::move(read));
  }
  return all;
}

void ProfileTable::read_steps(ReadProfile& read) {
  const Connection::StatementCache::Use statement = statements_.use(
      "select s.step, s.name, s.layers, k.text, v.text, s.reorder from profile_steps s "
      "left join layer_keys k on k.id = s.layer_key left join variants v on v.id = s.variant "
      "where s.profile = ? order by s.step");
  statement->bind(read.id);
  results::NamedProfile& profile = read.stored.profile;
  while (statement->step()) {
    read.intact =
        statement->integer() == static_cast<std::int64_t>(profile.steps.size()) && read.intact;
    profile.step_names.push_back(statement->text());
    results::SampledProfile::Step step;
    read.intact = take(read_list<std::size_t>(statement->text_view()), step.layers) && read.intact;
    step.key = statement->text();
    step.variant = statement->text();
    step.reorder = statement->flag();
    profile.steps.push_back(std::move(step));
  }
}

void ProfileTable::read_samples(ReadProfile& read) {
  const Connection::StatementCache::Use statement = statements_.use(
      "select s.step, s.function, s.samples, s.counts, f.name, f.image, f.build_id from "
      "profile_samples s "
      "join functions f on f.id = s.function where s.profile = ?");
  statement->bind(read.id);
  results::NamedProfile& profile = read.stored.profile;
  std::map<std::int64_t, std::uint32_t> numbers;
  while (statement->step()) {
    results::NamedProfile::Cell cell;
    const std::int64_t step = statement->integer();
    cell.step = step == kBetweenSteps ? results::kNoStep : static_cast<std::uint32_t>(step);
    const auto [number, added] = numbers.try_emplace(
        statement->integer(), static_cast<std::uint32_t>(profile.functions.size()));
    cell.function = number->second;
    const std::int64_t samples = statement->integer();
    const bool known =
        step >= kBetweenSteps && step < static_cast<std::int64_t>(profile.steps.size());
    read.intact =
        take(results::decode_counts(statement->blob_view(), profile.blocks.size()), cell.counts) &&
        count_samples(cell) == samples && known && read.intact;
    if (added) {
      std::string name = statement->text();
      std::string image = statement->text();
      profile.functions.push_back({std::move(name), std::move(image), statement->text()});
    }
    profile.cells.push_back(std::move(cell));
  }
}

std::string ProfileTable::complete(ReadProfile& read) {
  read_steps(read);
  read_samples(read);
  if (read.intact) {
    try {
      read.stored = storable(read.stored);
      read.intact = profile_checksum(read.stored) == read.checksum;
    } catch (const Error&) {
      read.intact = false;
    }
  }
  return read.intact
             ? std::string()
             : fmt::format("a profile in run {}: does not match its checksum", read.stored.run);
}

std::vector<results::StoredProfile> ProfileTable::of_run(const results::RunId& run) {
  std::vector<results::StoredProfile> profiles;
  for (ReadProfile& read : read_heads(run)) {
    if (const std::string fault = complete(read); !fault.empty()) {
      throw damaged_store(fault);
    }
    profiles.push_back(std::move(read.stored));
  }
  return profiles;
}

std::vector<std::string> ProfileTable::faults() {
  std::vector<results::RunId> runs;
  {
    const Connection::StatementCache::Use statement = statements_.use(
        "select id from runs where number in (select run from profiles) order by number");
    while (statement->step()) {
      runs.push_back(statement->text());
    }
  }
  std::vector<std::string> faults;
  for (const results::RunId& run : runs) {
    for (ReadProfile& read : read_heads(run)) {
      if (std::string fault = complete(read); !fault.empty()) {
        faults.push_back(std::move(fault));
      }
    }
  }
  return faults;
}

namespace {

constexpr std::string_view kSelectRecords =
    "select d.id, r.id, d.kind, d.subject, d.analysis_version, d.payload, d.computed, "
    "(select count(*) from derived_inputs i where i.derived = d.id), d.checksum "
    "from derived d join runs r on r.number = d.run ";
constexpr std::size_t kRunsAtOnce = 200;

std::vector<results::RowId> sorted_once(std::vector<results::RowId> rows) {
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

}  // namespace

std::int64_t derived_checksum(const results::DerivedRecord& record,
                              const std::vector<results::RowId>& inputs) {
  ContentHash hash;
  for (const std::string* const text :
       {&record.run, &record.kind, &record.subject, &record.analysis_version, &record.payload}) {
    hash.add(std::string_view(*text));
  }
  hash.add(std::int64_t{record.computed.time_since_epoch().count()});
  for (const results::RowId input : inputs) {
    hash.add(input);
  }
  return hash.stored();
}

bool DerivedTable::holds(std::int64_t run_number,
                         const results::DerivedRecord& record,
                         const std::vector<results::RowId>& inputs) {
  std::vector<std::int64_t> equal;
  {
    const Connection::StatementCache::Use statement = statements_.use(
        "select id from derived where run = ? and kind = ? and subject = ? and "
        "analysis_version = ? and payload = ?");
    statement->bind(run_number).bind(std::string_view(record.kind));
    statement->bind(std::string_view(record.subject));
    statement->bind(std::string_view(record.analysis_version));
    statement->bind(std::string_view(record.payload));
    while (statement->step()) {
      equal.push_back(statement->integer());
    }
  }
  return std::any_of(
      equal.begin(), equal.end(), [&](std::int64_t id) { return read_inputs(id) == inputs; });
}

bool DerivedTable::insert(std::int64_t run_number, const results::DerivedRecord& record) {
  const std::vector<results::RowId> inputs = sorted_once(record.inputs);
  if (holds(run_number, record, inputs)) {
    return false;
  }
  std::int64_t id = 0;
  {
    const Connection::StatementCache::Use statement = statements_.use(
        "insert into derived (id, run, kind, subject, analysis_version, payload, computed, "
        "checksum) select coalesce(max(id), 0) + 1, ?, ?, ?, ?, ?, ?, ? from derived returning id");
    statement->bind(run_number).bind(std::string_view(record.kind));
    statement->bind(std::string_view(record.subject));
    statement->bind(std::string_view(record.analysis_version));
    statement->bind(std::string_view(record.payload)).bind(record.computed);
    statement->bind(derived_checksum(record, inputs));
    PLUMB_CHECK(statement->step());
    id = statement->integer();
  }
  const Connection::StatementCache::Use input =
      statements_.use("insert into derived_inputs (derived, measurement) values (?, ?)");
  for (const results::RowId row : inputs) {
    input->bind(id).bind(row).run();
  }
  return true;
}

std::vector<results::RowId> DerivedTable::read_inputs(std::int64_t id) {
  const Connection::StatementCache::Use statement = statements_.use(
      "select measurement from derived_inputs where derived = ? order by measurement");
  statement->bind(id);
  std::vector<results::RowId> inputs;
  while (statement->step()) {
    inputs.push_back(statement->integer());
  }
  return inputs;
}

std::vector<results::DerivedRecord> DerivedTable::read(Statement& statement,
                                                       std::vector<std::string>* faults) {
  std::vector<results::DerivedRecord> records;
  while (statement.step()) {
    const std::int64_t id = statement.integer();
    results::DerivedRecord record;
    record.run = statement.text();
    record.kind = statement.text();
    record.subject = statement.text();
    record.analysis_version = statement.text();
    record.payload = statement.text();
    record.computed = statement.time();
    if (statement.integer() > 0) {
      record.inputs = read_inputs(id);
    }
    if (statement.integer() != derived_checksum(record, record.inputs)) {
      const std::string fault = fmt::format("{} of {} in run {}: does not match its checksum",
                                            record.kind,
                                            record.subject,
                                            record.run);
      if (faults == nullptr) {
        throw damaged_store(fault);
      }
      faults->push_back(fault);
    }
    records.push_back(std::move(record));
  }
  return records;
}

std::vector<std::string> DerivedTable::faults() {
  const Connection::StatementCache::Use statement =
      statements_.use(fmt::format("{}order by d.id", kSelectRecords));
  std::vector<std::string> faults;
  static_cast<void>(read(*statement, &faults));
  return faults;
}

std::vector<results::DerivedRecord> DerivedTable::of_run(const results::RunId& run,
                                                         const std::optional<std::string>& kind) {
  const Connection::StatementCache::Use statement = statements_.use(
      std::string(kSelectRecords) +
      (kind ? "where r.id = ? and d.kind = ? order by d.id" : "where r.id = ? order by d.id"));
  statement->bind(std::string_view(run));
  if (kind) {
    statement->bind(std::string_view(*kind));
  }
  return read(*statement);
}

std::vector<results::DerivedRecord> DerivedTable::of_runs(std::span<const results::RunId> runs,
                                                          const std::string& kind) {
  std::string places = "?";
  for (std::size_t i = 1; i < kRunsAtOnce; ++i) {
    places += ", ?";
  }
  const Connection::StatementCache::Use statement = statements_.use(
      fmt::format("{}where d.kind = ? and r.id in ({}) order by d.id", kSelectRecords, places));
  std::vector<results::DerivedRecord> records;
  for (std::size_t begin = 0; begin < runs.size(); begin += kRunsAtOnce) {
    statement->bind(std::string_view(kind));
    for (std::size_t i = begin; i < begin + kRunsAtOnce; ++i) {
      statement->bind(std::string_view(runs[std::min(i, runs.size() - 1)]));
    }
    auto of_some = read(*statement);
    std::move(of_some.begin(), of_some.end(), std::back_inserter(records));
  }
  return records;
}

std::optional<results::DerivedRecord> DerivedTable::latest(const std::string& kind,
                                                           const std::string& environment) {
  const Connection::StatementCache::Use statement = statements_.use(
      std::string(kSelectRecords) +
      "join environments e on e.number = r.environment where d.kind = ? and e.id = ? "
      "order by d.computed desc, d.id desc limit 1");
  statement->bind(std::string_view(kind)).bind(std::string_view(environment));
  std::vector<results::DerivedRecord> records = read(*statement);
  return records.empty() ? std::nullopt : std::optional(std::move(records.front()));
}

}  // namespace plumb::store
