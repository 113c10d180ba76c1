// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/results/run.hpp"

namespace plumb {

/// Names one series: one metric of one key on one system; stack and driver are attributes of its
/// points.
struct SeriesQuery {
  std::string key;  ///< a layer key
  CacheMode cache = CacheMode::kNone;
  std::optional<std::string> environment;  ///< 16 hex digits; absent: all environments
};

/// One run's point of a series: its best variant. This is the variant as confirmed in a fresh
/// process, where it was confirmed, else the fastest full row. Of a variant that several processes
/// timed, it is the middle one.
struct SeriesPoint {
  RunId run;
  std::string environment;
  std::string stack;
  Timestamp started{};  ///< of the run
  std::string variant;
  SampleSummary corrected;
};

/// Keeps results: append-only, versioned, shared by several processes (docs/reference/store.md).
/// Raw samples are kept, to 10 ps of a sample's whole time. Each call is one transaction: all of it
/// or nothing.
///
/// Throws Error{kEnvironment} for a full disk, a read-only file or a store written by a newer
/// version, saying which version and what to do; nothing already stored is ever harmed. Throws
/// Error{kTryAgain} if other processes keep it locked for longer than its patience, a minute.
/// Naming a run that is not there (except to find_run) is a bug: Error{kInternal}. A Store is for
/// one thread at a time and does not survive fork(): each thread and process opens its own.
class Store {
 public:
  virtual ~Store() = default;

  virtual void begin_run(const RunHeader& header) = 0;
  /// Adds rows to a run and returns their ids, in order. Many rows a call is fast. The run is one
  /// that is running, was killed (it still says running) or was interrupted: an interrupted run
  /// runs again. That is all there is to resuming. A finished run takes no more rows.
  virtual std::vector<RowId> append(const RunId& run, std::span<const Measurement> rows) = 0;
  /// Makes rows of earlier runs part of this one; those that are part of it already stay.
  virtual void link_reused(const RunId& run, std::span<const RowId> rows) = 0;
  /// Ends a run; `state` kRunning only drops the time it ended. An interrupted run may be finished
  /// later.
  virtual void finish_run(const RunId& run, RunState state, Timestamp finished) = 0;

  /// Returns all runs, newest first, without their resolved suites: find_run has those.
  [[nodiscard]] virtual std::vector<RunRecord> runs() const = 0;
  /// Resolves a ULID, a unique prefix, a tag or "@latest". Throws Error{kUser} listing what there
  /// is.
  [[nodiscard]] virtual RunRecord find_run(const std::string& name) const = 0;
  /// Returns a run's rows, own and reused, in order of row id.
  [[nodiscard]] virtual std::vector<StoredMeasurement> measurements(const RunId& run) const = 0;
  /// Returns the newest complete set of rows of each key for one environment and cache mode. What
  /// `reuse` is made of. It comes from the newest run, finished or not, in which the key was timed
  /// in full or confirmed, or refused for good (unsupported, wrong result, out of memory: not a
  /// crash, a time-out or a skip, which may pass the next time). The set is that run's full and
  /// confirming rows and all its refusals; races that were won or lost stay behind. A set with a
  /// row older than `not_before` is left out.
  [[nodiscard]] virtual std::vector<StoredMeasurement> reusable(
      const std::string& environment_id,
      std::span<const LayerKey> keys,
      CacheMode cache,
      std::optional<Timestamp> not_before) const = 0;
  /// Returns one point a run, oldest first by the runs' starts.
  [[nodiscard]] virtual std::vector<SeriesPoint> series(const SeriesQuery& query) const = 0;
  /// Returns the newest point of each series; fast for thousands of series among millions of rows.
  [[nodiscard]] virtual std::vector<std::optional<SeriesPoint>> latest(
      std::span<const SeriesQuery> queries) const = 0;

  /// Adds records, but not one that its run has already (equal but for `computed`).
  virtual void put_derived(std::span<const DerivedRecord> records) = 0;
  [[nodiscard]] virtual std::vector<DerivedRecord> derived(const RunId& run,
                                                           const std::string& kind) const = 0;
  /// Returns the newest calibration of an environment.
  [[nodiscard]] virtual std::optional<DerivedRecord> latest_calibration(
      const std::string& environment_id) const = 0;

  /// Assigns a tag to a run. Another run that had it loses it. Throws Error{kUser} for a text that
  /// cannot be a tag.
  virtual void tag(const RunId& run, const std::string& tag) = 0;

  [[nodiscard]] virtual int schema_version() const = 0;
  /// Returns a number that is another one after anybody else has stored something. Costs next to
  /// nothing, so that a long-lived reader can ask often.
  [[nodiscard]] virtual std::int64_t revision() const = 0;
  /// Checks every checksum and reference; returns one line per fault, none if all is well.
  [[nodiscard]] virtual std::vector<std::string> verify() const = 0;
  /// Writes runs (all, if none are named) as JSON lines, with the runs whose rows they refer to.
  virtual void export_to(std::ostream& out, std::span<const RunId> runs) const = 0;
  /// Reads what export_to wrote; what is there already stays as it is, so that doing it twice is
  /// doing it once. Returns the number of new runs. Throws Error{kUser} with the line at fault;
  /// then nothing was imported.
  virtual std::size_t import_from(std::istream& in) = 0;
  /// Drops raw samples and timed races of runs that started before `before` and carry no tag;
  /// summaries, refusals, what tagged runs reuse and what derived records refer to stay. Returns
  /// rows touched.
  virtual std::size_t collect_garbage(Timestamp before) = 0;
};

/// Options for opening a store.
struct StoreAccess {
  bool migrate = true;     ///< an older store is brought forward; else it is refused
  bool read_only = false;  ///< nothing is written, not even what keeps the file in order
  std::chrono::milliseconds patience = std::chrono::minutes(1);  ///< waited for other processes
};

/// Opens `sqlite:PATH` (made if absent and not `read_only`).
/// Throws Error{kUser} for another scheme, Error{kEnvironment} if it cannot be opened.
[[nodiscard]] std::unique_ptr<Store> open_store(const std::string& url,
                                                const StoreAccess& access = {});

/// Identifies what lies at a store's place: with another text a store must be opened anew, since it
/// was replaced while it was open, say. Absent: there is no store. Throws Error{kUser} for a URL
/// that names none.
[[nodiscard]] std::optional<std::string> store_identity(const std::string& url);

}  // namespace plumb
