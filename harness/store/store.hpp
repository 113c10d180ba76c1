// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/results/execution.hpp"
#include "harness/results/profile/named_profile.hpp"
#include "harness/results/run.hpp"

namespace plumb::store {

/// Returns the item of a model, of which this is the subject of its records.
[[nodiscard]] inline std::string model_item(const std::string& subject) {
  return "model " + subject;
}

/// Returns whether records of a kind need the item of their model.
[[nodiscard]] inline bool is_of_model(const std::string& record_kind) {
  return record_kind == results::kExecutionRecord || record_kind == results::kLoadRecord;
}

/// Work of runs that several processes measure together (docs/reference/shared-runs.md).
///
/// An item is the key of a layer, or a model (model_item()). A process that joined a run may store
/// rows of a key, and executions and loads of a model, only while it has the item, if there is one.
/// Throws as Store does.
class SharedWork {
 public:
  /// How far an item of shared work is.
  enum class Progress {
    kOpen,      ///< not measured
    kMeasured,  ///< measured once: what depends on it may begin
    kDone,
  };

  /// Item of a shared run's work that one process has claimed.
  struct Claim {
    std::string item;
    std::int64_t fence = 0;  ///< 1: nobody had it before
  };

  /// Numbers of items of one stage.
  struct Count {
    std::size_t open = 0;
    std::size_t measured = 0;
    std::size_t done = 0;

    [[nodiscard]] std::size_t total() const { return open + measured + done; }
  };

  /// Error of a result whose item another process has by now. It was not stored.
  class StaleClaim : public Error {
   public:
    explicit StaleClaim(const std::string& text) : Error(Kind::kEnvironment, text) {}
  };

  SharedWork() = default;
  virtual ~SharedWork() = default;
  SharedWork(const SharedWork&) = delete;
  SharedWork& operator=(const SharedWork&) = delete;

  /// Returns the run of this name, id or tag. Where there is none, begins the header's run under
  /// this name, with one item of stage 0: `first`. Throws Error{kUser} for a text that cannot be a
  /// name.
  virtual results::RunId begin_or_find(const std::string& name,
                                       const results::RunHeader& header,
                                       const std::string& first) = 0;
  /// Joins a run for this store, and returns the number of the process in it. The lease is as long
  /// as `lease`, from now. Absent: the run is finished. Throws Error{kUser} for a run that is not
  /// shared.
  [[nodiscard]] virtual std::optional<std::int64_t> join(const results::RunId& run,
                                                         const std::string& host,
                                                         std::chrono::milliseconds lease) = 0;
  /// Prolongs the lease of a process: it ends `lease` from now. Any connection may do this.
  virtual void renew(const results::RunId& run,
                     std::int64_t member,
                     std::chrono::milliseconds lease) = 0;

  /// Adds items to a stage, in the order in which they are claimed. Those that are there stay.
  virtual void offer(const results::RunId& run, int stage, std::span<const std::string> items) = 0;
  /// Claims the next item of a stage that nobody has whose lease lasts. Absent: there is none now.
  [[nodiscard]] virtual std::optional<Claim> claim(const results::RunId& run, int stage) = 0;
  /// Returns the items of a stage that this process has and that are not done.
  [[nodiscard]] virtual std::vector<Claim> claims(const results::RunId& run, int stage) = 0;
  /// Notes the progress of items. One that this process no longer has is left alone.
  virtual void note(const results::RunId& run,
                    std::span<const std::string> items,
                    Progress progress) = 0;
  /// Counts the items by stage.
  [[nodiscard]] virtual std::map<int, Count> count(const results::RunId& run) const = 0;

 protected:
  SharedWork(SharedWork&&) = default;
  SharedWork& operator=(SharedWork&&) = default;
};

/// Append-only, versioned store of results, shared by several processes (docs/reference/store.md).
/// Raw samples are kept, to 10 ps of a sample's whole time. Each call is one transaction: all of it
/// or nothing.
///
/// Throws Error{kEnvironment} for a full disk, a read-only file or a store written by a newer
/// version, saying which version and what to do. What is already stored is never harmed. Throws
/// Error{kTryAgain} if other processes keep it locked for longer than its patience, a minute by
/// default. Naming a run that does not exist (except to find_run()) is a bug: Error{kInternal}.
///
/// A Store is for one thread at a time and does not survive fork(). Each thread and process opens
/// its own.
class Store {
 public:
  /// Identity of one series: one metric of one key on one system. Stack and driver are attributes
  /// of its points.
  struct SeriesQuery {
    /// Point of one run in a series: the run's best variant. This is the variant as confirmed in a
    /// fresh process, where it was confirmed, else the fastest full row. Of a variant that several
    /// processes timed, the middle one counts.
    struct Point {
      results::RunId run;
      std::string environment;
      std::string stack;
      Timestamp started{};  ///< of the run
      std::string variant;
      measure::SampleSummary corrected;
    };

