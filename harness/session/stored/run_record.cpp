// SPDX-License-Identifier: Apache-2.0
#include "harness/session/stored/run_record.hpp"

#include <spdlog/spdlog.h>

#include "harness/analysis/bounds/bounds.hpp"

namespace plumb::session {

void put_run_record(store::Store& store,
                    const results::RunId& run,
                    const std::string& kind,
                    const std::string& subject,
                    const std::string& payload) {
  const results::DerivedRecord record{.run = run,
                                      .kind = kind,
                                      .subject = subject,
                                      .analysis_version = std::string(analysis::kAnalysisVersion),
                                      .inputs = {},
                                      .payload = payload,
                                      .computed = current_time()};
  try {
    store.put_derived({&record, 1});
  } catch (const store::StaleClaim& stale) {
    spdlog::warn("{}", stale.what());
  }
}

}  // namespace plumb::session
