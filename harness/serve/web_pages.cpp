// SPDX-License-Identifier: Apache-2.0
#include "harness/serve/web_pages.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <list>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>
#include <vector>

#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"
#include "harness/results/json_object.hpp"
#include "harness/session/profile/run_profiles.hpp"
#include "harness/session/stored/run_analysis.hpp"
#include "harness/session/stored/stored_comparison.hpp"
#include "harness/session/stored/stored_triage.hpp"
#include "reporting/content/comparison/comparison_report.hpp"
#include "reporting/content/profile/profile_documents.hpp"
#include "reporting/content/review/triage_documents.hpp"
#include "reporting/content/run/report.hpp"
#include "reporting/content/store/store_pages.hpp"
#include "reporting/document/texts.hpp"

namespace plumb::serve {

WebPages::TriageRequest parse_triage_request(std::string_view body) {
  constexpr std::size_t kMaxChanges = 200;
  const nlohmann::json document = results::parse_json(body);
  const results::JsonObject fields(document);
  WebPages::TriageRequest request;
  request.changes = fields.texts("changes", kMaxChanges);
  request.decision.who = fields.text_or_empty("who");
  const std::string& action = fields.text("action");
  const std::string& text = fields.text("text");
  if (text.empty() || request.changes.empty()) {
    throw Error(Error::Kind::kUser, "choose changes, and write a reason, a name or a note");
  }
  if (action == "accept" || action == "invalid") {
    request.decision.state = action == "accept" ? analysis::SeriesChange::State::kAccepted
                                                : analysis::SeriesChange::State::kInvalid;
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

namespace {

constexpr std::size_t kMaxWaiting = 16;
constexpr std::size_t kReportsKept = 8;
constexpr std::size_t kLargestReportKept = 16U << 20U;
constexpr std::chrono::seconds kPatience{5};
constexpr const char* kHtml = "text/html; charset=utf-8";
constexpr const char* kPage =
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'";
// The script of this server sends decisions to this server, and nothing else.
constexpr const char* kDecide =
    "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'unsafe-inline'; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'";
// The report draws itself with the script inside it. It may load nothing and send nothing.
constexpr const char* kReport =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

HttpServer::Reply page_reply(unsigned status,
                             const char* policy,
                             std::shared_ptr<const std::string> text) {
  HttpServer::Reply reply;
  reply.status = status;
  reply.type = kHtml;
  reply.policy = policy;
  reply.body = {std::move(text)};
  return reply;
}

template <typename Write>
HttpServer::Reply make_page(unsigned status, Write&& write) {
  std::ostringstream out;
  write(out);
  return page_reply(status, kPage, std::make_shared<const std::string>(std::move(out).str()));
}

HttpServer::Reply message(unsigned status, const std::string& title, const std::string& text) {
  return make_page(status,
                   [&](std::ostream& out) { reporting::write_message_page(title, text, out); });
}

}  // namespace

struct WebPages::Worker {
  explicit Worker(const session::ModelSource& source) : models(source) {}

  struct Kept {
    results::RunId run;
    std::shared_ptr<const std::string> report;
  };

  [[nodiscard]] std::unique_ptr<store::Store> open() const {
    if (!store::store_identity(store_url)) {
      throw Error(Error::Kind::kEnvironment, "there is no store");
    }
    return store::open_store(store_url,
                             {.migrate = false, .read_only = true, .patience = kPatience});
  }

  HttpServer::Reply report(const std::string& name) {
    const auto store = open();
    const results::RunRecord run = store->find_run(name);
    const auto found = std::find_if(
        kept.begin(), kept.end(), [&](const Kept& each) { return each.run == run.header.id; });
    if (found != kept.end()) {
      kept.splice(kept.begin(), kept, found);
      return page_reply(200, kReport, found->report);
    }
    std::ostringstream out;
    analysis::RunReport report = session::analyze_run({*store, models}, run, {});
    session::add_profiles(*store, report);
    report.commits = commits;
    reporting::format_for(reporting::report_formats(), "report.html").write(report, out);
    const auto text = std::make_shared<const std::string>(std::move(out).str());
    if (run.state == results::RunState::kFinished && text->size() <= kLargestReportKept) {
      kept.push_front({run.header.id, text});
      kept.resize(std::min(kept.size(), kReportsKept));
    }
    return page_reply(200, kReport, text);
  }

  HttpServer::Reply triage() const {
    const auto store = open();
    std::ostringstream out;
    reporting::write_triage_page(
        analysis::group_changes(session::read_open_changes(*store, "", "")),
        commits,
        !token.empty(),
        out);
    return page_reply(200, kDecide, std::make_shared<const std::string>(std::move(out).str()));
  }

  HttpServer::Reply comparison(const RequestTarget& target) const {
    const std::string base = target.value("base");
    const std::string candidate = target.value("cand");
    if (base.empty() || candidate.empty()) {
      return message(
          400, "Name two runs to compare", "Write the address /compare?base=RUN&cand=RUN");
    }
    std::vector<std::string> varied;
    for (auto [each, end] = target.query.equal_range("vary"); each != end; ++each) {
      varied.push_back(each->second);
    }
    const auto store = open();
    analysis::ComparisonReport compared =
        session::compare_stored_runs({*store, models}, base, candidate, varied, {});
    compared.commits = commits;
    return make_page(200, [&](std::ostream& out) {
      reporting::write_comparison_page(compared, reporting::PagePlace::kServer, out);
    });
  }

  HttpServer::Reply functions() const {
    constexpr std::chrono::days kMonth{30};
    const auto growth = analysis::find_function_growth(
        session::read_dated_profiles(*open(), current_time() - kMonth));
    return make_page(200, [&](std::ostream& out) {
      reporting::write_growth_page(growth, static_cast<int>(kMonth.count()), out);
    });
  }

  HttpServer::Reply page(const RequestTarget& target) {
    const auto& path = target.path;
    const std::shared_ptr<const MetricsPublisher::Snapshot> now = newest();
    if (path.empty()) {
      return make_page(200, [&](std::ostream& out) {
        reporting::write_overview_page(*now->runs, *now->suites, now->up, commits, out);
      });
    }
    if (path.size() == 2 && path[0] == "runs") {
      return report(path[1]);
    }
    if (path.size() == 2 && path[0] == "models") {
      bool found = false;
      HttpServer::Reply reply = make_page(200, [&](std::ostream& out) {
        found = reporting::write_model_page(path[1], *now->suites, out);
      });
      return found ? reply
                   : message(404, "No such model", "No newest run has a model of this name.");
    }
    if (path.size() == 1 && path[0] == "hosts") {
      return make_page(200, [&](std::ostream& out) {
        reporting::write_hosts_page(*now->hosts, current_time(), out);
      });
    }
    if (path.size() == 1 && path[0] == "functions") {
      return functions();
    }
    if (path.size() == 1 && path[0] == "triage") {
      return triage();
    }
    if (path.size() == 1 && path[0] == "triage.js") {
      HttpServer::Reply reply = text_reply(200, std::string(reporting::triage_script()));
      reply.type = "text/javascript; charset=utf-8";
      return reply;
    }
    if (path.size() == 1 && path[0] == "compare") {
      return comparison(target);
    }
    return message(404, "No such page", "The address does not name a page.");
  }

  HttpServer::Reply decision(const std::string& body) const {
    if (!store::store_identity(store_url)) {
      throw Error(Error::Kind::kEnvironment, "there is no store");
    }
    const WebPages::TriageRequest request = parse_triage_request(body);
    const auto store =
        store::open_store(store_url, {.migrate = false, .read_only = false, .patience = kPatience});
    const std::size_t count = session::enter_decision(*store, request.changes, request.decision);
    return text_reply(200, "entered for " + std::to_string(count) + " changes\n");
  }

  /// Enters a decision. What is wrong is said as text.
  HttpServer::Reply safe_decision(const std::string& body) const {
    try {
      return decision(body);
    } catch (const Error& error) {
      if (error.kind() == Error::Kind::kUser) {
        return text_reply(400, reporting::sanitize_utf8(error.what()) + "\n");
      }
      spdlog::warn("a decision could not be entered: {}", error.what());
      return text_reply(503, "the store cannot be written: the server's log says why\n");
    } catch (const std::exception& error) {
      spdlog::error("a decision could not be entered: {}", error.what());
      return text_reply(500, "the decision could not be entered: see the server's log\n");
    }
  }

  HttpServer::Reply safe_page(const RequestTarget& target) {
    try {
      return page(target);
    } catch (const Error& error) {
      if (error.kind() == Error::Kind::kUser) {
        return message(404, "Not found", error.what());
      }
      if (error.kind() == Error::Kind::kRefused) {
        return message(409,
                       "These runs cannot be compared",
                       std::string(error.what()) +
                           ". On this page, add &vary=stack (or another name) to the address");
      }
      spdlog::warn("a page could not be made: {}", error.what());
      return message(
          503, "The store cannot be read", "The server's log says why. Try again later.");
    } catch (const std::exception& error) {
      spdlog::error("a page could not be made: {}", error.what());
      return message(500, "This page could not be made", "The server's log says why.");
    }
  }

  std::string store_url;
  const session::ModelSource& models;
  results::CommitLink commits;
  std::string token;  ///< empty: nobody decides
  Newest newest;
  std::list<Kept> kept;  ///< last used first
  std::atomic<std::size_t> waiting{0};
  boost::asio::thread_pool thread{1};
};

WebPages::WebPages(std::string store_url,
                   const session::ModelSource& models,
                   results::CommitLink commits,
                   std::string token,
                   Newest newest)
    : worker_(std::make_unique<Worker>(models)) {
  worker_->store_url = std::move(store_url);
  worker_->commits = std::move(commits);
  worker_->token = std::move(token);
  worker_->newest = std::move(newest);
}

WebPages::~WebPages() {
  worker_->thread.stop();
  worker_->thread.join();
}

void WebPages::post(std::function<HttpServer::Reply()> make, const HttpServer::Respond& respond) {
  if (worker_->waiting >= kMaxWaiting) {
    respond(text_reply(503, "too many pages are requested at once: try again later\n"));
    return;
  }
  ++worker_->waiting;
  boost::asio::post(worker_->thread, [this, make = std::move(make), respond] {
    respond(make());
    --worker_->waiting;
  });
}

void WebPages::answer(RequestTarget target, const HttpServer::Respond& respond) {
  post([this, target = std::move(target)] { return worker_->safe_page(target); }, respond);
}

void WebPages::decide(const HttpServer::Request& request, const HttpServer::Respond& respond) {
  // A page of another site cannot send this header, so that no reader decides against their will.
  if (!has_token(request.authorization, worker_->token)) {
    respond(text_reply(401, "the token is missing or wrong\n"));
    return;
  }
  post([this, body = request.body] { return worker_->safe_decision(body); }, respond);
}

}  // namespace plumb::serve
