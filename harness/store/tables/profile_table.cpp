// SPDX-License-Identifier: Apache-2.0
#include "harness/store/tables/profile_table.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/results/json_object.hpp"
#include "harness/results/profile/profile_codec.hpp"
#include "harness/results/profile/profile_json.hpp"
#include "harness/store/content_hash.hpp"
#include "harness/store/profile_content.hpp"
#include "harness/store/store_errors.hpp"

namespace plumb::store {
namespace {

using nlohmann::json;

constexpr std::string_view kSelect =
    "select p.id, r.id, p.subject, p.taken, p.model, p.mode, p.stack, p.clock, p.refused, "
    "p.asked_hertz, p.hertz, p.threads, p.lost_samples, p.executions, p.unsampled_seconds, "
    "p.blocks, p.problems, p.checksum, p.listings, p.processes "
    "from profiles p join runs r on r.number = p.run ";
constexpr std::int64_t kBetweenSteps = -1;

std::int64_t count_samples(const results::ProfileCell& cell) {
  return static_cast<std::int64_t>(results::count_samples(cell.counts));
}

/// Returns the executions of blocks without samples, and their time.
std::pair<std::int64_t, double> sum_blocks(const std::vector<results::ProfiledBlock>& blocks) {
  std::pair<std::int64_t, double> sum;
  for (const results::ProfiledBlock& block : blocks) {
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
std::optional<std::vector<results::CodeListing>> read_listings(std::string_view text,
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
    const StatementUse equal =
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
    const StatementUse statement = statements_.use(
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
  const StatementUse statement = statements_.use(
      "insert into profile_steps (profile, step, name, layers, layer_key, variant, reorder) "
      "values (?, ?, ?, ?, ?, ?, ?)");
  for (std::size_t i = 0; i < profile.steps.size(); ++i) {
    const results::ProfiledStep& step = profile.steps[i];
    const std::string layers = json(step.layers).dump();
    statement->bind(id).bind(static_cast<std::int64_t>(i));
    statement->bind(std::string_view(profile.step_names[i])).bind(std::string_view(layers));
    statement->bind(id_of(keys_, step.key)).bind(id_of(variants_, step.variant));
    statement->bind_flag(step.reorder).run();
  }
}

void ProfileTable::insert_samples(std::int64_t id, const results::NamedProfile& profile) {
  std::vector<std::int64_t> functions;
  for (const results::ProfiledFunction& function : profile.functions) {
    functions.push_back(function_id(function));
  }
  const StatementUse statement = statements_.use(
      "insert into profile_samples (profile, step, function, samples, counts) values (?, ?, ?, ?, "
      "?)");
  for (const results::ProfileCell& cell : profile.cells) {
    const std::string counts = results::encode_counts(cell.counts);
    statement->bind(id).bind(cell.step == results::kNoStep ? kBetweenSteps
                                                           : std::int64_t{cell.step});
    statement->bind(functions.at(cell.function)).bind(count_samples(cell));
    statement->bind_bytes(counts).run();
  }
}

std::int64_t ProfileTable::function_id(const results::ProfiledFunction& function) {
  ContentHash content;
  for (const std::string* const text : {&function.name, &function.image, &function.build_id}) {
    content.add(std::string_view(*text));
  }
  const std::int64_t hash = content.stored();
  for (const char* const sql :
       {"select id from functions where hash = ? and name = ? and image = ? and build_id = ?",
        "insert into functions (id, hash, name, image, build_id) "
        "select coalesce(max(id), 0) + 1, ?, ?, ?, ? from functions returning id"}) {
    const StatementUse statement = statements_.use(sql);
    statement->bind(hash).bind(std::string_view(function.name));
    statement->bind(std::string_view(function.image)).bind(std::string_view(function.build_id));
    if (statement->step()) {
      return statement->integer();
    }
  }
  throw Error(Error::Kind::kInternal, "a function could not be stored; please report this bug");
}

std::vector<ProfileTable::ReadProfile> ProfileTable::read_heads(const results::RunId& run) {
  const StatementUse use = statements_.use(std::string(kSelect) + "where r.id = ? order by p.id");
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
  const StatementUse statement = statements_.use(
      "select s.step, s.name, s.layers, k.text, v.text, s.reorder from profile_steps s "
      "left join layer_keys k on k.id = s.layer_key left join variants v on v.id = s.variant "
      "where s.profile = ? order by s.step");
  statement->bind(read.id);
  results::NamedProfile& profile = read.stored.profile;
  while (statement->step()) {
    read.intact =
        statement->integer() == static_cast<std::int64_t>(profile.steps.size()) && read.intact;
    profile.step_names.push_back(statement->text());
    results::ProfiledStep step;
    read.intact = take(read_list<std::size_t>(statement->text_view()), step.layers) && read.intact;
    step.key = statement->text();
    step.variant = statement->text();
    step.reorder = statement->flag();
    profile.steps.push_back(std::move(step));
  }
}

void ProfileTable::read_samples(ReadProfile& read) {
  const StatementUse statement = statements_.use(
      "select s.step, s.function, s.samples, s.counts, f.name, f.image, f.build_id from "
      "profile_samples s "
      "join functions f on f.id = s.function where s.profile = ?");
  statement->bind(read.id);
  results::NamedProfile& profile = read.stored.profile;
  std::map<std::int64_t, std::uint32_t> numbers;
  while (statement->step()) {
    results::ProfileCell cell;
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
    const StatementUse statement = statements_.use(
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

}  // namespace plumb::store