    std::string key;  ///< a layer key
    results::CacheMode cache = results::CacheMode::kNone;
    std::optional<std::string> environment;  ///< 16 hex digits; absent: all environments
  };

  /// Error of a store whose server cannot be reached, or went away. The store that threw it must be
  /// opened again. A transaction that was being committed may have been stored or not.
  class ServerAway : public Error {
   public:
    explicit ServerAway(const std::string& text) : Error(Kind::kTryAgain, text) {}
  };

  /// What became of the rows of a run that waited for their server.
  struct SpooledRun {
    results::RunId run;
    std::filesystem::path file;
    std::size_t sent_rows = 0;
    std::size_t waiting_rows = 0;
    std::string problem;  ///< why they still wait; empty: they do not
  };

  /// Options for opening a store.
  struct Access {
    bool migrate = true;     ///< an older store is migrated; else it is refused
    bool read_only = false;  ///< nothing is written, not even what keeps the file in order
    std::chrono::milliseconds patience = std::chrono::minutes(1);  ///< wait for other processes
    /// Folder for what is written to taken runs while their server is away. Absent: a call then
    /// throws ServerAway.
    std::optional<std::filesystem::path> spool = std::nullopt;
  };

  /// What a garbage collection did.
  struct Garbage {
    std::size_t runs = 0;      ///< removed, with all their rows and derived records
    std::size_t rows = 0;      ///< of runs that stay: lost their samples, or were removed as races
    std::size_t profiles = 0;  ///< removed from runs that stay
    bool keeps_free_room = false;  ///< what they took is not given back, but for new rows
  };

  virtual ~Store() = default;

  /// Begins a run, and takes it for this store as take_run() does.
  virtual void begin_run(const results::RunHeader& header) = 0;
  /// Takes a run that is not finished, which is then running again, so that this store may write to
  /// it. This is how a run is resumed. Returns false if it is finished or shared, or if a live
  /// process has it: no clock judges this. Whoever had the run before can
  /// no longer write to it.
  [[nodiscard]] virtual bool take_run(const results::RunId& run) = 0;
  /// Adds rows to a run that this store has taken, and returns their ids, in order. Many rows per
  /// call are fast. A finished run takes no more rows. Throws Error{kEnvironment} if another
  /// process took the run over: then nothing is stored.
  virtual std::vector<results::RowId> append(const results::RunId& run,
                                             std::span<const results::Measurement> rows) = 0;
  /// Makes rows of earlier runs part of this one, as append() adds rows. Rows that are part of it
  /// already stay.
  virtual void link_reused(const results::RunId& run, std::span<const results::RowId> rows) = 0;
  /// Ends a run, and gives it back: who takes it next may add rows to it if it is interrupted. With
  /// `state` kRunning it only drops the time of the end, and keeps the run. A process that joined a
  /// shared run leaves it: the run is interrupted only with the last one, and finished only once.
  virtual void finish_run(const results::RunId& run,
                          results::RunState state,
                          Timestamp finished) = 0;

  /// Returns all runs, newest first, without their resolved suites: find_run() has those.
  [[nodiscard]] virtual std::vector<results::RunRecord> runs() const = 0;
  /// Resolves a ULID, a unique prefix of one, a tag or "@latest". Throws Error{kUser} that lists
  /// the newest runs and tags.
  [[nodiscard]] virtual results::RunRecord find_run(const std::string& name) const = 0;
  /// Returns a run's rows, own and reused, in order of row id.
  [[nodiscard]] virtual std::vector<results::StoredMeasurement> measurements(
      const results::RunId& run) const = 0;
  /// Returns the newest complete set of rows of each key for one environment and cache mode. These
  /// are the rows that a new run may reuse. They come from the newest run that settles the key,
  /// finished or not. A key is settled where it was timed in full or confirmed, or refused for
  /// good: unsupported, wrong result or out of memory. A crash, a time-out or a skip may pass the
  /// next time. The set has that run's full and confirming rows and all its refusals, but no timed
  /// races. A set with a row older than `not_before` is left out.
  [[nodiscard]] virtual std::vector<results::StoredMeasurement> reusable(
      const std::string& environment_id,
      std::span<const model::LayerKey> keys,
      results::CacheMode cache,
      std::optional<Timestamp> not_before) const = 0;
  /// Returns one point per run, in the order in which the runs started.
  [[nodiscard]] virtual std::vector<SeriesQuery::Point> series(const SeriesQuery& query) const = 0;

