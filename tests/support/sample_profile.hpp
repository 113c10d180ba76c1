// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/results/profile/named_profile.hpp"
#include "tests/support/result_rows.hpp"

namespace plumb::test {

/// Returns a profile of a run, as stores hand it back: two steps, three functions, three blocks of
/// two processes, two listings.
inline results::StoredProfile stored_profile(const results::RunId& run,
                                             const std::string& subject = "lenet|1|f32") {
  results::StoredProfile stored{run, subject, at(8.000001), {}};
  results::NamedProfile& profile = stored.profile;
  profile.model = "lenet, batch 1, f32";
  profile.mode = "fusion";
  profile.stack = "default";
  profile.clock = results::SampledProfile::Clock::kCpuClock;
  profile.refused = "cycles: no such file";
  profile.asked_rate = 1000.0;
  profile.rate = 997.1;
  profile.threads = 2;
  profile.lost = 3;
  profile.steps = {{{0, 1}, key(1).text, "impl=jit:avx2", false}, {{}, "", "", true}};
  profile.step_names = {"conv1+relu1", "(outputs)"};
  profile.blocks = {{4, Seconds(0.051), Seconds(0.05)},
                    {4, Seconds(0.0511), Seconds(0.0501)},
                    {5, Seconds(1.0 / 3.0), Seconds(0.1)}};
  profile.functions = {
      {"jit_brgemm_kernel_t", "generated"}, {"", "libc.so.6", "00ff"}, {"ümlaut<int>", "plumb"}};
  profile.cells = {{0, 0, {{0, 40}, {2, 300}}}, {1, 1, {{1, 7}}}, {results::kNoStep, 2, {{2, 1}}}};
  profile.problems = {"'libx.so' has no symbols"};
  profile.processes = {2, 1};
  results::NamedProfile::Listing listing;
  listing.function = profile.functions[0];
  listing.step = "conv1+relu1";
  listing.samples = 340;
  listing.counts = profile.cells[0].counts;
  listing.of_profile = 348;
  listing.alike = 2;
  listing.bytes = listing.bytes_listed = 40;
  listing.disassembled = 10;
  listing.instructions = {{4, 4, "add          rax, 1", 40, {{0, 30}, {2, 10}}},
                          {8, 4, "vmulps       ymm0, ymm1", 300, {{0, 10}, {2, 290}}}};
  profile.listings.push_back(listing);
  listing = {};
  listing.function = profile.functions[1];
  listing.samples = 7;
  listing.of_profile = 348;
  listing.problem = "'/usr/lib/libc.so.6' has no symbol there";
  profile.listings.push_back(listing);
  return stored;
}

}  // namespace plumb::test
