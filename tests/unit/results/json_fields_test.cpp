// SPDX-License-Identifier: Apache-2.0
#include "harness/results/json_fields.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/error.hpp"

namespace plumb::results {

enum class Light { kRed, kGreen };
std::string_view to_text(Light light) {
  return light == Light::kRed ? "red" : "green";
}

struct Lamp {
  std::string name;
  Light light = Light::kRed;
  std::vector<double> watts;
  bool operator==(const Lamp&) const = default;
};

struct Junction {
  std::vector<Lamp> lamps;
  std::vector<std::uint32_t> roads;
  std::chrono::nanoseconds cycle{};
  std::optional<Seconds> delay;
  Bytes memory;
  std::string note;
  double known = 7.0;
  double low = 0.0;
  double high = 0.0;
  bool old = true;
  bool operator==(const Junction&) const = default;
};

template <typename Fields>
void describe(Fields& fields, Described<Fields, Lamp>& value) {
  fields("name", value.name);
  fields("light", value.light, std::array{Light::kRed, Light::kGreen});
  fields("watts", value.watts, {.elements = 3});
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, Junction>& value) {
  fields("lamps", value.lamps);
  fields("roads", value.roads, {.low = 1, .high = 9});
  fields("cycle_seconds", value.cycle);
  fields("delay_seconds", value.delay);
  fields("memory_bytes", value.memory);
  fields.unless_empty("note", value.note);
  fields.known_if(value.known > 0.0, "known", value.known);
  fields.interval_if(value.high > 0.0, "interval", value.low, value.high);
  fields.since("old", value.old, false);
  fields.derived("number", [&] { return value.lamps.size(); });
}

struct Station {
  std::string name;
  double height = 0.0;
  std::vector<Seconds> waits;
  std::uint64_t id = 0;
  std::filesystem::path log;
  std::vector<std::filesystem::path> maps;
  std::map<std::string, std::int64_t> tracks;
  std::optional<Lamp> lamp;
  std::uint32_t zone = 0;
  bool operator==(const Station&) const = default;
};

template <typename Fields>
void describe(Fields& fields, Described<Fields, Station>& value) {
  fields("name", value.name, {.shortest = 1, .longest = 4});
  fields("height", value.height, {.least = -1.0, .most = 2.0});
  fields("waits", value.waits, kMeasuredTime);
  fields.converted("id", value.id, wide_value, wide_from);
  fields("log", value.log);
  fields("maps", value.maps, {.elements = 2});
  fields("tracks", value.tracks, {.low = -1, .high = 9, .elements = 2});
  fields.nested("lamp", value.lamp, [](auto& lamp, auto& of) { describe(lamp, of); });
  fields.known_if(value.zone > 0, "zone", value.zone, {.high = 7});
}

namespace {

using testing::HasSubstr;

Junction sample() {
  return {.lamps = {{"north", Light::kGreen, {1.5, 2.0}}, {"south", Light::kRed, {}}},
          .roads = {1, 9},
          .cycle = std::chrono::milliseconds(1250),
          .delay = Seconds(0.5),
          .memory = {4096},
          .note = "wet",
          .known = 3.0,
          .low = 1.0,
          .high = 2.0,
          .old = true};
}

Station station() {
  return {.name = "west",
          .height = -0.5,
          .waits = {Seconds(0.1), Seconds(5e-324)},
          .id = ~std::uint64_t{0},
          .log = "/var/log\xff",
          .maps = {"a", "b\xff"},
          .tracks = {{"far", 9}, {"near", -1}},
          .lamp = Lamp{"exit", Light::kGreen, {}},
          .zone = 7};
}

TEST(JsonFields, numbers_of_64_bits_paths_and_parts_that_may_be_absent_read_back_the_same) {
  EXPECT_EQ(value_from_text<Station>(described_text(station())), station());
  Station plain = station();
  plain.lamp.reset();
  EXPECT_EQ(value_from_text<Station>(described_text(plain)), plain);
  EXPECT_EQ(json_of(station())["id"], "18446744073709551615");
}

TEST(JsonFields, what_is_written_reads_back_the_same) {
  const Junction junction = sample();
  EXPECT_EQ(value_from_text<Junction>(described_text(junction)), junction);
}

TEST(JsonFields, names_and_units_are_those_of_the_description) {
  EXPECT_EQ(
      json_of(sample()).dump(),
      R"({"cycle_seconds":1.25,"delay_seconds":0.5,"interval":[1.0,2.0],"known":3.0,"lamps":[)"
      R"({"light":"green","name":"north","watts":[1.5,2.0]},{"light":"red","name":"south","watts":[]}],)"
      R"("memory_bytes":4096,"note":"wet","number":2,"old":true,"roads":[1,9]})");
}

TEST(JsonFields, an_ordered_document_keeps_the_order_of_the_description) {
  const auto ordered = json_of<nlohmann::ordered_json>(sample());
  EXPECT_EQ(ordered.begin().key(), "lamps");
  EXPECT_EQ(ordered["lamps"][0].begin().key(), "name");
}

TEST(JsonFields, what_is_absent_or_not_known_is_null_and_reads_back_as_that) {
  Junction junction = sample();
  junction.delay.reset();
  junction.note.clear();
  junction.known = 0.0;
  junction.high = 0.0;
  const nlohmann::json written = json_of(junction);
  EXPECT_TRUE(written["delay_seconds"].is_null());
  EXPECT_TRUE(written["known"].is_null());
  EXPECT_TRUE(written["interval"].is_null());
  EXPECT_FALSE(written.contains("note"));
  const auto read = value_from<Junction>(JsonObject(written));
  EXPECT_FALSE(read.delay);
  EXPECT_EQ(read.known, 7.0) << "keeps its value";
  EXPECT_EQ(read.high, 0.0);
}

TEST(JsonFields, a_field_that_an_earlier_version_lacks_has_its_earlier_value) {
  nlohmann::json written = json_of(sample());
  written.erase("old");
  EXPECT_FALSE(value_from<Junction>(JsonObject(written)).old);
}

TEST(JsonFields, a_wrong_document_is_refused_by_the_name_of_its_field) {
  const std::vector<std::pair<const char*, std::function<void(nlohmann::json&)>>> faults{
      {"lamps", [](auto& json) { json.erase("lamps"); }},
      {"light", [](auto& json) { json["lamps"][0]["light"] = "blue"; }},
      {"watts",
       [](auto& json) {
         json["lamps"][0]["watts"] = {1, 2, 3, 4};
       }},
      {"watts", [](auto& json) { json["lamps"][0]["watts"] = {"1"}; }},
      {"name", [](auto& json) { json["lamps"][0]["name"] = 1; }},
      {"roads", [](auto& json) { json["roads"] = {0}; }},
      {"roads", [](auto& json) { json["roads"] = {10}; }},
      {"roads", [](auto& json) { json["roads"] = {-1}; }},
      {"cycle_seconds", [](auto& json) { json["cycle_seconds"] = 1e10; }},
      {"memory_bytes", [](auto& json) { json["memory_bytes"] = -1; }},
      {"interval", [](auto& json) { json["interval"] = {1.0}; }},
      {"interval",
       [](auto& json) {
         json["interval"] = {1.0, "2"};
       }},
  };
  for (const auto& [field, spoil] : faults) {
    nlohmann::json written = json_of(sample());
    spoil(written);
    try {
      static_cast<void>(value_from<Junction>(JsonObject(written)));
      ADD_FAILURE() << "accepted: " << written;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::kUser);
      EXPECT_THAT(error.what(), HasSubstr(std::string("field '") + field + "'"));
    }
  }
}

TEST(JsonFields, what_is_beyond_its_limits_is_refused_by_the_name_of_its_field) {
  using Json = nlohmann::json;
  const std::vector<std::pair<const char*, Json>> faults{{"name", ""},
                                                         {"name", "north"},
                                                         {"height", -1.1},
                                                         {"height", 2.1},
                                                         {"height", nullptr},
                                                         {"waits", {-0.1}},
                                                         {"waits", {1.1e8}},
                                                         {"id", "18446744073709551616"},
                                                         {"id", "-1"},
                                                         {"id", "1x"},
                                                         {"id", ""},
                                                         {"id", 1},
                                                         {"log", 1},
                                                         {"maps", {"a", "b", "c"}},
                                                         {"tracks", {{"far", 10}}},
                                                         {"tracks", {{"a", 1}, {"b", 1}, {"c", 1}}},
                                                         {"lamp", {1, 2}},
                                                         {"zone", 8}};
  for (const auto& [field, wrong] : faults) {
    Json written = json_of(station());
    written[field] = wrong;
    try {
      static_cast<void>(value_from<Station>(JsonObject(written)));
      ADD_FAILURE() << "accepted: " << written;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::kUser);
      const char* const named = std::string(field) == "tracks" && wrong.size() == 1 ? "far" : field;
      EXPECT_THAT(error.what(), HasSubstr(std::string("field '") + named + "'"));
    }
  }
}

}  // namespace
}  // namespace plumb::results
