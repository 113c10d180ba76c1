// SPDX-License-Identifier: Apache-2.0
#include "harness/session/profile/profiling_record.hpp"

#include <nlohmann/json.hpp>

#include "harness/session/stored/run_record.hpp"

namespace plumb::session {

using nlohmann::json;

void put_profiling(store::Store& store, const results::RunId& run, const ProfilingRecord& record) {
  put_run_record(store,
                 run,
                 kProfilingRecord,
                 "models",
                 json{{"models", record.models},
                      {"profiled", record.profiled},
                      {"spent_seconds", record.spent.count()},
                      {"allowed_seconds", record.allowed.count()},
                      {"reason", record.reason}}
                     .dump(-1, ' ', false, json::error_handler_t::replace));
}

std::optional<ProfilingRecord> read_profiling(const store::Store& store,
                                              const results::RunId& run) {
  const auto records = store.derived(run, kProfilingRecord);
  if (records.empty()) {
    return std::nullopt;
  }
  const json payload = json::parse(records.back().payload);
  ProfilingRecord record;
  payload.at("models").get_to(record.models);
  payload.at("profiled").get_to(record.profiled);
  record.spent = Seconds(payload.at("spent_seconds").get<double>());
  record.allowed = Seconds(payload.at("allowed_seconds").get<double>());
  payload.at("reason").get_to(record.reason);
  return record;
}

}  // namespace plumb::session
