// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/profile/profile_documents.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/analysis/profile/profile_json.hpp"
#include "reporting/content/samples/profile_files.hpp"
#include "tests/support/sample_profile.hpp"
#include "tests/unit/analysis/profile_builder.hpp"

namespace plumb::reporting {
namespace {

using analysis::ProfileBuilder;
using testing::HasSubstr;
using testing::Not;

/// Returns a profile of ten blocks, one of whose names would break XML and a folded stack.
results::NamedProfile sample_profile() {
  ProfileBuilder builder;
  for (int i = 0; i < 10; ++i) {
    builder.block()
        .samples("conv1", {"jit_kernel", "generated"}, 30)
        .samples("conv1", {"copy<a>&;\n", "libdnnl.so.3"}, 10)
        .samples("pool1", {"", "libgomp.so.1"}, 10);
  }
  return builder.build();
}

std::string text_of(const results::NamedProfile& profile, Detail detail) {
  std::ostringstream out;
  const ShownProfile shown{profile};
  write_profiles({&shown, 1}, OutputMode::kText, out, detail);
  return out.str();
}

TEST(ProfileDocuments, lead_with_what_is_known_about_the_profile) {
  const std::string text = text_of(sample_profile(), Detail::kShort);
  EXPECT_THAT(text, HasSubstr("lenet, batch 1, mode fusion, on default\n  execution  10.000 ms"));
  EXPECT_THAT(text, HasSubstr("500 of 50 executions by cpu-clock, 990 a second where 1000 were"));
  EXPECT_THAT(text, HasSubstr("assigned   100.0 % to a step, 80.0 % to a function"));
  EXPECT_THAT(text, HasSubstr("cost       +0.0 % of the time (+0.0 % to +0.0 %), in 10 pairs"));
  EXPECT_THAT(text, HasSubstr("60.0 %"));
  EXPECT_THAT(text, HasSubstr("[libgomp.so.1]"));
  EXPECT_THAT(text, Not(HasSubstr("lost")));
}

TEST(ProfileDocuments, have_the_shares_of_steps_if_all_is_asked_for) {
  const std::string text = text_of(sample_profile(), Detail::kAll);
  EXPECT_THAT(text, testing::ContainsRegex("80\\.0 % +[^ ]+ +8\\.000 ms +conv1"));
  EXPECT_THAT(text, testing::ContainsRegex("20\\.0 % +[^ ]+ +2\\.000 ms +pool1"));
  EXPECT_THAT(text_of(sample_profile(), Detail::kShort), Not(HasSubstr("variant")));
}

TEST(ProfileDocuments, say_which_runs_are_merged) {
  results::NamedProfile profile = sample_profile();
  profile.runs = {{"01A", Timestamp(std::chrono::days(2)), "0123456789abcdef", 4},
                  {"01B", Timestamp(std::chrono::days(1)), "0123456789abcdef", 6}};
  EXPECT_THAT(text_of(profile, Detail::kShort),
              HasSubstr("runs       2 of environment 0123456789abcdef, 1970-01-02 to 1970-01-03; "
                        "below 6 runs, intervals are by blocks"));
}

TEST(ProfileDocuments, say_how_many_processes_there_are) {
  results::NamedProfile profile = sample_profile();
  EXPECT_THAT(text_of(profile, Detail::kShort), Not(HasSubstr("processes")));
  profile.processes = {4, 6};
  EXPECT_THAT(text_of(profile, Detail::kShort),
              HasSubstr("processes  2; below 6 processes, intervals are by blocks and do not know "
                        "how processes differ\n"));
  profile.processes = {1, 1, 2, 2, 2, 2};
  EXPECT_THAT(text_of(profile, Detail::kShort),
              HasSubstr("processes  6; intervals are by processes\n"));
}

TEST(ProfileDocuments, say_that_the_time_includes_what_samples_cost) {
  results::NamedProfile profile = sample_profile();
  for (results::SampledProfile::Block& block : profile.blocks) {
    block.unsampled = Seconds(0.0);
  }
  const std::string text = text_of(profile, Detail::kShort);
  EXPECT_THAT(text, HasSubstr("execution  10.000 ms with samples"));
  EXPECT_THAT(text, HasSubstr("cost       unknown: no execution was without samples"));
  std::ostringstream out;
  write_profile_difference(sample_profile(),
                           profile,
                           analysis::compute_profile_difference(sample_profile(), profile),
                           OutputMode::kText,
                           out,
                           Detail::kShort);
  EXPECT_THAT(out.str(), HasSubstr("baseline   10.000 ms in mode fusion, on default\n"));
  EXPECT_THAT(out.str(), HasSubstr("in mode fusion, on default, with what samples cost\n"));
}

TEST(ProfileDocuments, are_short_unless_all_is_asked_for) {
  ProfileBuilder builder;
  for (int i = 0; i < 10; ++i) {
    builder.block();
    for (int f = 0; f < 13; ++f) {
      builder.samples("conv", {"function" + std::to_string(f), "a.so"}, 20);
    }
  }
  EXPECT_THAT(text_of(builder.build(), Detail::kShort), HasSubstr("3 more with --all"));
  const std::string all = text_of(builder.build(), Detail::kAll);
  EXPECT_THAT(all, Not(HasSubstr("more with --all")));
  EXPECT_THAT(all, HasSubstr("function12"));
}

TEST(ProfileDocuments, a_difference_names_functions_and_the_rest) {
  const auto profile = [](bool reorder) {
    ProfileBuilder builder;
    for (int i = 0; i < 10; ++i) {
      builder.block(reorder ? 0.06 : 0.05).samples("conv1", {"jit_kernel", "generated"}, 50);
      if (reorder) {
        builder.samples("conv1", {"jit_reorder", "generated"}, 10);
      }
    }
    return builder.build();
  };
  const results::NamedProfile baseline = profile(false);
  const results::NamedProfile candidate = profile(true);
  std::ostringstream out;
  write_profile_difference(baseline,
                           candidate,
                           analysis::compute_profile_difference(baseline, candidate),
                           OutputMode::kText,
                           out,
                           Detail::kShort);
  EXPECT_THAT(out.str(), HasSubstr("change     +2.000 ms"));
  EXPECT_THAT(out.str(), HasSubstr("jit_reorder  conv1         not in the baseline"));
  EXPECT_THAT(out.str(), HasSubstr("all but +"));
}

TEST(ProfileFiles, folded_stacks_have_three_parts_and_a_count) {
  std::ostringstream out;
  write_folded_stacks(sample_profile(), out);
  EXPECT_THAT(out.str(), HasSubstr("lenet, batch 1;conv1;jit_kernel 300\n"));
  EXPECT_THAT(out.str(), HasSubstr("lenet, batch 1;conv1;copy<a>&,? 100\n"));
  EXPECT_THAT(out.str(), HasSubstr("lenet, batch 1;pool1;[libgomp.so.1] 100\n"));
}

TEST(ProfileFiles, a_flame_graph_escapes_names_and_is_as_wide_as_its_shares) {
  std::ostringstream out;
  write_flame_graph(sample_profile(), out);
  EXPECT_THAT(out.str(), HasSubstr("<title>copy&lt;a&gt;&amp;"));
  EXPECT_THAT(out.str(), Not(HasSubstr("copy<a>")));
  EXPECT_THAT(out.str(), HasSubstr("jit_kernel: 300 samples, 60.00 %"));
  EXPECT_THAT(out.str(), HasSubstr(R"(<rect x="0.00" y="40" width="720.00")"));
}

/// Returns a profile of calls two deep, whose inner function is called from two places.
results::NamedProfile profile_of_calls() {
  ProfileBuilder builder;
  builder.block()
      .called("conv1", {{"execute", "libdnnl.so.3"}, {"jit_kernel", "generated"}}, 30)
      .called("conv1", {{"execute", "libdnnl.so.3"}}, 10)
      .called("pool1", {{"jit_kernel", "generated"}}, 20);
  return builder.build();
}

TEST(ProfileFiles, calls_are_parts_of_stacks_and_rows_of_a_flame_graph) {
  std::ostringstream folded;
  write_folded_stacks(profile_of_calls(), folded);
  EXPECT_EQ(folded.str(),
            "lenet, batch 1;conv1;execute 10\n"
            "lenet, batch 1;conv1;execute;jit_kernel 30\n"
            "lenet, batch 1;pool1;jit_kernel 20\n");
  std::ostringstream flames;
  write_flame_graph(profile_of_calls(), flames);
  EXPECT_THAT(flames.str(), HasSubstr("execute: 40 samples, 66.67 %"));
  EXPECT_THAT(flames.str(), HasSubstr(R"(<rect x="0.00" y="60" width="600.00")"));
  EXPECT_THAT(flames.str(), HasSubstr(R"(<g><title>execute)"));
  EXPECT_THAT(flames.str(), HasSubstr(R"(height="80")"));
}

TEST(ProfileFiles, a_profile_of_calls_survives_json) {
  const results::NamedProfile profile = profile_of_calls();
  const results::NamedProfile copy =
      analysis::profile_from_json(analysis::profile_document(profile).dump());
  ASSERT_EQ(copy.stacks.size(), 3U);
  EXPECT_EQ(copy.stacks[1].functions, profile.stacks[1].functions);
  EXPECT_EQ(copy.stacks[1].samples, 30U);
}

TEST(ProfileFiles, perf_script_has_each_sample_with_its_step_as_caller) {
  std::ostringstream out;
  write_perf_script(sample_profile(), out);
  const std::string text = out.str();
  EXPECT_THAT(text,
              HasSubstr("1000000 cpu-clock:u:\n\t               0 jit_kernel (generated)\n"
                        "\t               0 conv1 (step)\n\n"));
  std::size_t events = 0;
  for (std::size_t at = text.find("cpu-clock:u:"); at != std::string::npos;
       at = text.find("cpu-clock:u:", at + 1)) {
    ++events;
  }
  EXPECT_EQ(events, 500U);
  EXPECT_THAT(text, HasSubstr("copy<a>&;? (libdnnl.so.3)"));
}

TEST(ProfileFiles, an_event_trace_is_one_mean_execution) {
  std::ostringstream out;
  write_event_trace(sample_profile(), out);
  const nlohmann::json events = nlohmann::json::parse(out.str()).at("traceEvents");
  ASSERT_EQ(events.size(), 7U);  // a name, the model, two steps, three functions
  EXPECT_NEAR(events[1].at("dur").get<double>(), 10'000.0, 1e-6);
  EXPECT_EQ(events[2].at("name"), "conv1");
  EXPECT_NEAR(events[2].at("dur").get<double>(), 8'000.0, 1e-6);
  EXPECT_EQ(events[5].at("name"), "pool1");
  EXPECT_NEAR(events[5].at("ts").get<double>(), 8'000.0, 1e-6);
}

TEST(ProfileFiles, have_the_thread_of_each_sample) {
  results::NamedProfile profile = sample_profile();
  profile.threads = 2;
  profile.stacks = {{0, {0}, 400}, {0, {1}, 100, 1}};
  std::ostringstream script;
  write_perf_script(profile, script);
  EXPECT_THAT(script.str(), HasSubstr("plumb     1/1     [000]"));
  EXPECT_THAT(script.str(), HasSubstr("plumb     1/2     [000]"));
  std::ostringstream trace;
  write_event_trace(profile, trace);
  const nlohmann::json events = nlohmann::json::parse(trace.str()).at("traceEvents");
  ASSERT_EQ(events.size(), 7U);  // a name, and of each thread the model, a step and a function
  EXPECT_EQ(events[3].at("tid"), 1);
  EXPECT_NEAR(events[3].at("dur").get<double>(), 10'000.0, 1e-6);
  EXPECT_EQ(events[6].at("tid"), 2);
  EXPECT_EQ(events[6].at("ts"), 0.0);
  EXPECT_NEAR(events[6].at("dur").get<double>(), 2'500.0, 1e-6);
  std::ostringstream flames;
  write_flame_graph(profile, flames);
  EXPECT_THAT(flames.str(), HasSubstr("conv1: 500 samples, 100.00 %")) << "of both threads";
}

std::string pprof_of(const results::NamedProfile& profile) {
  std::ostringstream out;
  write_pprof(profile, out);
  return out.str();
}

TEST(ProfileFiles, pprof_is_compressed_with_gzip) {
  EXPECT_EQ(pprof_of(sample_profile()).substr(0, 2), "\x1f\x8b");
}

TEST(ProfileFiles, pprof_has_the_label_of_threads_that_are_known_alone) {
  results::NamedProfile profile = sample_profile();
  const std::string without_label = pprof_of(profile);
  profile.threads = 2;
  EXPECT_EQ(pprof_of(profile), without_label) << "as from a store";
  profile.stacks = {{0, {0}, 400}, {0, {1}, 100, 1}};
  const std::string of_two = pprof_of(profile);
  profile.threads = 1;
  EXPECT_NE(pprof_of(profile), of_two);
}

TEST(ProfileDocuments, a_listing_shows_what_is_near_samples) {
  results::NamedProfile::Listing listing;
  listing.function = {"jit_kernel", "generated"};
  listing.samples = 100;
  listing.of_profile = 200;
  listing.alike = 2;
  listing.bytes = 40;
  listing.bytes_listed = 40;
  for (std::uint64_t i = 0; i < 10; ++i) {
    listing.instructions.push_back({4 * i, 4, "nop" + std::to_string(i), i == 6 ? 100U : 0U});
  }
  listing.disassembled = 10;
  std::ostringstream out;
  write_code_listing(sample_profile(), listing, out, Detail::kShort);
  EXPECT_THAT(out.str(),
              HasSubstr("\njit_kernel, generated: 100 samples, 50.0 % of all, in 40 bytes of "
                        "code\n2 more code"));
  EXPECT_THAT(out.str(), HasSubstr("approximate"));
  EXPECT_THAT(out.str(), HasSubstr("100.0 %  96.3–100.0      100      18  nop6"));
  EXPECT_THAT(out.str(), Not(HasSubstr("nop3")));
  EXPECT_THAT(out.str(), HasSubstr("5 more instructions with --all"));
  std::ostringstream all;
  write_code_listing(sample_profile(), listing, all, Detail::kAll);
  EXPECT_THAT(all.str(), HasSubstr("nop0"));
  std::ostringstream kept;
  write_code_listing(sample_profile(), results::shorten_listing(listing, 9), kept, Detail::kAll);
  EXPECT_THAT(kept.str(), HasSubstr("5 more instructions, of which the run keeps none"));
}

TEST(ListingContent, has_a_gap_for_what_is_left_out) {
  const results::NamedProfile profile = test::stored_profile("01J").profile;
  results::NamedProfile::Listing listing = profile.listings[0];
  const ListingContent content = describe_listing(analysis::list_shares(profile, listing));
  EXPECT_EQ(
      content.title,
      "jit_brgemm_kernel_t, generated, most in conv1+relu1: 340 samples, 97.7 % of all, in 40 "
      "bytes of code");
  ASSERT_EQ(content.rows.size(), 4U);
  EXPECT_EQ(content.rows[0].instruction, "…");
  EXPECT_EQ(content.rows[1].share, "11.8 %");
  EXPECT_EQ(content.rows[1].interval, "8.8–15.6");
  EXPECT_EQ(content.rows[2].offset, "8");
  EXPECT_EQ(content.rows[3].instruction, "…");
  EXPECT_THAT(content.notes, testing::Contains(HasSubstr("approximate")));
  listing.exact = true;
  EXPECT_THAT(describe_listing(analysis::list_shares(profile, listing)).notes,
              Not(testing::Contains(HasSubstr("approximate"))));
}

TEST(ListingContent, says_why_there_are_no_instructions) {
  const results::NamedProfile profile = test::stored_profile("01J").profile;
  const ListingContent content =
      describe_listing(analysis::list_shares(profile, profile.listings[1]));
  EXPECT_EQ(content.title, "[libc.so.6], libc.so.6: 7 samples, 2.0 % of all");
  EXPECT_THAT(content.rows, testing::IsEmpty());
  EXPECT_THAT(content.notes,
              testing::ElementsAre("no instructions: '/usr/lib/libc.so.6' has no symbol there"));
}

TEST(ProfileFiles, a_flame_graph_without_samples_is_an_empty_picture) {
  std::ostringstream out;
  write_flame_graph(ProfileBuilder().build(), out);
  EXPECT_THAT(out.str(), HasSubstr("</svg>"));
  EXPECT_THAT(out.str(), Not(HasSubstr("<rect")));
}

}  // namespace
}  // namespace plumb::reporting
