// SPDX-License-Identifier: Apache-2.0
#include "harness/serve/triage_request.hpp"

#include <nlohmann/json.hpp>

#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"
#include "harness/results/json_object.hpp"

namespace plumb::serve {

TriageRequest parse_triage_request(std::string_view body) {
  constexpr std::size_t kMaxChanges = 200;
  const nlohmann::json document = results::parse_json(body);
  const results::JsonObject fields(document);
  TriageRequest request;
  request.changes = fields.texts("changes", kMaxChanges);
  request.decision.who = fields.text_or_empty("who");
  const std::string& action = fields.text("action");
  const std::string& text = fields.text("text");
  if (text.empty() || request.changes.empty()) {
    throw Error(Error::Kind::kUser, "choose changes, and write a reason, a name or a note");
  }
  if (action == "accept" || action == "invalid") {
    request.decision.state =
        action == "accept" ? analysis::ChangeState::kAccepted : analysis::ChangeState::kInvalid;
    request.decision.reason = text;
  } else if (action == "assign") {
    request.decision.assignee = text == "nobody" ? "" : text;
  } else if (action == "note") {
    request.decision.note = text;
  } else {
    throw Error(Error::Kind::kUser, "the action is accept, invalid, assign or note");
  }
  return request;
}

bool has_token(std::string_view authorization, std::string_view token) {
  constexpr std::string_view kBearer = "Bearer ";
  if (token.empty() || !authorization.starts_with(kBearer)) {
    return false;
  }
  // Digests have one length and tell nothing of how far two texts agree.
  const std::string given = sha256(authorization.substr(kBearer.size()));
  const std::string wanted = sha256(token);
  bool same = true;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    same = static_cast<bool>(static_cast<int>(same) & static_cast<int>(given[i] == wanted[i]));
  }
  return same;
}

}  // namespace plumb::serve
