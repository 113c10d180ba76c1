// SPDX-License-Identifier: Apache-2.0
//
// What it costs to keep 100,000 metrics of 20 systems ready and to hand them out: text and gzip of
// a thousand models made anew (limit 600 ms), memory afterwards (300 MB), one scrape from memory
// (50 ms), and what 10,000 scrapes add to memory (10 MB). Prints all; exits 1 if a limit is missed.
// PLUMB_BENCH_EXPORTER_SCRAPES changes the number of scrapes. Wants a quiet machine.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "harness/serve/http_server.hpp"
#include "reporting/prometheus/metric_families.hpp"

namespace plumb::serve {
namespace {

namespace http = boost::beast::http;
using boost::asio::ip::tcp;

constexpr int kSystems = 20;
constexpr int kSuites = 100;
constexpr int kModels = 10;
constexpr double kMaxRebuild = 0.600;
constexpr double kMaxMegabytes = 300.0;
constexpr double kMaxScrape = 0.050;
constexpr double kMaxGrowth = 10.0;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double resident_megabytes() {
  std::ifstream file("/proc/self/statm");
  double pages = 0.0;
  file >> pages >> pages;
  return pages * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

/// Makes a model as an analysed run has it: nine bounds, six executions, ten layers.
void add_model(int suite, int number, reporting::SuiteMetrics& state, reporting::RunMetrics& run) {
  analysis::ModelBounds model;
  model.instance = {fmt::format("model-{}-{}", suite, number), 1, "f32", {{"image", 224}}};
  model.measured_layers = model.total_layers = 175;
  const auto time = [&](int i) { return Seconds(1e-3 * (1.0 + 0.0137 * (suite + number + i))); };
  for (int i = 0; i < 9; ++i) {
    analysis::Bound bound;
    bound.kind = static_cast<results::BoundKind>(i);
    bound.mode = i < 2 ? "any" : "fusion";  // of the hardware, of layers
    bound.seconds = time(i);
    bound.interval = {bound.seconds * 0.99, bound.seconds * 1.01};
    bound.complete = true;
    model.bounds.push_back(bound);
  }
  reporting::RunMetrics::ModelTimes times;
  for (int i = 0; i < 5; ++i) {
    analysis::ExecutionTime execution;
    execution.mode =
        std::vector{"plain", "fusion", "best_variant", "bf16", "best_variant+fusion"}.at(
            static_cast<std::size_t>(i));
    execution.scenario = loadgen::ScenarioName::kSingleStream;
    execution.samples = 30;
    execution.median = execution.p90 = execution.p99 = time(i);
    execution.interval = {time(i) * 0.99, time(i) * 1.01};
    model.executions.push_back(execution);
  }
  for (int i = 0; i < 10; ++i) {
    times.operators.push_back({"plain", fmt::format("Operator{}", i), time(i)});
    times.slowest.push_back({fmt::format("stage{}/block{}/convolution", i, number),
                             "Conv",
                             "impl=brgconv:avx512_core;layout=any;algorithm=direct",
                             time(i)});
  }
  analysis::ModelWhatIfs whatifs{model.instance, {}};
  for (const char* const metric : {"latency", "bound_library"}) {
    state.regressions.push_back(
        {model.instance, metric, "plain", analysis::ModelRegression::State::kEquivalent, 1.001});
  }
  run.models.push_back(std::move(model));
  run.whatifs.push_back(std::move(whatifs));
  run.times.push_back(std::move(times));
}

std::vector<reporting::SuiteMetrics> many_suites() {
  std::vector<reporting::SuiteMetrics> suites(kSuites);
  for (int i = 0; i < kSuites; ++i) {
    reporting::SuiteMetrics& suite = suites[static_cast<std::size_t>(i)];
    suite.series = {"nightly",
                    "onednn",
                    fmt::format("onednn-3.{}", i / kSystems),
                    "1",
                    fmt::format("fed90b7863{:06x}", i % kSystems)};
    suite.device = "Intel(R) Xeon(R) Processor @ 2.70GHz";
    const auto run = std::make_shared<reporting::RunMetrics>();
    run->run.header.environment.identity = {{"cpu.model", suite.device},
                                            {"library", suite.series.stack}};
    for (int model = 0; model < kModels; ++model) {
      add_model(i, model, suite, *run);
    }
    suite.newest = run;
  }
  return suites;
}

/// Makes one host of each system.
std::vector<reporting::HostMetrics> many_hosts() {
  std::vector<reporting::HostMetrics> hosts(kSystems);
  for (int i = 0; i < kSystems; ++i) {
    reporting::HostMetrics& host = hosts[static_cast<std::size_t>(i)];
    host.device = "Intel(R) Xeon(R) Processor @ 2.70GHz";
    analysis::HostHealth::Reading& newest = host.health.newest;
    newest.of = {fmt::format("fed90b7863{:06x}", i), "onednn", "1", "5"};
    newest.finished = newest.started;
    newest.controls = {Seconds(1e-7), Seconds(1e-3), Seconds(5e-3), fmt::format("node-{}", i)};
    host.health.of_class = newest.controls;
    host.health.noise = 0.01;
  }
  return hosts;
}

std::shared_ptr<const ExpositionWriter::Part> written(
    const std::vector<reporting::SuiteMetrics>& suites,
    const std::vector<reporting::HostMetrics>& hosts) {
  ExpositionWriter writer;
  reporting::metric_families(
      suites, [&](prometheus::MetricFamily&& family) { writer.add(std::move(family)); });
  for (prometheus::MetricFamily& family : reporting::host_families(hosts)) {
    writer.add(std::move(family));
  }
  return writer.finish(true);
}

double median_of(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

/// Fetches everything `count` times over one connection; returns the median time of one.
double scrape(std::uint16_t port, bool gzip, int count) {
  boost::asio::io_context context;
  tcp::socket socket(context);
  socket.connect({boost::asio::ip::make_address("127.0.0.1"), port});
  boost::beast::flat_buffer buffer;
  std::vector<char> block(1 << 20U);
  std::vector<double> times;
  for (int i = 0; i < count; ++i) {
    const auto start = std::chrono::steady_clock::now();
    http::request<http::empty_body> request(http::verb::get, "/metrics", 11);
    request.set(http::field::host, "localhost");
    if (gzip) {
      request.set(http::field::accept_encoding, "gzip");
    }
    http::write(socket, request);
    http::response_parser<http::buffer_body> parser;
    parser.body_limit(std::uint64_t{1} << 30U);
    http::read_header(socket, buffer, parser);
    while (!parser.is_done()) {
      parser.get().body().data = block.data();
      parser.get().body().size = block.size();
      boost::beast::error_code error;
      http::read(socket, buffer, parser, error);
      if (error && error != http::error::need_buffer) {
        throw boost::beast::system_error(error);
      }
    }
    times.push_back(seconds_since(start));
  }
  return median_of(times);
}

bool report(const char* what, double value, double limit, const char* unit) {
  fmt::print("exporter: {}: {:.1f} {} (limit {:.0f})\n", what, value, unit, limit);
  return value <= limit;
}

bool measure() {
  const std::vector<reporting::SuiteMetrics> suites = many_suites();
  const std::vector<reporting::HostMetrics> hosts = many_hosts();
  const auto nothing = ExpositionWriter().finish(false);
  std::vector<double> times;
  std::shared_ptr<const ExpositionWriter::Part> part;
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    part = written(suites, hosts);  // The last one is alive meanwhile, as it is while it is served.
    times.push_back(seconds_since(start));
  }
  fmt::print("exporter: {} metrics, {:.1f} MB of text, {:.1f} MB compressed\n",
             part->series,
             static_cast<double>(part->plain.size()) / 1e6,
             static_cast<double>(part->deflated.size()) / 1e6);
  bool good = report("made anew in", 1e3 * median_of(times), 1e3 * kMaxRebuild, "ms");
  good = report("resident", resident_megabytes(), kMaxMegabytes, "MB") && good;

  HttpServer server({"127.0.0.1", 0}, [&](const HttpServer::Request& request, const auto& respond) {
    HttpServer::Reply reply;
    reply.gzip = request.accepts_gzip;
    reply.body = reply.gzip ? gzip_body(nothing, part) : plain_body(nothing, part);
    respond(reply);
  });
  std::atomic<bool> stop{false};
  std::thread thread([&] { server.run(stop); });
  const std::uint16_t port = server.address().port;
  good = report("one scrape, gzip", 1e3 * scrape(port, true, 50), 1e3 * kMaxScrape, "ms") && good;
  good = report("one scrape, plain", 1e3 * scrape(port, false, 50), 1e3 * kMaxScrape, "ms") && good;
  const char* const wanted = std::getenv("PLUMB_BENCH_EXPORTER_SCRAPES");
  const int scrapes = wanted == nullptr ? 10'000 : std::atoi(wanted);
  const double before = resident_megabytes();
  scrape(port, true, scrapes);
  good = report(fmt::format("growth over {} scrapes", scrapes).c_str(),
                resident_megabytes() - before,
                kMaxGrowth,
                "MB") &&
         good;
  stop = true;
  thread.join();
  return good;
}

}  // namespace
}  // namespace plumb::serve

int main() {
  return plumb::serve::measure() ? 0 : 1;
}