  /// Adds records, except those that their run has already (equal except for `computed`).
  virtual void put_derived(std::span<const results::DerivedRecord> records) = 0;
  [[nodiscard]] virtual std::vector<results::DerivedRecord> derived(
      const results::RunId& run, const std::string& kind) const = 0;
  /// Returns the records of one kind of many runs, each run's in the order in which they were
  /// stored. Fast for thousands of runs.
  [[nodiscard]] virtual std::vector<results::DerivedRecord> derived_of_runs(
      std::span<const results::RunId> runs, const std::string& kind) const = 0;
  /// Returns the newest calibration of an environment.
  [[nodiscard]] virtual std::optional<results::DerivedRecord> latest_calibration(
      const std::string& environment_id) const = 0;

  /// Adds a profile to its run, unless that has an equal one.
  virtual void put_profile(const results::StoredProfile& profile) = 0;
  /// Returns a run's profiles in the order in which they were stored, as storable() makes them.
  [[nodiscard]] virtual std::vector<results::StoredProfile> profiles(
      const results::RunId& run) const = 0;

  /// Assigns a tag to a run, and takes it from another run that has it. Throws Error{kUser} for a
  /// text that cannot be a tag.
  virtual void tag(const results::RunId& run, const std::string& tag) = 0;

  /// Returns the work of runs that several processes share. Throws Error{kUser} if this kind of
  /// store has none: an SQLite file.
  [[nodiscard]] virtual SharedWork& shared_work() = 0;

  [[nodiscard]] virtual int schema_version() const = 0;
  /// Returns a number that changes when any other connection has stored something. It costs almost
  /// nothing, so that a long-lived reader can call it often.
  [[nodiscard]] virtual std::int64_t revision() const = 0;
  /// Returns the room that the store takes, with its indexes and logs.
  [[nodiscard]] virtual Bytes size() const = 0;
  /// Returns how many rows were not sent yet, because their server is away.
  [[nodiscard]] virtual std::size_t waiting_rows() const { return 0; }
  /// Checks every checksum and reference. Returns one line per fault.
  [[nodiscard]] virtual std::vector<std::string> verify() const = 0;
  /// Writes runs (all, if none are named) as JSON lines, with the runs whose rows they refer to.
  virtual void export_to(std::ostream& out, std::span<const results::RunId> runs) const = 0;
  /// Reads what export_to() wrote. What is there already stays as it is, so that importing twice is
  /// importing once. Returns the number of new runs. Throws Error{kUser} with the wrong line; then
  /// nothing was imported.
  virtual std::size_t import_from(std::istream& in) = 0;
  /// Removes the runs that started before `before`, and gives their room back to the file system.
  ///
  /// Runs stay that have a tag or a decision of a person (baselines, changes), that run, that a
  /// staying run needs (it reuses their rows, or has their calibration), and the newest. Of those
  /// without a tag, raw samples and timed races go. Summaries and refusals stay, as do rows that
  /// tagged runs reuse or derived records refer to. Profiles go from runs without a tag that
  /// started before `profiles_before`; absent: `before`.
  virtual Garbage collect_garbage(Timestamp before, std::optional<Timestamp> profiles_before) = 0;
  Garbage collect_garbage(Timestamp before) { return collect_garbage(before, {}); }
};

/// Opens `sqlite:PATH`, and creates it if it is absent and not `read_only`; or the store in a
/// database that is there, `postgresql://…`. Throws Error{kUser} for another scheme or a URL with a
/// password, Store::ServerAway if the server cannot be reached, Error{kEnvironment} if it cannot be
/// opened.
[[nodiscard]] std::unique_ptr<Store> open_store(const std::string& url,
                                                const Store::Access& access = {});

/// Sends what dead processes left in a folder of spools to the store that it is for. Throws
/// Store::ServerAway if the server cannot be reached. Nothing waits for a file.
std::vector<Store::SpooledRun> sync_spools(const std::string& url,
                                           const std::filesystem::path& folder);

/// Returns how a damaged store at a URL is restored.
[[nodiscard]] std::string restore_advice(const std::string& url);

/// Returns a text that identifies what is at a store's URL. If the text changes, the store was
/// replaced, say, and must be opened again. Absent: there is no store. Throws Error{kUser} for a
/// URL that names none.
[[nodiscard]] std::optional<std::string> store_identity(const std::string& url);

}  // namespace plumb::store
