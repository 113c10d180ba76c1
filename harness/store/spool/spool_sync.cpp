// SPDX-License-Identifier: Apache-2.0
#include "harness/store/spool/spool_sync.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "harness/base/error.hpp"
#include "harness/store/server_away.hpp"

namespace plumb::store {
namespace {

/// Applies one write. Returns the number of its rows.
class Replay {
 public:
  Replay(TableStore& store, const results::RunId& run) : store_(store), run_(run) {}

  std::size_t operator()(const SpooledRows& write) const {
    store_.append_at(run_, write.position, write.rows);
    return write.rows.size();
  }
  std::size_t operator()(const SpooledEnd& write) const {
    store_.end_again(run_, write.state, write.finished);
    return 0;
  }
  std::size_t operator()(const results::DerivedRecord& write) const {
    store_.put_derived({&write, 1});
    return 0;
  }
  std::size_t operator()(const results::StoredProfile& write) const {
    store_.put_profile(write);
    return 0;
  }

 private:
  TableStore& store_;
  const results::RunId& run_;
};

SpooledRun sync(const std::filesystem::path& file, const std::string& url, TableStore& server) {
  SpooledRun report{file.stem().string(), file, 0, 0, ""};
  try {
    SpoolFile spool(file);
    report.run = spool.header().run;
    report.waiting_rows = spool.waiting_rows();
    if (spool.header().url != url) {
      report.problem = fmt::format("they are for the store '{}'", spool.header().url);
      return report;
    }
    try {
      if (!server.retake(report.run, spool.header().fence)) {
        report.problem = "another process works on the run";
        return report;
      }
      report.sent_rows = replay(spool, server);
      server.release(report.run);
      report.waiting_rows = 0;
      spool.remove();
    } catch (const ServerAway&) {
      throw;
    } catch (const Error& error) {
      server.release(report.run);
      report.waiting_rows = spool.waiting_rows();
      spool.set_aside();
      report.file += ".refused";
      report.problem = error.what();
    }
  } catch (const Error& error) {
    if (dynamic_cast<const ServerAway*>(&error) != nullptr) {
      throw;
    }
    report.problem = error.kind() == Error::Kind::kTryAgain ? "a live process has them"
                                                            : std::string(error.what());
  }
  return report;
}

}  // namespace

std::size_t replay(SpoolFile& spool, TableStore& store) {
  std::size_t rows = 0;
  while (const std::optional<SpoolFile::Entry> entry = spool.oldest()) {
    try {
      rows += std::visit(Replay(store, spool.header().run), entry->write);
    } catch (const StaleClaim& stale) {
      spdlog::warn("{}", stale.what());
    }
    spool.drop(entry->number);
  }
  return rows;
}

std::vector<SpooledRun> sync_spools_of(const std::filesystem::path& folder,
                                       const std::string& url,
                                       TableStore& server) {
  std::vector<SpooledRun> reports;
  for (const std::filesystem::path& file : find_spools(folder)) {
    reports.push_back(sync(file, url, server));
  }
  return reports;
}

}  // namespace plumb::store
