// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/results/run.hpp"

namespace plumb {

/// Names one series: one metric of one key on one system; stack and driver are attributes of its points.
struct SeriesQuery {
  std::string key;                        ///< a layer key
  CacheMode cache = CacheMode::kNone;
  std::optional<std::string> environment; ///< 16 hex digits; absent: all environments
};

struct SeriesPoint {
  RunId run;
  std::string environment;
  std::string stack;
  Timestamp started{};
  std::string variant;
  SampleSummary corrected;
};

/// Keeps results: append-only, versioned, shared by several processes. Raw samples are kept.
/// Each call is one transaction. Throws Error{kEnvironment} for a full disk, a read-only file or a store written by a
/// newer version, saying which version and what to do; nothing already stored is ever harmed.
class Store {
 public:
  virtual ~Store() = default;

  virtual void begin_run(const RunHeader& header) = 0;
  /// Adds rows to a running run and returns their ids, in order. Many rows a call is fast.
  virtual std::vector<RowId> append(const RunId& run, std::span<const Measurement> rows) = 0;
  /// Makes rows of earlier runs part of this one.
  virtual void link_reused(const RunId& run, std::span<const RowId> rows) = 0;
  virtual void finish_run(const RunId& run, RunState state, Timestamp finished) = 0;

  [[nodiscard]] virtual std::vector<RunRecord> runs() const = 0;  ///< newest first
  /// Resolves a ULID, a unique prefix, a tag or "@latest". Throws Error{kUser} listing what there is.
  [[nodiscard]] virtual RunRecord find_run(const std::string& name) const = 0;
  /// Returns a run's rows, own and reused, in order of row id.
  [[nodiscard]] virtual std::vector<StoredMeasurement> measurements(const RunId& run) const = 0;
  /// Returns the newest complete set of rows of each key for one environment (kFull and kConfirm, plus refusals),
  /// not older than `not_before`. What `reuse` is made of.
  [[nodiscard]] virtual std::vector<StoredMeasurement> reusable(const std::string& environment_id,
                                                                std::span<const LayerKey> keys,
                                                                CacheMode cache,
                                                                std::optional<Timestamp> not_before) const = 0;
  [[nodiscard]] virtual std::vector<SeriesPoint> series(const SeriesQuery& query) const = 0;  ///< oldest first
  /// Returns the newest point of each series; fast for thousands of series among millions of rows.
  [[nodiscard]] virtual std::vector<std::optional<SeriesPoint>> latest(std::span<const SeriesQuery> queries) const = 0;

  virtual void put_derived(std::span<const DerivedRecord> records) = 0;
  [[nodiscard]] virtual std::vector<DerivedRecord> derived(const RunId& run, const std::string& kind) const = 0;
  /// Returns the newest calibration of an environment.
  [[nodiscard]] virtual std::optional<DerivedRecord> latest_calibration(const std::string& environment_id) const = 0;

  virtual void tag(const RunId& run, const std::string& tag) = 0;

  [[nodiscard]] virtual int schema_version() const = 0;
  /// Checks every checksum and reference; returns one line per fault, none if all is well.
  [[nodiscard]] virtual std::vector<std::string> verify() const = 0;
  /// Writes runs (all, if none are named) as JSON lines; import_from reads them, idempotently.
  virtual void export_to(std::ostream& out, std::span<const RunId> runs) const = 0;
  virtual std::size_t import_from(std::istream& in) = 0;  ///< returns the number of new runs
  /// Drops raw samples and races of runs older than `before` that carry no tag; summaries stay. Returns rows touched.
  virtual std::size_t collect_garbage(Timestamp before) = 0;
};

/// Opens `sqlite:PATH` (made if absent, migrated forward if older and `migrate`).
/// Throws Error{kUser} for another scheme, Error{kEnvironment} if it cannot be opened.
[[nodiscard]] std::unique_ptr<Store> open_store(const std::string& url, bool migrate = true);

}  // namespace plumb
