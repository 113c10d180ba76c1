// SPDX-License-Identifier: Apache-2.0
#include "harness/store/spool/spool_sync.hpp"

#include <fmt/format.h>

#include "harness/base/error.hpp"
#include "harness/store/server_away.hpp"
#include "harness/store/spool/spool_file.hpp"
#include "harness/store/spool/spool_replay.hpp"

namespace plumb::store {
namespace {

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
