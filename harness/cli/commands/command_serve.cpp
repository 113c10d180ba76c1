// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <prometheus/text_serializer.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <ostream>
#include <vector>

#include "harness/analysis/report/reports.hpp"
#include "harness/base/error.hpp"
#include "harness/base/file_io.hpp"
#include "harness/cli/command.hpp"
#include "harness/serve/http_server.hpp"
#include "harness/serve/store_metrics.hpp"
#include "harness/serve/web_pages.hpp"
#include "harness/serve/web_request.hpp"
#include "harness/terminal/terminal.hpp"

namespace plumb::cli {
namespace {

constexpr const char* kTextFormat = "text/plain; version=0.0.4; charset=utf-8";

constexpr std::chrono::seconds kFirstLook{3};
constexpr std::uint64_t kMaxDecision = 16384;  // bytes

struct ServeOptions {
  std::string listen = "127.0.0.1:9779";
  double refresh_seconds = 5.0;
  double max_age_days = 90.0;
  std::size_t layers = 10;
  std::string token_variable;
};

/// Returns the token with which changes are decided about; empty: there is none. Throws
/// Error{kEnvironment} for a variable without one, or with one that can be guessed.
std::string read_token(const std::string& variable) {
  constexpr std::size_t kMinToken = 16;
  if (variable.empty()) {
    return "";
  }
  const std::string token = session::environment_variable(variable.c_str()).value_or("");
  if (token.size() < kMinToken) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("the variable {} has a token of {} characters: set one of {} at least, "
                            "such as that of 'openssl rand -hex 16'",
                            variable,
                            token.size(),
                            kMinToken));
  }
  return token;
}

serve::HttpServer::Reply metrics_reply(const serve::MetricsPublisher::Snapshot& snapshot,
                                       bool gzip) {
  serve::HttpServer::Reply reply;
  reply.type = kTextFormat;
  reply.gzip = gzip;
  reply.body = gzip ? serve::gzip_body(snapshot.health, snapshot.results)
                    : serve::plain_body(snapshot.health, snapshot.results);
  return reply;
}

void serve(const CommandContext& context, const ServeOptions& options) {
  const serve::HttpServer::Address address = serve::parse_listen_address(options.listen);
  static_cast<void>(
      store::store_identity(context.store_url()));  // A URL that names no store fails here.
  const std::string token = read_token(options.token_variable);
  serve::MetricsPublisher publisher(
      {.store_url = context.store_url(),
       .slowest_layers = options.layers,
       .version = context.version,
       .max_age = options.max_age_days > 0 ? std::optional(Seconds(options.max_age_days * 86400.0))
                                           : std::nullopt},
      context.models,
      std::chrono::milliseconds(static_cast<std::int64_t>(options.refresh_seconds * 1e3)));
  serve::WebPages* pages = nullptr;
  serve::HttpServer server(
      address,
      [&](const serve::HttpServer::Request& request, const serve::HttpServer::Respond& respond) {
        const std::string path = request.target.substr(0, request.target.find('?'));
        if (request.post) {
          if (path == "/triage") {
            pages->decide(request, respond);
          } else {
            respond(serve::text_reply(405, "only /triage takes POST\n"));
          }
        } else if (path == "/metrics") {
          respond(metrics_reply(*publisher.snapshot(), request.accepts_gzip));
        } else if (path == "/-/healthy" || path == "/healthz") {
          respond(serve::text_reply(200, "plumb is serving\n"));
        } else if (std::optional<serve::RequestTarget> target =
                       serve::parse_request_target(request.target)) {
          pages->answer(std::move(*target), respond);
        } else {
          respond(serve::text_reply(400, "the address is not valid\n"));
        }
      },
      {.body_bytes = token.empty() ? 0 : kMaxDecision});
  // Declared after the server and destroyed before it: no page is made for a server that is gone.
  serve::WebPages made(context.store_url(), context.models, context.commits(), token, [&] {
    return publisher.snapshot();
  });
  pages = &made;
  if (!server.is_loopback()) {
    spdlog::warn(
        "{} can be reached from other machines, without a password or encryption: put a reverse "
        "proxy in front (docs/reference/metrics.md)",
        to_text(server.address()));
  }
  publisher.wait_for_first(kFirstLook);
  terminal::say(fmt::format("serving http://{}/ (metrics at /metrics)", to_text(server.address())));
  server.run(context.stop);
}

}  // namespace

void add_serve(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<ServeOptions>();
  CLI::App* const command = app.add_subcommand(
      "serve", "serve the newest results: Prometheus metrics, and pages for a browser");
  command->add_option("--listen", options->listen, "HOST:PORT; port 0: any that is free")
      ->capture_default_str();
  command
      ->add_option("--refresh", options->refresh_seconds, "seconds between readings of the store")
      ->check(CLI::Range(0.05, 3600.0))
      ->capture_default_str();
  command
      ->add_option(
          "--max-age", options->max_age_days, "days after which runs are left out; 0: never")
      ->check(CLI::Range(0.0, 36500.0))
      ->capture_default_str();
  command->add_option("--layers", options->layers, "slowest layers of each model")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  command->add_option("--token-variable",
                      options->token_variable,
                      "environment variable with a token: whoever has it may decide about changes "
                      "at /triage; default: nobody");
  command->callback([&context, options] { serve(context, *options); });
}

