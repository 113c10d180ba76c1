// SPDX-License-Identifier: Apache-2.0
#include "harness/store/spool/spool_replay.hpp"

#include <spdlog/spdlog.h>

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

}  // namespace plumb::store
