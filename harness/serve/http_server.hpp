// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "harness/serve/exposition.hpp"

namespace plumb::serve {

/// Address that a server listens on.
struct ListenAddress {
  std::string host;  ///< a name or an address
  std::uint16_t port = 0;
};
/// Parses "HOST:PORT" or "[::1]:PORT"; port 0 is any free one. Throws Error{kUser}.
[[nodiscard]] ListenAddress parse_listen_address(const std::string& text);
[[nodiscard]] std::string to_text(const ListenAddress& address);

/// A GET, HEAD or POST request. Nothing of it is to be trusted.
struct HttpRequest {
  std::string target;  ///< path and query as sent
  bool accepts_gzip = false;
  bool post = false;
  std::string authorization;  ///< of a POST
  std::string body;           ///< likewise
};

/// Reply to a request.
struct HttpReply {
  unsigned status = 200;
  std::string type = "text/plain; charset=utf-8";
  bool gzip = false;   ///< `body` is compressed
  std::string policy;  ///< content security policy; empty: nothing may be loaded or run
  BodyPieces body;
};
[[nodiscard]] HttpReply text_reply(unsigned status, std::string text);

/// Limits on what a client may ask for.
struct HttpLimits {
  std::uint32_t header_bytes = 8192;
  std::uint64_t body_bytes = 0;      ///< of a POST; 0: POST is not supported
  std::size_t connections = 512;     ///< more are closed at once
  std::chrono::seconds request{10};  ///< from connecting, or the last answer, to the last header
  std::chrono::seconds answer{30};   ///< to receive the whole answer
};

/// Server for GET and HEAD requests, and for POST if the limits allow a body: HTTP/1.1 with
/// keep-alive, no files. All connections share one thread that waits for none of them. So a slow or
/// broken client holds up only itself.
class HttpServer {
 public:
  /// Callback that answers a request, at once or later and from any thread.
  using Respond = std::function<void(HttpReply)>;
  /// Handler of a request. It is called in the server's thread, so it must be quick. What it throws
  /// becomes status 500.
  using Handler = std::function<void(const HttpRequest&, const Respond&)>;

  /// Begins to listen. Throws Error{kEnvironment} if the address is in use or not this machine's,
  /// Error{kUser} for an unknown host.
  HttpServer(const ListenAddress& address, Handler handler, const HttpLimits& limits);
  /// Begins to listen with the usual limits.
  HttpServer(const ListenAddress& address, Handler handler)
      : HttpServer(address, std::move(handler), HttpLimits()) {}
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  HttpServer(HttpServer&&) = delete;
  HttpServer& operator=(HttpServer&&) = delete;
  ~HttpServer();

  /// Returns the address that it listens on, with the port that was found.
  [[nodiscard]] ListenAddress address() const;
  /// Returns whether only this machine can reach the server.
  [[nodiscard]] bool is_loopback() const;
  /// Serves in the calling thread until `stop` is set, which is checked ten times a second.
  void run(const std::atomic<bool>& stop);

 private:
  struct Listener;
  std::unique_ptr<Listener> listener_;
};

}  // namespace plumb::serve
