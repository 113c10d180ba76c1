// SPDX-License-Identifier: Apache-2.0
//
// How often the change-point detector is wrong, how often right, and how long it takes. Prints the
// Markdown tables of docs/reference/change-detection.md; ci/change-detection-tables puts them
// there. Draws have odd seeds, which no constant of the detector was tuned on. Fails if a promise
// is broken. `--write FILE` writes a set of annotated series for `plumb detect --evaluate` instead.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <span>
#include <string>
#include <utility>

#include "harness/stats/change_points.hpp"
#include "tests/support/noise_series.hpp"
#include "tests/support/series_family.hpp"

namespace plumb::stats {
namespace {

constexpr int kSeries = 1000;
constexpr int kDraws = 200;

std::string_view name_of(NoiseFamily family) {
  return kNoiseFamilyNames.at(static_cast<std::size_t>(family));
}

bool near(std::size_t one, std::size_t other) {
  return one + 5 >= other && one <= other + 5;
}

bool all_found(const Detection& detection, const std::vector<std::size_t>& places) {
  return std::all_of(places.begin(), places.end(), [&](std::size_t place) {
    return std::any_of(detection.change_points.begin(),
                       detection.change_points.end(),
                       [&](const ChangePoint& point) { return near(point.index, place); });
  });
}

/// Change points per 1,000 quiet series.
double count_false(NoiseFamily family, std::size_t length) {
  SeriesFamily source(family, 2 * length + 1);
  std::size_t found = 0;
  for (int i = 0; i < kSeries; ++i) {
    found += detect_changes(with_steps(source.draw(length), {}, StepPattern::kUp, 0.0))
                 .change_points.size();
  }
  return static_cast<double>(found) * 1000.0 / kSeries;
}

/// Share of series whose one step is found.
double compute_recall(NoiseFamily family, std::size_t length, double size) {
  SeriesFamily source(family, 2 * length + 7);
  const std::vector<std::size_t> places = step_places(length, 1);
  int hits = 0;
  for (int i = 0; i < kSeries; ++i) {
    hits +=
        all_found(detect_changes(with_steps(source.draw(length), places, StepPattern::kUp, size)),
                  places)
            ? 1
            : 0;
  }
  return static_cast<double>(hits) / kSeries;
}

bool write_quiet_table() {
  fmt::print("<!-- table: single steps -->\n");
  fmt::print("| noise | points | false per 1,000 | 1 deviation | 2.5 | 5 |\n");
  fmt::print("| --- | ---: | ---: | ---: | ---: | ---: |\n");
  bool kept = true;
  for (const NoiseFamily family : kNoiseFamilies) {
    for (const std::size_t length : {60U, 120U, 500U}) {
      const double alarms = count_false(family, length);
      fmt::print("| {} | {} | {:.0f} | {:.2f} | {:.2f} | {:.3f} |\n",
                 name_of(family),
                 length,
                 alarms,
                 compute_recall(family, length, 1.0),
                 compute_recall(family, length, 2.5),
                 compute_recall(family, length, 5.0));
      kept = kept && (length < 500 || alarms <= 50.0);
    }
  }
  return kept;
}

/// What happens to a growing step over all shapes of one length.
struct GrowingSteps {
  int draws = 0;
  int lost = 0;        ///< draws that lose steps that smaller ones were found by
  int clear = 0;       ///< draws whose steps of five deviations are all found
  double extra = 0.0;  ///< changes at five deviations that are near no step
};

GrowingSteps grow(NoiseFamily family, std::size_t length) {
  constexpr std::size_t kMinLevel = 20;
  constexpr std::array kSizes{2.5, 3.5, 5.0, 7.0, 10.0, 15.0, 25.0, 50.0};
  GrowingSteps total;
  for (const std::size_t steps : {1U, 2U, 3U, 4U, 5U}) {
    for (const StepPattern pattern : kStepPatterns) {
      if ((steps + 1) * kMinLevel > length || (steps == 1 && pattern == StepPattern::kBack)) {
        continue;
      }
      SeriesFamily source(family,
                          2 * (31 * length + 7 * steps + static_cast<std::size_t>(pattern)) + 1);
      const std::vector<std::size_t> places = step_places(length, steps);
      for (int draw = 0; draw < kDraws; ++draw, ++total.draws) {
        const std::vector<double> noise = source.draw(length);
        bool before = false;
        bool lost = false;
        for (const double size : kSizes) {
          if (family == NoiseFamily::kTwoStates && size < 3.0) {
            continue;
          }
          const Detection detection = detect_changes(with_steps(noise, places, pattern, size));
          const bool found = all_found(detection, places);
          lost = lost || (before && !found);
          before = before || found;
          if (size == 5.0) {
            total.clear += found ? 1 : 0;
            total.extra += static_cast<double>(std::count_if(
                detection.change_points.begin(),
                detection.change_points.end(),
                [&](const ChangePoint& point) {
                  return std::none_of(places.begin(), places.end(), [&](std::size_t place) {
                    return near(point.index, place);
                  });
                }));
          }
        }
        total.lost += lost ? 1 : 0;
      }
    }
  }
  return total;
}

bool write_growing_table() {
  fmt::print("\n<!-- table: growing steps -->\n");
  fmt::print("| noise | points | draws | lost | all found at 5 deviations | extra changes |\n");
  fmt::print("| --- | ---: | ---: | ---: | ---: | ---: |\n");
  bool kept = true;
  for (const NoiseFamily family : kNoiseFamilies) {
    for (const std::size_t length : {40U, 60U, 120U, 300U, 1000U}) {
      const GrowingSteps row = grow(family, length);
      fmt::print("| {} | {} | {} | {:.2f} % | {:.3f} | {:.2f} |\n",
                 name_of(family),
                 length,
                 row.draws,
                 100.0 * row.lost / row.draws,
                 static_cast<double>(row.clear) / row.draws,
                 row.extra / row.draws);
      kept = kept && row.lost * 50 <= row.draws;
    }
  }
  return kept;
}

void write_drift_table() {
  fmt::print("\n<!-- table: drifts -->\n");
  fmt::print("| noise | points | rise | creep | any step |\n| --- | ---: | ---: | ---: | ---: |\n");
  for (const NoiseFamily family : {NoiseFamily::kGaussian, NoiseFamily::kAutocorrelated}) {
    for (const std::size_t length : {120U, 300U, 500U}) {
      for (const double rise : {0.03, 0.1}) {
        SeriesFamily source(family, 2 * length + 3);
        int creeping = 0;
        int stepping = 0;
        for (int i = 0; i < kDraws; ++i) {
          const Detection found = detect_changes(with_drift(source.draw(length), rise));
          creeping += found.creep ? 1 : 0;
          stepping += found.change_points.empty() ? 0 : 1;
        }
        fmt::print("| {} | {} | {:.0f} % | {:.2f} | {:.2f} |\n",
                   name_of(family),
                   length,
                   100.0 * rise,
                   static_cast<double>(creeping) / kDraws,
                   static_cast<double>(stepping) / kDraws);
      }
    }
  }
}

/// What a quiet history says as it grows run by run.
struct Replay {
  double alarms = 0.0;  ///< per 1,000 runs; a change point near a known one is no new alarm
  double suspicions = 0.0;
};

Replay replay(Noise noise) {
  constexpr int kReplayed = 60;
  NoiseSeries source(17);
  Replay total;
  double runs = 0.0;
  for (int series = 0; series < kReplayed; ++series) {
    const std::vector<double> values = source.make(noise, 300);
    std::vector<std::size_t> known;
    for (std::size_t length = 50; length <= values.size(); ++length, runs += 1.0) {
      const Detection detection = detect_changes(std::span(values.data(), length));
      for (const ChangePoint& point : detection.change_points) {
        if (std::none_of(known.begin(), known.end(), [&](std::size_t index) {
              return near(point.index, index);
            })) {
          known.push_back(point.index);
          total.alarms += 1.0;
        }
      }
      total.suspicions += static_cast<double>(detection.suspicions.size());
    }
  }
  return {1000.0 * total.alarms / runs, 1000.0 * total.suspicions / runs};
}

/// Share of series whose step, three points before the end, is a suspicion.
double compute_suspected(Noise noise) {
  NoiseSeries source(13);
  int hits = 0;
  for (int i = 0; i < kSeries; ++i) {
    for (const Detection::Suspicion& suspicion :
         detect_changes(source.make(noise, 103, 2.5, 100)).suspicions) {
      hits += suspicion.index + 1 >= 100 ? 1 : 0;
    }
  }
  return static_cast<double>(hits) / kSeries;
}

/// Share of series of 120 points, rising by `rise`, in which the store's creep is found.
double compute_creeping(Noise noise, double rise, double quieter) {
  NoiseSeries source(19);
  int found = 0;
  for (int i = 0; i < kSeries; ++i) {
    std::vector<double> values = source.make(noise, 120);
    for (std::size_t k = 0; k < values.size(); ++k) {
      values[k] = (100.0 + (values[k] - 100.0) / quieter) *
                  (1.0 + rise * static_cast<double>(k) / static_cast<double>(values.size()));
    }
    found += find_creep(values) ? 1 : 0;
  }
  return static_cast<double>(found) / kSeries;
}

bool write_replay_table() {
  constexpr std::array<std::pair<Noise, const char*>, 4> kNoises{
      {{Noise::kGaussian, "Gaussian"},
       {Noise::kAutocorrelated, "AR(1) 0.5"},
       {Noise::kOutliers, "2% outliers"},
       {Noise::kTwoStates, "two states"}}};
  fmt::print("\n<!-- table: replays -->\n");
  fmt::print(
      "| noise | alarms per 1,000 runs | suspicions | 2.5 deviations, 3 points after | false "
      "creep per 1,000 | 10% over 120 runs in 1% noise |\n");
  fmt::print("| --- | ---: | ---: | ---: | ---: | ---: |\n");
  bool kept = true;
  for (const auto& [noise, name] : kNoises) {
    const Replay row = replay(noise);
    const double early = compute_suspected(noise);
    fmt::print("| {} | {:.2f} | {:.1f} | {:.2f} | {:.0f} | {:.2f} |\n",
               name,
               row.alarms,
               row.suspicions,
               early,
               1000.0 * compute_creeping(noise, 0.0, 1.0),
               compute_creeping(noise, 0.1, 2.0));
    kept = kept && (noise != Noise::kGaussian || (row.alarms <= 1.0 && early >= 0.5));
  }
  return kept;
}

bool write_speed() {
  constexpr double kLimit = 0.35;
  constexpr std::array kNoises{
      Noise::kGaussian, Noise::kAutocorrelated, Noise::kOutliers, Noise::kTwoStates};
  std::vector<std::vector<double>> histories;
  NoiseSeries source(1);
  for (std::size_t i = 0; i < kSeries; ++i) {
    histories.push_back(source.make(kNoises.at(i % 4), 500, static_cast<double>(i % 3), 250));
  }
  const auto start = std::chrono::steady_clock::now();
  std::size_t points = 0;
  for (const std::vector<double>& history : histories) {
    points += detect_changes(history).change_points.size();
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  fmt::print("\n1,000 series of 500 points: {:.3f} s, {} change points (limit {} s)\n",
             seconds,
             points,
             kLimit);
  return seconds <= kLimit;
}

/// Writes quiet series, steps and drifts of every family with their true changes.
void write_annotated(const std::string& path) {
  std::ofstream out(path);
  out << "{\"series\":[";
  const char* separator = "";
  const auto write = [&](const std::string& id,
                         const std::vector<double>& values,
                         const std::vector<std::size_t>& places) {
    out << separator
        << fmt::format("{{\"id\":\"{}\",\"values\":[{:.6f}],\"change_points\":[{}]}}",
                       id,
                       fmt::join(values, ","),
                       fmt::join(places, ","));
    separator = ",\n";
  };
  for (const NoiseFamily family : kNoiseFamilies) {
    for (const std::size_t length : {60U, 200U, 500U}) {
      SeriesFamily source(family, 2 * length + 5);
      for (const std::size_t steps : {0U, 1U, 2U, 5U}) {
        const std::vector<std::size_t> places = step_places(length, steps);
        write(fmt::format("{}, {} points, {} steps", name_of(family), length, steps),
              with_steps(source.draw(length), places, StepPattern::kBack, 4.0),
              places);
      }
      write(fmt::format("{}, {} points, drift", name_of(family), length),
            with_drift(source.draw(length), 0.1),
            {});
    }
  }
  out << "]}\n";
}

int run() {
  bool kept = write_quiet_table();
  kept = write_growing_table() && kept;
  write_drift_table();
  kept = write_replay_table() && kept;
  kept = write_speed() && kept;
  return kept ? 0 : 1;
}

}  // namespace
}  // namespace plumb::stats

int main(int count, char** arguments) {
  const std::span<char*> words(arguments, static_cast<std::size_t>(count));
  if (words.size() == 3 && std::string_view(words[1]) == "--write") {
    plumb::stats::write_annotated(words[2]);
    return 0;
  }
  return plumb::stats::run();
}
