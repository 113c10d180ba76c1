// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "harness/results/profile/named_profile.hpp"
#include "harness/results/run.hpp"
#include "harness/store/sqlite/sqlite_connection.hpp"
#include "harness/store/store.hpp"
#include "harness/store/tables/table_store.hpp"

namespace plumb::store {

/// SQLite file with the writes of one run that wait for its server, in order. A write is in it
/// before its call returns. The file belongs to one process at a time, as long as that lives.
class SpoolFile {
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
  SpoolFile(const std::filesystem::path& folder, const Header& header);
  /// Opens a file. Throws Error{kTryAgain} if a live process has it.
  explicit SpoolFile(const std::filesystem::path& file);

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

/// Returns the spools in a folder. There may be none, nor a folder.
[[nodiscard]] std::vector<std::filesystem::path> find_spools(const std::filesystem::path& folder);

/// Sends the writes of a spool to a store that has retaken their run, in order, and drops each once
/// it is committed. A write that the store has already changes nothing, and one of
/// shared work that another process has by now is left out. Returns the number of rows
/// sent. Throws ServerAway if the server goes away; then the rest stays.
std::size_t replay(SpoolFile& spool, TableStore& store);

/// Sends the spools of dead processes to the store that they are for, and removes those that are
/// sent. Throws ServerAway if the server goes away meanwhile.
std::vector<SpooledRun> sync_spools_of(const std::filesystem::path& folder,
                                       const std::string& url,
                                       TableStore& server);

}  // namespace plumb::store
