// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/results/labels/run_labels.hpp"
#include "harness/serve/http_server.hpp"
#include "harness/serve/request_target.hpp"
#include "harness/serve/store_metrics.hpp"
#include "harness/session/stored/stored_triage.hpp"

namespace plumb::serve {

/// Returns whether a header is "Bearer TOKEN". How long that takes tells nothing of the token. An
/// empty token is nobody's.
[[nodiscard]] bool has_token(std::string_view authorization, std::string_view token);

/// Pages of the server beside the metrics, made one after the other in a thread of their own:
///
///   /                       models and runs
///   /runs/RUN               the HTML report of a run
///   /models/MODEL           a model as the newest runs have it
///   /compare?base=RUN&cand=RUN[&vary=FACT…]
///   /hosts                  hosts that measure, and the state of their controls
///   /functions              functions that take more or less time than a month ago
///   /triage                 open changes by their likely cause
///
/// They read the store. With a token, POST /triage enters decisions about changes, and nothing else
/// is ever written.
class WebPages {
 public:
  /// Decision about changes, as a page sends it.
  struct TriageRequest {
    std::vector<std::string> changes;
    session::TriageDecision decision;
  };

  using Newest = std::function<std::shared_ptr<const MetricsPublisher::Snapshot>()>;

  /// Keeps a reference to the models. Without a token, nobody can decide anything.
  WebPages(std::string store_url,
           const session::ModelSource& models,
           results::CommitLink commits,
           std::string token,
           Newest newest);
  WebPages(const WebPages&) = delete;
  WebPages& operator=(const WebPages&) = delete;
  WebPages(WebPages&&) = delete;
  WebPages& operator=(WebPages&&) = delete;
  /// Ends after the page in progress. Those that wait are never answered.
  ~WebPages();

  /// Answers later, or at once with status 503 if too many wait. Call it from the server's thread.
  void answer(RequestTarget target, const HttpServer::Respond& respond);
  /// Enters a decision if the request has the token, and answers likewise.
  void decide(const HttpServer::Request& request, const HttpServer::Respond& respond);

 private:
  void post(std::function<HttpServer::Reply()> make, const HttpServer::Respond& respond);
  struct Worker;
  std::unique_ptr<Worker> worker_;
};

/// Parses {"action", "changes", "text", "who"}. The action is accept, invalid, assign or note, and
/// the text its reason, name or note. Throws Error{kUser}.
[[nodiscard]] WebPages::TriageRequest parse_triage_request(std::string_view body);

}  // namespace plumb::serve
