// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/bench/benchmark_program.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "harness/base/error.hpp"

namespace plumb::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kRelu =
    "v1:eltwise;in=f32[4,10];out=f32[4,10];acc=f32;math=strict;fn=relu;parameters=[]";
const std::string kProduct = "v1:matmul;in=f32[4,8],f32[8,2]c;out=f32[4,2];acc=f32;math=strict";

template <typename Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kUser);
    return error.what();
  }
  return "none";
}

std::string refused(const std::vector<std::string>& arguments) {
  return refusal([&] { static_cast<void>(parse_benchmark_arguments(arguments)); });
}

std::string refused_keys(const std::vector<std::string>& texts) {
  return refusal([&] { static_cast<void>(read_layer_keys(texts)); });
}

TEST(BenchmarkProgram, takes_keys_libraries_and_threads_in_any_order) {
  const std::vector<std::string> arguments{
      "--threads=2", "--layers", kRelu, "keys.txt", "--library", "/a.so", "--library=/b.so"};
  const LayerBenchmarks::Arguments parsed = parse_benchmark_arguments(arguments);
  EXPECT_THAT(parsed.layers, ElementsAre(kRelu, "keys.txt"));
  EXPECT_EQ(parsed.setup.threads, 2);
  EXPECT_THAT(parsed.setup.libraries, ElementsAre("/a.so", "/b.so"));
  EXPECT_THAT(parse_benchmark_arguments(std::vector<std::string>{"--layers=-"}).layers,
              ElementsAre("-"));
}

TEST(BenchmarkProgram, refuses_what_it_does_not_know) {
  EXPECT_THAT(refused({"--layers"}), HasSubstr("needs layer keys"));
  EXPECT_THAT(refused({"--layers", kRelu, "--thread=2"}), HasSubstr("unknown option '--thread'"));
  EXPECT_THAT(refused({"--layers", kRelu, "--threads=0"}), HasSubstr("1 to 4096"));
  EXPECT_THAT(refused({"--threads", "--layers", kRelu}), HasSubstr("'--threads' needs a value"));
  EXPECT_THAT(refused({"--layers", kRelu, "--library"}), HasSubstr("'--library' needs a value"));
  EXPECT_THAT(refused({kRelu}), HasSubstr("does not belong to an option"));
}

TEST(BenchmarkProgram, reads_keys_from_files_once_each) {
  const std::filesystem::path file =
      std::filesystem::path(testing::TempDir()) / "benchmark_program_keys.txt";
  std::ofstream(file) << "# of a model\n\n  " << kProduct << "\t\n" << kRelu << "\r\n" << kProduct;
  EXPECT_THAT(read_layer_keys(std::vector<std::string>{kRelu, file.string()}),
              ElementsAre(model::LayerKey{kRelu}, model::LayerKey{kProduct}));
  std::ofstream(file) << kProduct << "\nnonsense\n";
  EXPECT_THAT(refused_keys({file.string()}), HasSubstr("benchmark_program_keys.txt:2: "));
  std::ofstream(file) << "# nothing\n";
  EXPECT_THAT(refused_keys({file.string()}), HasSubstr("no key"));
  std::filesystem::remove(file);
  EXPECT_THAT(refused_keys({file.string()}), HasSubstr("nor a file that can be read"));
  EXPECT_THAT(refused_keys({"v1:nothing"}), HasSubstr("nothing"));
  EXPECT_THAT(refused_keys({testing::TempDir()}), HasSubstr("cannot be read"));
}

}  // namespace
}  // namespace plumb::engine
