// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "harness/base/error.hpp"
#include "harness/cli/command.hpp"
#include "harness/serve/http_server.hpp"
#include "harness/serve/metrics_publisher.hpp"
#include "harness/serve/web_pages.hpp"
#include "harness/terminal/messages.hpp"

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

serve::HttpReply metrics_reply(const serve::MetricsSnapshot& snapshot, bool gzip) {
  serve::HttpReply reply;
  reply.type = kTextFormat;
  reply.gzip = gzip;
  reply.body = gzip ? serve::gzip_body(snapshot.health, snapshot.results)
                    : serve::plain_body(snapshot.health, snapshot.results);
  return reply;
}

void serve(const CommandContext& context, const ServeOptions& options) {
  const serve::ListenAddress address = serve::parse_listen_address(options.listen);
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
      [&](const serve::HttpRequest& request, const serve::HttpServer::Respond& respond) {
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

}  // namespace plumb::cli
