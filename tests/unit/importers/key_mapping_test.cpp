// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>

#include "harness/importers/imported_run.hpp"
#include "harness/results/labels/run_labels.hpp"
#include "tests/unit/importers/import_fault.hpp"

namespace plumb::importers {
namespace {

using ::testing::HasSubstr;

const std::string kRelu =
    "v1:eltwise;in=f32[8];out=f32[8];acc=f32;math=strict;fn=relu;parameters=[]";

std::string fault(const std::string& text) {
  return test::import_fault([&] { return read_key_mapping(text); });
}

TEST(KeyMapping, relates_names_to_layer_keys) {
  const KeyMapping mapping =
      read_key_mapping(R"({"keys":{"a":")" + kRelu + R"(","b":")" + kRelu + R"("}})");
  EXPECT_EQ(mapping.at("a").key.text, kRelu);
  EXPECT_FALSE(mapping.at("a").alone) << "'b' is the same layer";
  EXPECT_TRUE(read_key_mapping(R"({"keys":{"a":")" + kRelu + R"("}})").at("a").alone);
}

TEST(KeyMapping, rows_are_variants_of_the_layer) {
  ImportedResults results;
  for (const char* const name : {"fast", "slow", "other"}) {
    ImportedResults::Benchmark& benchmark = results.benchmarks.emplace_back();
    benchmark.name = name;
    benchmark.samples = {Seconds(1.0), Seconds(1.0)};
  }
  const ImportedResults::Run::Name name{
      .format = "google-benchmark",
      .suite = "s",
      .version = "",
      .system = "",
      .started = {},
      .keys =
          read_key_mapping(R"({"keys":{"fast":")" + kRelu + R"(","slow":")" + kRelu + R"("}})")};
  const ImportedResults::Run run =
      make_imported_run(name, {{results}}, {{std::string("f")}}, Timestamp{});
  EXPECT_EQ(run.rows.at(0).key.text, kRelu);
  EXPECT_EQ(run.rows.at(0).variant, "external;benchmark=fast");
  EXPECT_FALSE(run.rows.at(0).library_choice) << "which of the two a user gets is not known";
  EXPECT_EQ(run.rows.at(2).key.text, "external:s:other");
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(results::external_name(run.rows[i]), results.benchmarks[i].name);
  }
  EXPECT_EQ(results::external_name(results::Measurement{}), std::nullopt);
}

TEST(KeyMapping, says_what_is_wrong) {
  EXPECT_THAT(fault("{}"), HasSubstr("'keys'"));
  EXPECT_THAT(fault(R"({"keys":{}})"), HasSubstr("maps no name"));
  EXPECT_THAT(fault(R"({"keys":{"a":"v1:conv"}})"), HasSubstr("'a': "));
  EXPECT_THAT(fault(R"({"keys":{"":")" + kRelu + R"("}})"), HasSubstr("1 to 1024 bytes"));
  EXPECT_THAT(fault(R"({"keys":{"a":3}})"), HasSubstr("'keys' is not an object of texts"));
}

}  // namespace
}  // namespace plumb::importers
