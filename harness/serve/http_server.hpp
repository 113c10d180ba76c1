// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace plumb::serve {

/// Writer of one part, family by family. So the text is in memory, but never all families.
class ExpositionWriter {
 public:
  /// A part of a text exposition, plain and compressed. Compressed it is raw deflate that ends on a
  /// byte. Immutable: made once and sent many times.
  struct Part {
    std::string plain;
    std::string deflated;
    std::uint32_t checksum = 0;  ///< CRC-32 of `plain`
    std::size_t series = 0;
  };

  ExpositionWriter();
  ExpositionWriter(const ExpositionWriter&) = delete;
  ExpositionWriter& operator=(const ExpositionWriter&) = delete;
  ExpositionWriter(ExpositionWriter&&) = delete;
  ExpositionWriter& operator=(ExpositionWriter&&) = delete;
  ~ExpositionWriter();

  void add(prometheus::MetricFamily&& family);
  /// Ends the part and returns it. `last` ends the compressed stream as well. The writer cannot be
  /// used afterwards.
  [[nodiscard]] std::shared_ptr<const Part> finish(bool last);

 private:
  struct Deflater;
  prometheus::TextSerializer serializer_;
  std::unique_ptr<Deflater> deflater_;
  std::shared_ptr<Part> part_;
};

/// A response body in pieces that are sent one after the other.
using BodyPieces = std::vector<std::shared_ptr<const std::string>>;

/// Joins two parts without copying or compressing them again. Only the second is the last.
[[nodiscard]] BodyPieces plain_body(const std::shared_ptr<const ExpositionWriter::Part>& first,
                                    const std::shared_ptr<const ExpositionWriter::Part>& last);
/// Joins two parts likewise into one gzip stream (RFC 1952).
[[nodiscard]] BodyPieces gzip_body(const std::shared_ptr<const ExpositionWriter::Part>& first,
                                   const std::shared_ptr<const ExpositionWriter::Part>& last);

/// Server for GET and HEAD requests, and for POST if the limits allow a body: HTTP/1.1 with
/// keep-alive, no files. All connections share one thread that waits for none of them. So a slow or
/// broken client holds up only itself.
class HttpServer {
 public:
  /// Limits on what a client may ask for.
  struct Limits {
    std::uint32_t header_bytes = 8192;
    std::uint64_t body_bytes = 0;      ///< of a POST; 0: POST is not supported
    std::size_t connections = 512;     ///< more are closed at once
    std::chrono::seconds request{10};  ///< from connecting, or the last answer, to the last header
    std::chrono::seconds answer{30};   ///< to receive the whole answer
  };

  /// Address that a server listens on.
  struct Address {
    std::string host;  ///< a name or an address
    std::uint16_t port = 0;
  };

  /// A GET, HEAD or POST request. Nothing of it is to be trusted.
  struct Request {
    std::string target;  ///< path and query as sent
    bool accepts_gzip = false;
    bool post = false;
    std::string authorization;  ///< of a POST
    std::string body;           ///< likewise
  };

  /// Reply to a request.
  struct Reply {
    unsigned status = 200;
    std::string type = "text/plain; charset=utf-8";
    bool gzip = false;   ///< `body` is compressed
    std::string policy;  ///< content security policy; empty: nothing may be loaded or run
    BodyPieces body;
  };

  /// Callback that answers a request, at once or later and from any thread.
  using Respond = std::function<void(Reply)>;
  /// Handler of a request. It is called in the server's thread, so it must be quick. What it throws
  /// becomes status 500.
  using Handler = std::function<void(const Request&, const Respond&)>;

  /// Begins to listen. Throws Error{kEnvironment} if the address is in use or not this machine's,
  /// Error{kUser} for an unknown host.
  HttpServer(const Address& address, Handler handler, const Limits& limits);
  /// Begins to listen with the usual limits.
  HttpServer(const Address& address, Handler handler)
      : HttpServer(address, std::move(handler), Limits()) {}
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  HttpServer(HttpServer&&) = delete;
  HttpServer& operator=(HttpServer&&) = delete;
  ~HttpServer();

  /// Returns the address that it listens on, with the port that was found.
  [[nodiscard]] Address address() const;
  /// Returns whether only this machine can reach the server.
  [[nodiscard]] bool is_loopback() const;
  /// Serves in the calling thread until `stop` is set, which is checked ten times a second.
  void run(const std::atomic<bool>& stop);

 private:
  struct Listener;
  std::unique_ptr<Listener> listener_;
};

/// Parses "HOST:PORT" or "[::1]:PORT"; port 0 is any free one. Throws Error{kUser}.
[[nodiscard]] HttpServer::Address parse_listen_address(const std::string& text);

[[nodiscard]] std::string to_text(const HttpServer::Address& address);

[[nodiscard]] HttpServer::Reply text_reply(unsigned status, std::string text);

}  // namespace plumb::serve
