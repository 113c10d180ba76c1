// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <zlib.h>

#include "harness/serve/http_server.hpp"

namespace plumb::serve {
namespace {

prometheus::MetricFamily family(const std::string& name, int metrics) {
  prometheus::MetricFamily result{name, "Counts.", prometheus::MetricType::Gauge, {}};
  for (int i = 0; i < metrics; ++i) {
    prometheus::ClientMetric metric;
    metric.label = {{"number", std::to_string(i)}};
    metric.gauge.value = i;
    result.metric.push_back(metric);
  }
  return result;
}

std::shared_ptr<const ExpositionWriter::Part> part(const std::string& name,
                                                   int metrics,
                                                   bool last) {
  ExpositionWriter writer;
  if (metrics > 0) {
    writer.add(family(name, metrics));
  }
  return writer.finish(last);
}

std::string joined(const BodyPieces& pieces) {
  std::string text;
  for (const auto& piece : pieces) {
    text += *piece;
  }
  return text;
}

std::string unpacked(std::string packed) {
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);  // gzip, with its checksum
  std::string text(1'000'000, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  EXPECT_EQ(stream.avail_in, 0U);
  text.resize(stream.total_out);
  inflateEnd(&stream);
  return text;
}

TEST(Exposition, two_parts_are_one_text_and_one_gzip_stream) {
  for (const auto& [first, last] : {std::pair(3, 1000), {0, 5}, {5, 0}, {0, 0}}) {
    const auto health = part("health", first, false);
    const auto runs = part("runs", last, true);
    const std::string text = joined(plain_body(health, runs));
    EXPECT_EQ(unpacked(joined(gzip_body(health, runs))), text);
    EXPECT_EQ(runs->series, static_cast<std::size_t>(last));
  }
}

TEST(Exposition, is_what_prometheus_reads) {
  EXPECT_EQ(part("runs", 1, true)->plain,
            "# HELP runs Counts.\n# TYPE runs gauge\nruns{number=\"0\"} 0\n");
}

}  // namespace
}  // namespace plumb::serve