namespace {

struct PushOptions {
  std::string run = "@latest";
  std::string gateway;
  std::string text_file;
  std::string job = "plumb";
  std::vector<std::string> grouping;
  std::size_t layers = 10;
};

/// Returns the state of a run's series after that run. Throws Error{kUser} if the run is not
/// finished.
reporting::SuiteMetrics state_after(const session::SessionContext::Archive& archive,
                                    const std::string& name,
                                    std::size_t layers) {
  const store::Store& store = archive.store;
  const results::RunRecord run = store.find_run(name);
  if (run.state != results::RunState::kFinished) {
    throw Error(Error::Kind::kUser,
                fmt::format("run {} is not finished, so there is nothing to push: continue it with "
                            "plumb run --resume",
                            run.header.id));
  }
  if (!analysis::is_point_of_history(run.header)) {
    throw Error(Error::Kind::kUser,
                fmt::format("run {} {}, so it has no series; push another run of `plumb run`",
                            run.header.id,
                            analysis::why_no_history(run.header)));
  }
  const analysis::RunSeries series = analysis::run_series_of(run.header);
  std::vector<results::RunRecord> runs = store.runs();
  const auto found = std::find_if(runs.begin(), runs.end(), [&](const results::RunRecord& each) {
    return each.header.id == run.header.id;
  });
  PLUMB_CHECK(found != runs.end());
  runs.erase(runs.begin(), found);
  std::erase_if(runs, [&](const results::RunRecord& each) {
    return analysis::run_series_of(each.header) != series;
  });
  return serve::MetricsPublisher::History(layers).suites(archive, runs).at(0);
}

std::string text_of(const reporting::SuiteMetrics& suite, const std::string& version) {
  std::vector<prometheus::MetricFamily> families{reporting::build_info(version)};
  reporting::metric_families({&suite, 1}, [&](prometheus::MetricFamily&& family) {
    families.push_back(std::move(family));
  });
  return prometheus::TextSerializer().Serialize(families);
}

serve::GroupingKey grouping_of(const PushOptions& options, const analysis::RunSeries& series) {
  serve::GroupingKey key{{"job", options.job},
                         {"suite", series.suite},
                         {"backend", series.backend},
                         {"stack", series.stack},
                         {"threads", series.threads},
                         {"system", series.system}};
  for (const std::string& text : options.grouping) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    if (equals == std::string::npos || !serve::is_label_name(name)) {
      throw Error(Error::Kind::kUser,
                  fmt::format("'{}' is not a grouping label: write --grouping NAME=VALUE", text));
    }
    key.emplace_back(name, text.substr(equals + 1));
  }
  return key;
}

void push(const CommandContext& context, const PushOptions& options) {
  if (options.gateway.empty() && options.text_file.empty()) {
    throw Error(
        Error::Kind::kUser,
        "name a destination: plumb push --gateway http://HOST:9091, or --textfile FILE.prom");
  }
  const auto store = store::open_store(context.store_url());
  const reporting::SuiteMetrics suite =
      state_after({*store, context.models}, options.run, options.layers);
  const std::string text = text_of(suite, context.version);
  if (!options.text_file.empty()) {
    write_whole_file(options.text_file, [&](std::ostream& out) { out << text; });
    spdlog::info("wrote {}", options.text_file);
  }
  if (!options.gateway.empty()) {
    serve::push_to_gateway(options.gateway, grouping_of(options, suite.series), text);
    spdlog::info("pushed run {}", suite.newest->run.header.id);
  }
}

}  // namespace

void add_push(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<PushOptions>();
  CLI::App* const command = app.add_subcommand(
      "push", "send a run's metrics to a Pushgateway or node_exporter, for jobs that end");
  command->add_option("RUN", options->run, "a run: id, unique prefix, tag or @latest")
      ->capture_default_str();
  command->add_option("--gateway",
                      options->gateway,
                      "URL of a Pushgateway; user and password are taken from ~/.netrc");
  command->add_option("--textfile",
                      options->text_file,
                      "file for node_exporter's textfile collector, replaced as a whole");
  command->add_option("--job", options->job, "job label of the group")->capture_default_str();
  command->add_option(
      "--grouping", options->grouping, "NAME=VALUE, a further label of the group; may be repeated");
  command->add_option("--layers", options->layers, "slowest layers of each model")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  command->callback([&context, options] { push(context, *options); });
}

}  // namespace plumb::cli
