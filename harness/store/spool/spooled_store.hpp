// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/store/spool/spool_file.hpp"
#include "harness/store/store.hpp"
#include "harness/store/store_errors.hpp"
#include "harness/store/tables/table_store.hpp"

namespace plumb::store {

/// Store on a server that may go away while runs are written to it.
///
/// While it is away, what is written to the runs that this store has taken goes to a spool, one
/// file a run, and what was written to them can be read. The next contact sends the spool, in
/// order and exactly once. All else throws ServerAway.
class SpooledStore final : public Store, public SharedWork {
 public:
  /// Opens the connection to the server, for the first time and anew.
  using Opener = std::function<std::unique_ptr<TableStore>()>;

  /// Connects, and sends what dead processes left in the folder of spools.
  SpooledStore(std::string url, std::filesystem::path folder, Opener open);
  SpooledStore(const SpooledStore&) = delete;
  SpooledStore& operator=(const SpooledStore&) = delete;
  SpooledStore(SpooledStore&&) = delete;
  SpooledStore& operator=(SpooledStore&&) = delete;
  /// Tries once more to send what waits, and says where it is if that fails.
  ~SpooledStore() override;

  void begin_run(const results::RunHeader& header) override;
  [[nodiscard]] bool take_run(const results::RunId& run) override;
  std::vector<results::RowId> append(const results::RunId& run,
                                     std::span<const results::Measurement> rows) override;
  void link_reused(const results::RunId& run, std::span<const results::RowId> rows) override;
  void finish_run(const results::RunId& run, results::RunState state, Timestamp finished) override;
  [[nodiscard]] std::vector<results::RunRecord> runs() const override;
  [[nodiscard]] results::RunRecord find_run(const std::string& name) const override;
  [[nodiscard]] std::vector<results::StoredMeasurement> measurements(
      const results::RunId& run) const override;
  [[nodiscard]] std::vector<results::StoredMeasurement> reusable(
      const std::string& environment_id,
      std::span<const model::LayerKey> keys,
      results::CacheMode cache,
      std::optional<Timestamp> not_before) const override;
  [[nodiscard]] std::vector<SeriesPoint> series(const SeriesQuery& query) const override;
  void put_derived(std::span<const results::DerivedRecord> records) override;
  [[nodiscard]] std::vector<results::DerivedRecord> derived(const results::RunId& run,
                                                            const std::string& kind) const override;
  [[nodiscard]] std::vector<results::DerivedRecord> derived_of_runs(
      std::span<const results::RunId> runs, const std::string& kind) const override;
  [[nodiscard]] std::optional<results::DerivedRecord> latest_calibration(
      const std::string& environment_id) const override;
  void put_profile(const results::StoredProfile& profile) override;
  [[nodiscard]] std::vector<results::StoredProfile> profiles(
      const results::RunId& run) const override;
  void tag(const results::RunId& run, const std::string& tag) override;
  [[nodiscard]] SharedWork& shared_work() override { return *this; }
  results::RunId begin_or_find(const std::string& name,
                               const results::RunHeader& header,
                               const std::string& first) override;
  [[nodiscard]] std::optional<std::int64_t> join(const results::RunId& run,
                                                 const std::string& host,
                                                 std::chrono::milliseconds lease) override;
  void renew(const results::RunId& run,
             std::int64_t member,
             std::chrono::milliseconds lease) override;
  void offer(const results::RunId& run, int stage, std::span<const std::string> items) override;
  [[nodiscard]] std::optional<WorkClaim> claim(const results::RunId& run, int stage) override;
  [[nodiscard]] std::vector<WorkClaim> claims(const results::RunId& run, int stage) override;
  void note(const results::RunId& run,
            std::span<const std::string> items,
            WorkProgress progress) override;
  [[nodiscard]] std::map<int, WorkCount> count(const results::RunId& run) const override;
  [[nodiscard]] int schema_version() const override;
  [[nodiscard]] std::int64_t revision() const override;
  [[nodiscard]] Bytes size() const override;
  [[nodiscard]] std::size_t waiting_rows() const override;
  [[nodiscard]] std::vector<std::string> verify() const override;
  void export_to(std::ostream& out, std::span<const results::RunId> runs) const override;
  std::size_t import_from(std::istream& in) override;
  using Store::collect_garbage;
  CollectedGarbage collect_garbage(Timestamp before,
                                   std::optional<Timestamp> profiles_before) override;

 private:
  /// What is known here of a run that this store has taken.
  struct Run {
    TableStore::Place place;
    results::RunRecord record;
    std::vector<results::StoredMeasurement> rows;
    std::vector<results::DerivedRecord> records;
    std::vector<results::StoredProfile> profiles;
    std::unique_ptr<SpoolFile> spool;  ///< absent: nothing waits
    bool open = true;                  ///< not ended
  };

  /// Returns the connected store. Connects if it is time to try again. Throws ServerAway.
  TableStore& server() const;
  void connect() const;
  void lose(const ServerAway& away) const;
  /// Returns what `ask` answers with the server. Without one, what `recall` knows, or else throws.
  template <typename Ask, typename Recall>
  auto answer(Ask&& ask, Recall&& recall) const -> decltype(ask(std::declval<TableStore&>()));
  template <typename Ask>
  auto answer(Ask&& ask) const;
  template <typename Ask>
  auto ask_work(Ask&& ask) const;
  /// Sends what `kept` is to a run in one transaction, or keeps it in the run's spool.
  template <typename Send>
  void write(Run& run, const std::vector<SpoolFile::Write>& kept, Send&& send);
  [[nodiscard]] Run& taken(const results::RunId& run);
  [[nodiscard]] const Run* known(const results::RunId& run) const;
  void remember(const results::RunId& run);

  std::string url_;
  std::filesystem::path folder_;
  Opener open_;
  mutable std::map<results::RunId, Run> runs_;
  mutable std::map<std::string, std::optional<results::DerivedRecord>> calibrations_;
  mutable std::unique_ptr<TableStore> server_;
  mutable std::string reason_;  ///< why there is none
  mutable std::chrono::steady_clock::time_point next_try_;
  mutable std::chrono::steady_clock::duration pause_{};
};

}  // namespace plumb::store
