// SPDX-License-Identifier: Apache-2.0
//
// Names and analyses 10^7 samples of a profile and prints the seconds of each part. Exits with 1 if
// naming and analysing them takes 5 s or more.
//
// The samples are of 200 steps with 10 functions each, at 50,000 addresses, in 10,000 blocks.
#include <fmt/core.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <random>
#include <string>

#include "harness/analysis/profile/merged_profile.hpp"
#include "harness/analysis/profile/profile_difference.hpp"
#include "harness/analysis/profile/profile_shares.hpp"

namespace {

using namespace plumb;

constexpr std::uint32_t kSamples = 10'000'000;
constexpr std::uint32_t kSteps = 200;
constexpr std::uint32_t kFunctionsOfStep = 10;
constexpr std::uint32_t kAddresses = 50'000;
constexpr std::uint32_t kFunctions = 500;
constexpr std::uint32_t kBlocks = 10'000;
constexpr double kMaxSeconds = 5.0;

results::SampledProfile make_samples() {
  results::SampledProfile profile;
  profile.steps.resize(kSteps);
  profile.blocks.assign(kBlocks, {5, Seconds(0.05), Seconds(0.05)});
  std::mt19937_64 random(1);
  for (std::uint32_t i = 0; i < kSamples; ++i) {
    const auto step = static_cast<std::uint32_t>(random() % kSteps);
    const auto function =
        static_cast<std::uint32_t>((step * 7 + random() % kFunctionsOfStep) % kFunctions);
    const std::uint64_t address =
        function * (kAddresses / kFunctions) + random() % (kAddresses / kFunctions);
    profile.samples.push_back(
        {address, step, static_cast<std::uint32_t>(std::uint64_t{i} * kBlocks / kSamples), 0});
  }
  return profile;
}

results::NamedProfile::CodeNames make_names() {
  results::NamedProfile::CodeNames names;
  for (std::uint32_t i = 0; i < kFunctions; ++i) {
    names.functions.push_back({"function" + std::to_string(i), "lib.so"});
  }
  for (std::uint64_t address = 0; address < kAddresses; ++address) {
    names.addresses.emplace_back(address,
                                 static_cast<std::uint32_t>(address / (kAddresses / kFunctions)));
  }
  return names;
}

double timed(const char* what, const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  fmt::print("{}: {:.2f} s\n", what, time.count());
  return time.count();
}

}  // namespace

int main() {
  const results::SampledProfile samples = make_samples();
  results::NamedProfile profile;
  double whole = timed("names", [&] { profile = analysis::name_samples(samples, make_names()); });
  profile.step_names.assign(kSteps, "step");
  whole += timed("shares of steps and functions", [&] {
    static_cast<void>(analysis::compute_shares(
        analysis::GroupedSamples(profile, analysis::rows_of_cells(profile), profile.cells.size())));
  });
  fmt::print("{} samples in {} cells: {:.2f} s\n", kSamples, profile.cells.size(), whole);
  timed("difference from itself",
        [&] { static_cast<void>(analysis::compute_profile_difference(profile, profile)); });
  return whole < kMaxSeconds ? 0 : 1;
}
