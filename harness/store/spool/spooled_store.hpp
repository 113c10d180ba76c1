// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "harness/results/profile/named_profile.hpp"
#include "harness/results/run.hpp"
#include "harness/store/sqlite/sqlite_connection.hpp"
#include "harness/store/store.hpp"
#include "harness/store/store_errors.hpp"
#include "harness/store/tables/table_store.hpp"

namespace plumb::store {

/// Returns the spools in a folder. There may be none, nor a folder.
[[nodiscard]] std::vector<std::filesystem::path> find_spools(const std::filesystem::path& folder);

/// Sends the spools of dead processes to the store that they are for, and removes those that are
/// sent. Throws Store::ServerAway if the server goes away meanwhile.
std::vector<Store::SpooledRun> sync_spools_of(const std::filesystem::path& folder,
                                              const std::string& url,
                                              TableStore& server);

/// Store on a server that may go away while runs are written to it.
///
/// While it is away, what is written to the runs that this store has taken goes to a spool, one
/// file a run, and what was written to them can be read. The next contact sends the spool, in
/// order and exactly once. All else throws Store::ServerAway.
class SpooledStore final : public Store, public SharedWork {
 public:
  /// SQLite file with the writes of one run that wait for its server, in order. A write is in it
  /// before its call returns. The file belongs to one process at a time, as long as that lives.
  class File {
   public:
    /// Rows of a run from a position on.
    struct Rows {
      std::int64_t position;
      std::vector<results::Measurement> rows;
    };
    /// End of a run.
    struct End {
      results::RunState state;
      Timestamp finished;
    };
    /// Write to a store that waits for its server.
    using Write = std::variant<Rows, End, results::DerivedRecord, results::StoredProfile>;

    /// Run whose writes a spool holds.
    struct Header {
      std::string url;  ///< of its store
      results::RunId run;
      std::int64_t fence = 0;  ///< of the process that had the run; its number in a shared one
      bool shared = false;     ///< only needed to make the file: each process has one
    };

    /// Makes the file of a run in a folder, or opens the one that is there.
    File(const std::filesystem::path& folder, const Header& header);
    /// Opens a file. Throws Error{kTryAgain} if a live process has it.
    explicit File(const std::filesystem::path& file);

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    [[nodiscard]] const Header& header() const { return header_; }
    /// Adds writes: all of them or none.
    void add(const std::vector<Write>& writes);

    /// Oldest write.
    struct Entry {
      std::int64_t number = 0;
      Write write;
    };
    [[nodiscard]] std::optional<Entry> oldest() const;
    void drop(std::int64_t number);
    /// Returns how many rows wait.
    [[nodiscard]] std::size_t waiting_rows() const;
    /// Removes the file.
    void remove();
    /// Gives the file another name, by which it is no longer a spool.
    void set_aside();

   private:
    void own();
    std::filesystem::path path_;
    SqliteConnection connection_;
    Header header_;
  };

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
  [[nodiscard]] std::vector<Store::SeriesQuery::Point> series(
      const Store::SeriesQuery& query) const override;
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
  [[nodiscard]] std::optional<SharedWork::Claim> claim(const results::RunId& run,
                                                       int stage) override;
  [[nodiscard]] std::vector<SharedWork::Claim> claims(const results::RunId& run,
                                                      int stage) override;
  void note(const results::RunId& run,
            std::span<const std::string> items,
            SharedWork::Progress progress) override;
  [[nodiscard]] std::map<int, SharedWork::Count> count(const results::RunId& run) const override;
  [[nodiscard]] int schema_version() const override;
  [[nodiscard]] std::int64_t revision() const override;
  [[nodiscard]] Bytes size() const override;
  [[nodiscard]] std::size_t waiting_rows() const override;
  [[nodiscard]] std::vector<std::string> verify() const override;
  void export_to(std::ostream& out, std::span<const results::RunId> runs) const override;
  std::size_t import_from(std::istream& in) override;
  using Store::collect_garbage;
  Store::Garbage collect_garbage(Timestamp before,
                                 std::optional<Timestamp> profiles_before) override;

 private:
  /// What is known here of a run that this store has taken.
  struct Run {
    TableStore::Place place;
    results::RunRecord record;
    std::vector<results::StoredMeasurement> rows;
    std::vector<results::DerivedRecord> records;
    std::vector<results::StoredProfile> profiles;
    std::unique_ptr<File> spool;  ///< absent: nothing waits
    bool open = true;             ///< not ended
  };

  /// Returns the connected store. Connects if it is time to try again. Throws Store::ServerAway.
  TableStore& server() const;
  void connect() const;
  void lose(const Store::ServerAway& away) const;
  /// Returns what `ask` answers with the server. Without one, what `recall` knows, or else throws.
  template <typename Ask, typename Recall>
  auto answer(Ask&& ask, Recall&& recall) const -> decltype(ask(std::declval<TableStore&>()));
  template <typename Ask>
  auto answer(Ask&& ask) const;
  template <typename Ask>
  auto ask_work(Ask&& ask) const;
  /// Sends what `kept` is to a run in one transaction, or keeps it in the run's spool.
  template <typename Send>
  void write(Run& run, const std::vector<File::Write>& kept, Send&& send);
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

/// Sends the writes of a spool to a store that has retaken their run, in order, and drops each once
/// it is committed. A write that the store has already changes nothing, and one of
/// shared work that another process has by now is left out. Returns the number of rows
/// sent. Throws Store::ServerAway if the server goes away; then the rest stays.
std::size_t replay(SpooledStore::File& spool, TableStore& store);

}  // namespace plumb::store
