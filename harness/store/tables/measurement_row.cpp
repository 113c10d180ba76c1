// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <tuple>

#include "harness/base/encoding.hpp"
#include "harness/base/error.hpp"
#include "harness/results/measurement.hpp"
#include "harness/results/results_json.hpp"
#include "harness/store/content_hash.hpp"
#include "harness/store/store_errors.hpp"
#include "harness/store/tables/measurement_table.hpp"

namespace plumb::store {
namespace {

template <typename Value>
Value known(std::optional<Value> value, std::string_view word, results::RowId row) {
  if (!value) {
    throw damaged_store(fmt::format("row {} of the store holds the unknown word '{}'", row, word));
  }
  return *value;
}

bool is_storable(const results::Attributes& attributes) {
  return std::all_of(attributes.begin(), attributes.end(), [](const auto& attribute) {
    return results::is_attribute_name(attribute.first) && is_plain(attribute.second);
  });
}

bool is_finite(const results::Reading& reading) {
  return std::isfinite(reading.median) && std::isfinite(reading.low) && std::isfinite(reading.high);
}

bool is_storable(const results::Readings& readings) {
  return std::all_of(readings.begin(), readings.end(), [](const auto& reading) {
    return results::is_attribute_name(reading.first) && is_finite(reading.second);
  });
}

/// Parses the text of a column with `read`. A null column reads as an empty value.
template <typename Value>
Value read_json(const std::string& text, Value (*read)(std::string_view), results::RowId row) {
  if (text.empty()) {
    return {};
  }
  try {
    return read(text);
  } catch (const Error& problem) {
    throw damaged_store(fmt::format("row {} of the store: {}", row, problem.what()));
  }
}

void require_finite(const results::Measurement& row) {
  const measure::SampleSummary& summary = row.summary;
  const Seconds none{};
  for (const Seconds time : {summary.median,
                             summary.interval.low,
                             summary.interval.high,
                             summary.min,
                             summary.p90,
                             summary.mean,
                             row.floor,
                             row.creation.value_or(none),
                             row.first_call.value_or(none),
                             row.reorder.value_or(none),
                             row.wall,
                             Seconds(row.disturbance.steal_ratio.value_or(0.0)),
                             Seconds(row.disturbance.load.value_or(0.0)),
                             Seconds(row.disturbance.pressure_ratio.value_or(0.0))}) {
    if (!std::isfinite(time.count())) {
      throw Error(Error::Kind::kInternal,
                  fmt::format("a time of '{}' ({}) is {}; please report this bug",
                              row.key.text,
                              row.variant,
                              time.count()));
    }
  }
}

}  // namespace

std::optional<results::Measurement> repaired(const results::Measurement& row) {
  require_finite(row);
  const bool nan_error = row.maximum_error && std::isnan(*row.maximum_error);
  if (!nan_error && is_plain(row.outcome.reason) && is_plain(row.variant) &&
      is_plain(row.output_hash) && is_plain(row.key.text) && is_storable(row.attributes) &&
      is_storable(row.readings)) {
    return std::nullopt;
  }
  results::Measurement copy = row;
  if (nan_error) {
    copy.maximum_error = std::numeric_limits<double>::infinity();
  }
  for (std::string* const text :
       {&copy.outcome.reason, &copy.variant, &copy.output_hash, &copy.key.text}) {
    *text = in_utf8(*text);
  }
  std::erase_if(copy.attributes,
                [](auto& each) { return !results::is_attribute_name(each.first); });
  for (auto& [name, text] : copy.attributes) {
    text = in_utf8(text);
  }
  std::erase_if(copy.readings, [](auto& each) {
    return !results::is_attribute_name(each.first) || !is_finite(each.second);
  });
  return copy;
}

std::int64_t row_checksum(const results::Measurement& row,
                          std::int64_t run,
                          std::int64_t key,
                          std::int64_t variant) {
  ContentHash hash;
  hash.add(run).add(key).add(variant);
  hash.add(to_text(row.cache)).add(to_text(row.purpose)).add(to_text(row.outcome.kind));
  hash.add(std::string_view(row.outcome.reason));
  hash.add_flag(row.library_choice).add_flag(row.reference_implementation);
  const measure::SampleSummary& summary = row.summary;
  hash.add(row.repetitions).add(static_cast<std::int64_t>(summary.n));
  hash.add(summary.median).add(summary.interval.low).add(summary.interval.high);
  hash.add(summary.min).add(summary.p90).add(summary.mean).add_flag(summary.min_has_company);
  hash.add(row.floor).add(row.creation).add(row.first_call).add(row.reorder);
  hash.add(row.workspace.value).add(row.maximum_error).add(std::string_view(row.output_hash));
  hash.add(row.disturbance.involuntary_switches).add(row.disturbance.steal_ratio);
  hash.add(row.disturbance.load).add(row.disturbance.pressure_ratio);
  hash.add_flag(row.disturbance.disturbed);
  hash.add(row.attempt).add(row.process);
  hash.add(std::int64_t{row.started.time_since_epoch().count()}).add(row.wall);
  // Rows without attributes or readings keep the checksum from before these existed.
  if (!row.attributes.empty()) {
    hash.add(std::string_view(results::to_json(row.attributes)));
  }
  if (!row.readings.empty()) {
    hash.add(std::string_view(to_json(row.readings)));
  }
  return hash.stored();
}

const std::string_view kInsertColumns =
    "id, run, layer_key, variant, cache, purpose, outcome, reason, "
    "library_choice, reference_implementation, samples, repetitions, n, median_seconds, "
    "low_seconds, high_seconds, min_seconds, p90_seconds, mean_seconds, min_has_company, "
    "floor_seconds, creation_seconds, first_call_seconds, reorder_seconds, workspace_bytes, "
    "maximum_error, output_hash, involuntary_switches, steal_ratio, load, pressure_ratio, "
    "disturbed, attempt, process, started, wall_seconds, checksum, attributes, readings";

void bind_row(Statement& statement,
              const MeasurementTable::References::Place& place,
              const results::Measurement& row,
              std::string_view samples,
              const std::string& readings) {
  const auto bind_text_or_null = [&](const std::string& text) {
    text.empty() ? statement.bind_null() : statement.bind(std::string_view(text));
  };
  const measure::SampleSummary& summary = row.summary;
  statement.bind(place.id).bind(place.run).bind(place.key).bind(place.variant);
  statement.bind(to_text(row.cache)).bind(to_text(row.purpose)).bind(to_text(row.outcome.kind));
  bind_text_or_null(row.outcome.reason);
  statement.bind_flag(row.library_choice).bind_flag(row.reference_implementation);
  statement.bind_blob(samples).bind(row.repetitions).bind(static_cast<std::int64_t>(summary.n));
  statement.bind(summary.median).bind(summary.interval.low).bind(summary.interval.high);
  statement.bind(summary.min).bind(summary.p90).bind(summary.mean);
  statement.bind_flag(summary.min_has_company);
  statement.bind(row.floor).bind(row.creation).bind(row.first_call).bind(row.reorder);
  statement.bind(row.workspace.value).bind(row.maximum_error);
  bind_text_or_null(row.output_hash);
  statement.bind(row.disturbance.involuntary_switches).bind(row.disturbance.steal_ratio);
  statement.bind(row.disturbance.load).bind(row.disturbance.pressure_ratio);
  statement.bind_flag(row.disturbance.disturbed).bind(row.attempt).bind(row.process);
  statement.bind(row.started).bind(row.wall).bind(place.checksum).bind(place.attributes);
  bind_text_or_null(readings);
}

// Without the texts that many rows share: a server takes long to make them for each row.
const std::string_view kRowColumns =
    "m.id, m.run, m.layer_key, m.variant, m.attributes, m.cache, m.purpose, m.outcome, m.reason, "
    "m.library_choice, m.reference_implementation, m.samples, m.repetitions, m.n, "
    "m.median_seconds, m.low_seconds, m.high_seconds, m.min_seconds, m.p90_seconds, "
    "m.mean_seconds, m.min_has_company, m.floor_seconds, m.creation_seconds, "
    "m.first_call_seconds, m.reorder_seconds, m.workspace_bytes, m.maximum_error, m.output_hash, "
    "m.involuntary_switches, m.steal_ratio, m.load, m.pressure_ratio, m.disturbed, m.attempt, "
    "m.process, m.started, m.wall_seconds, m.checksum, m.readings ";

const std::string& select_rows_sql() {
  static const std::string sql =
      std::string("select ").append(kRowColumns) + "from measurements m ";
  return sql;
}

MeasurementTable::References read_row(Statement& statement, results::StoredMeasurement& stored) {
  MeasurementTable::References references;
  const results::RowId id = statement.integer();
  stored.row = id;
  references.run = statement.integer();
  references.key = statement.integer();
  references.variant = statement.integer();
  references.attributes = statement.optional_integer();
  results::Measurement& row = stored.measurement;
  std::string_view word = statement.text_view();
  row.cache = known(results::parse_cache_mode(word), word, id);
  word = statement.text_view();
  row.purpose = known(results::parse_purpose(word), word, id);
  word = statement.text_view();
  row.outcome.kind = known(results::parse_outcome_kind(word), word, id);
  row.outcome.reason = statement.text();
  row.library_choice = statement.flag();
  row.reference_implementation = statement.flag();
  const std::string_view samples = statement.blob_view();
  row.repetitions = statement.integer();
  if (auto decoded = results::decode_samples(samples, row.repetitions)) {
    row.samples = *std::move(decoded);
  } else {
    references.samples_intact = false;
  }
  row.summary.n = static_cast<std::size_t>(statement.integer());
  row.summary.median = statement.seconds();
  row.summary.interval.low = statement.seconds();
  row.summary.interval.high = statement.seconds();
  row.summary.min = statement.seconds();
  row.summary.p90 = statement.seconds();
  row.summary.mean = statement.seconds();
  row.summary.min_has_company = statement.flag();
  row.floor = statement.seconds();
  row.creation = statement.optional_seconds();
  row.first_call = statement.optional_seconds();
  row.reorder = statement.optional_seconds();
  row.workspace.value = statement.integer();
  row.maximum_error = statement.optional_number();
  row.output_hash = statement.text();
  row.disturbance.involuntary_switches = statement.integer();
  row.disturbance.steal_ratio = statement.optional_number();
  row.disturbance.load = statement.optional_number();
  row.disturbance.pressure_ratio = statement.optional_number();
  row.disturbance.disturbed = statement.flag();
  row.attempt = statement.integer();
  row.process = statement.integer();
  row.started = statement.time();
  row.wall = statement.seconds();
  references.checksum = statement.integer();
  row.readings = read_json(statement.text(), &results::readings_from_json, id);
  return references;
}

results::Attributes read_attributes(const std::string& text, results::RowId row) {
  return read_json(text, &results::attributes_from_json, row);
}

std::string row_fault(const results::StoredMeasurement& row,
                      const MeasurementTable::References& references,
                      const MeasurementTable::References::Checksums& texts) {
  const results::Measurement& measurement = row.measurement;
  for (const auto& [known, what, number] :
       {std::tuple(texts.run.has_value(), "run", references.run),
        std::tuple(texts.key.has_value(), "key", references.key),
        std::tuple(texts.variant.has_value(), "variant", references.variant)}) {
    if (!known) {
      return fmt::format(
          "row {}: refers to the {} {}, which does not exist", row.row, what, number);
    }
  }
  const auto fault = [&](const char* what) {
    return fmt::format("row {} of run {} ({}): {}", row.row, row.run, measurement.key.text, what);
  };
  if (references.checksum != row_checksum(measurement, *texts.run, *texts.key, *texts.variant)) {
    return fault("does not match its checksum");
  }
  if (!references.samples_intact) {
    return fault("its samples are damaged");
  }
  if (row.row >> 32 != references.run) {
    return fmt::format("row {}: belongs to run {} by its id, to {} by its column",
                       row.row,
                       row.row >> 32,
                       references.run);
  }
  return {};
}

namespace {

// How many ids a statement takes. Few of them are left over, and few statements are prepared.
constexpr std::array<std::size_t, 3> kIdsAtOnce{1, 30, 1000};
constexpr std::size_t kMaxTexts = 100'000;  ///< that a long-lived reader keeps

}  // namespace

TextTable::TextTable(Connection::StatementCache& statements,
                     const std::string& table,
                     const std::string& id_column,
                     const std::string& text_column)
    : statements_(statements),
      find_sql_("select id from " + table + " where text = ?"),
      insert_sql_("insert into " + table + " (id, text) select coalesce(max(id), 0) + 1, ? from " +
                  table + " returning id"),
      load_sql_(
          fmt::format("select {0}, {1} from {2} where {0} in (?", id_column, text_column, table)) {}

const TextTable::Entry& TextTable::entry_of(const std::string& text) {
  if (last_ != nullptr && last_->first == text) {
    return last_->second;
  }
  const auto known = entries_.find(text);
  if (known != entries_.end()) {
    last_ = &*known;
    return known->second;
  }
  Entry entry{0, ContentHash().bytes(text).stored()};
  for (const std::string* const sql : {&find_sql_, &insert_sql_}) {
    const Connection::StatementCache::Use statement = statements_.use(*sql);
    statement->bind(std::string_view(text));
    if (statement->step()) {
      entry.id = statement->integer();
      break;
    }
  }
  last_ = &*entries_.emplace(text, entry).first;
  return last_->second;
}

void TextTable::load(std::vector<std::int64_t> ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  if (texts_.size() + ids.size() > kMaxTexts) {
    texts_.clear();
  }
  std::erase_if(ids, [&](std::int64_t id) { return texts_.contains(id); });
  for (std::size_t begin = 0, count = 0; begin < ids.size(); begin += count) {
    count = *std::find_if(kIdsAtOnce.begin(), std::prev(kIdsAtOnce.end()), [&](std::size_t each) {
      return each >= ids.size() - begin;
    });
    std::string sql = load_sql_;
    for (std::size_t i = 1; i < count; ++i) {
      sql += ", ?";
    }
    const Connection::StatementCache::Use statement = statements_.use(sql += ')');
    for (std::size_t i = begin; i < begin + count; ++i) {
      statement->bind(ids[std::min(i, ids.size() - 1)]);
    }
    while (statement->step()) {
      const std::int64_t id = statement->integer();
      Text& text = texts_[id];
      text.text = statement->text();
      text.checksum = ContentHash::of(text.text);
    }
  }
}

const TextTable::Text* TextTable::text_of(std::int64_t id) const {
  const auto found = texts_.find(id);
  return found == texts_.end() ? nullptr : &found->second;
}

}  // namespace plumb::store
