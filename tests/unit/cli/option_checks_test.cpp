// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <CLI/CLI.hpp>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/cli/shared_options.hpp"

namespace plumb::cli {
namespace {

using testing::HasSubstr;

/// Values of a program with one command, which has an option of each type.
struct Values {
  std::string store;
  std::string text;
  std::string place;
  std::vector<std::string> texts;
  double number = 0.0;
  std::optional<double> share;
  bool flag = false;
};

/// Parses the arguments of a command. Returns what is wrong with them, or "".
std::string fault_of(const std::vector<std::string>& arguments, Values& values) {
  CLI::App program("a program", "plumb");
  program.fallthrough();
  program.add_option("--store", values.store, "");
  CLI::App* const command = program.add_subcommand("run", "");
  command->add_option("PLACE", values.place, "");
  command->add_option("-t,--text", values.text, "");
  command->add_option("--texts", values.texts, "");
  command->add_option("--number", values.number, "")->check(CLI::Range(0.0, 1.0));
  command->add_option("--share", values.share, "")->check(positive_number());
  command->add_flag("--flag", values.flag, "");
  check_values(program);
  std::vector<std::string> words{"plumb", "run"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) {
    pointers.push_back(word.data());
  }
  try {
    refuse_empty_values(program, pointers);
    program.parse(static_cast<int>(pointers.size()), pointers.data());
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return "";
}

std::string fault_of(const std::vector<std::string>& arguments) {
  Values values;
  return fault_of(arguments, values);
}

TEST(OptionChecks, accept_what_has_a_value) {
  Values values;
  EXPECT_EQ(fault_of({"here",
                      "--store=s",
                      "-t",
                      " ",
                      "--texts",
                      "a",
                      "--number",
                      "0.5",
                      "--share",
                      "1e-3",
                      "--flag"},
                     values),
            "");
  EXPECT_EQ(values.place, "here");
  EXPECT_EQ(values.number, 0.5);
  EXPECT_EQ(values.share, 1e-3);
}

TEST(OptionChecks, refuse_an_empty_value_of_any_option) {
  for (const std::string option : {"--store", "--text", "-t", "--texts", "--share"}) {
    EXPECT_THAT(fault_of({option, ""}), HasSubstr("the value is empty")) << option;
    EXPECT_THAT(fault_of({option, ""}), HasSubstr("--")) << option;
  }
  EXPECT_THAT(fault_of({""}), HasSubstr("PLACE: the value is empty"));
  EXPECT_THAT(fault_of({"--texts", "a", "--texts", ""}), HasSubstr("the value is empty"));
  EXPECT_NE(fault_of({"--number", ""}), "");
}

TEST(OptionChecks, do_not_take_the_next_word_for_a_missing_value) {
  Values values;
  EXPECT_THAT(fault_of({"--text=", "here"}, values), HasSubstr("--text: the value is empty"));
  EXPECT_EQ(values.text, "");
  EXPECT_THAT(fault_of({"--flag="}), HasSubstr("--flag: the value is empty"));
  EXPECT_EQ(fault_of({"--", "--text="}), "") << "no option behind --";
}

TEST(OptionChecks, refuse_numbers_that_are_not_finite) {
  for (const std::string option : {"--number", "--share"}) {
    for (const std::string value : {"nan", "NaN", "-nan", "inf", "-inf", "1e999"}) {
      EXPECT_THAT(fault_of({option, value}), HasSubstr(option)) << value;
    }
  }
  EXPECT_THAT(fault_of({"--number", "nan"}), HasSubstr("'nan' is not a finite number"));
}

TEST(OptionChecks, read_durations_and_how_workers_start) {
  CLI::App program;
  session::WorkerChoice worker;
  Seconds timeout{};
  std::optional<Seconds> budget;
  add_stack_option(program, worker.stack);
  add_worker_options(program, worker);
  add_row_timeout(program, timeout);
  add_duration_option(program, "--budget", budget, "");
  program.parse("--stack new --threads 4 --device 1 --budget 2m", false);
  EXPECT_EQ(worker.stack, "new");
  EXPECT_EQ(worker.threads, 4);
  EXPECT_EQ(worker.device, "1");
  EXPECT_EQ(budget, Seconds(120.0));
  EXPECT_EQ(timeout, Seconds(60.0)) << "the default, which the help names";
  EXPECT_EQ(program.get_option("--row-timeout")->get_default_str(), "60s");
  EXPECT_THROW(program.parse("--row-timeout soon", false), Error);
}

TEST(OptionChecks, say_what_a_positive_number_is_without_its_range) {
  EXPECT_EQ(fault_of({"--share", "-1"}), "--share: '-1' is not a number above 0");
  EXPECT_EQ(fault_of({"--share", "0"}), "--share: '0' is not a number above 0");
}

}  // namespace
}  // namespace plumb::cli
