// SPDX-License-Identifier: Apache-2.0
#include "harness/session/stored/stored_confirmation.hpp"

#include <nlohmann/json.hpp>
#include <string>

#include "harness/session/stored/run_record.hpp"

namespace plumb::session {
namespace {

constexpr const char* kConfirmationRecord = "confirmation";

}  // namespace

void put_confirmation(store::Store& store,
                      const results::RunId& baseline,
                      const results::RunId& candidate,
                      const StoredConfirmation& confirmation) {
  nlohmann::json document{{"series", confirmation.suspects.series}};
  if (confirmation.pairs) {
    document["pairs"] = nlohmann::json::parse(to_json(*confirmation.pairs));
  } else {
    document["after_process"] = confirmation.after_process;
  }
  put_run_record(store, candidate, kConfirmationRecord, baseline, document.dump());
}

std::optional<StoredConfirmation> read_confirmation(const store::Store& store,
                                                    const results::RunId& baseline,
                                                    const results::RunId& candidate) {
  std::optional<StoredConfirmation> confirmation;
  for (const results::DerivedRecord& record : store.derived(candidate, kConfirmationRecord)) {
    if (record.subject != baseline) {
      continue;
    }
    const auto document = nlohmann::json::parse(record.payload);
    confirmation.emplace();
    for (const auto& series : document.at("series")) {
      confirmation->suspects.series.insert(series.get<std::string>());
    }
    if (document.contains("pairs")) {
      confirmation->pairs = analysis::paired_confirmation_from_json(document.at("pairs").dump());
    } else {
      document.at("after_process").get_to(confirmation->after_process);
    }
  }
  return confirmation;
}

}  // namespace plumb::session
