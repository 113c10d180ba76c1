// SPDX-License-Identifier: Apache-2.0
#include "harness/session/stored/run_record.hpp"

#include "harness/analysis/bounds/bounds.hpp"

namespace plumb {

void put_run_record(Store& store,
                    const RunId& run,
                    const std::string& kind,
                    const std::string& subject,
                    const std::string& payload) {
  const DerivedRecord record{.run = run,
                             .kind = kind,
                             .subject = subject,
                             .analysis_version = std::string(kAnalysisVersion),
                             .inputs = {},
                             .payload = payload,
                             .computed = current_time()};
  store.put_derived({&record, 1});
}

}  // namespace plumb
