// SPDX-License-Identifier: Apache-2.0
#include "harness/session/paired/layer_replay.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "harness/results/series/series_name.hpp"

namespace plumb::session {
namespace {

constexpr int kPairs = 4;  // few are enough: the regression is known already

/// Returns the fastest variant of a key's full rows; empty: none has a time.
std::string fastest(const std::vector<results::Measurement>& rows) {
  const results::Measurement* best = nullptr;
  for (const results::Measurement& row : rows) {
    if (row.purpose != results::Purpose::kRace && row.outcome.timed() &&
        (best == nullptr || row.corrected().median < best->corrected().median)) {
      best = &row;
    }
  }
  return best == nullptr ? "" : best->variant;
}

void add_pair(const std::map<std::string, double>& before,
              const std::string& left,
              const std::map<std::string, double>& after,
              const std::string& right,
              analysis::PairedSamples& samples) {
  const auto one = before.find(left);
  const auto other = after.find(right);
  if (one != before.end() && other != after.end()) {
    samples.baseline.push_back(one->second);
    samples.candidate.push_back(other->second);
  }
}

}  // namespace

LayerReplay::LayerReplay(store::Store& store,
                         PairedSide baseline,
                         PairedSide candidate,
                         Seconds row_timeout,
                         std::int64_t first_process,
                         const std::atomic<bool>& stop)
    : store_(store),
      baseline_{std::move(baseline), {}, {}},
      candidate_{std::move(candidate), {}, {}},
      row_timeout_(row_timeout),
      process_(first_process),
      stop_(stop) {}

std::vector<results::Measurement> LayerReplay::rows(std::unique_ptr<worker::WorkerProcess>& worker,
                                                    const Side& side,
                                                    const worker::MeasureRequest& request) {
  std::vector<results::Measurement> result;
  try {
    if (!worker) {
      worker = std::make_unique<worker::WorkerProcess>(side.side.worker);
    }
    worker->measure(request, row_timeout_, [&](results::Measurement row) {
      row.process = process_;
      result.push_back(std::move(row));
    });
  } catch (const worker::WorkerDied& death) {
    spdlog::warn("worker of {} lost: {}; key={}",
                 side.side.worker.stack.name,
                 death.outcome().reason,
                 request.key.text);
    worker.reset();
  }
  store_.append(side.side.run, result);
  return result;
}

void LayerReplay::race(Side& side, std::span<const LayerReplay::Request> requests, bool candidate) {
  std::unique_ptr<worker::WorkerProcess> worker;
  for (const LayerReplay::Request& each : requests) {
    if (stop_.load()) {
      break;
    }
    worker::MeasureRequest request;
    request.key = each.key;
    const std::vector<results::Measurement> raced = rows(worker, side, request);
    side.best.push_back(fastest(raced));
    std::vector<std::string> variants;
    for (const results::Measurement& row : raced) {
      // Skipped variants exist too: the baseline's choice may be one of them.
      if (row.outcome.timed() || row.outcome.kind == results::Outcome::Kind::kSkipped) {
        variants.push_back(row.variant);
      }
    }
    side.replayed.push_back(candidate ? analysis::same_variant(each.chosen, variants)
                                      : each.chosen);
  }
  ++process_;
}

std::vector<LayerReplay::Times> LayerReplay::measure(
    const Side& side, std::span<const LayerReplay::Request> requests) {
  std::unique_ptr<worker::WorkerProcess> worker;
  std::vector<Times> times(requests.size());
  for (std::size_t i = 0; i < requests.size() && !stop_.load(); ++i) {
    worker::MeasureRequest request;
    request.key = requests[i].key;
    request.purpose = results::Purpose::kConfirm;
    request.verify = false;
    for (const std::string& variant : {side.replayed[i], side.best[i]}) {
      const bool known = std::find(request.variants.begin(), request.variants.end(), variant) !=
                         request.variants.end();
      if (!variant.empty() && !known) {
        request.variants.push_back(variant);
      }
    }
    if (request.variants.empty()) {
      continue;
    }
    for (const results::Measurement& row : rows(worker, side, request)) {
      if (row.outcome.timed()) {
        times[i][row.variant] = row.corrected().median.count();
      }
    }
  }
  ++process_;
  return times;
}

std::vector<analysis::ReplayTimes> LayerReplay::run(
    std::span<const LayerReplay::Request> requests,
    const std::function<void(const std::string&)>& report) {
  report("replay: racing all variants");
  race(baseline_, requests, false);
  race(candidate_, requests, true);
  std::vector<analysis::ReplayTimes> results(requests.size());
  if (stop_.load()) {
    return results;
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    results[i].chosen = requests[i].chosen;
    results[i].replayed = candidate_.replayed[i];
    results[i].baseline_best = baseline_.best[i];
    results[i].candidate_best = candidate_.best[i];
    results[i].replay.name = "replay/" + requests[i].key.text;
    results[i].best.name = results::capability_series(requests[i].key.text);
  }
  // The race only picks variants. Fresh processes time them, since a winner looks better in the
  // race that it won than it is.
  for (int pair = 0; pair < kPairs && !stop_.load(); ++pair) {
    report(fmt::format("replay: pair {} of {}", pair + 1, kPairs));
    std::vector<Times> before;
    std::vector<Times> after;
    if (pair % 2 == 0) {
      before = measure(baseline_, requests);
      after = measure(candidate_, requests);
    } else {
      after = measure(candidate_, requests);
      before = measure(baseline_, requests);
    }
    for (std::size_t i = 0; i < requests.size(); ++i) {
      add_pair(before[i], results[i].chosen, after[i], results[i].replayed, results[i].replay);
      add_pair(before[i],
               results[i].baseline_best,
               after[i],
               results[i].candidate_best,
               results[i].best);
    }
  }
  return results;
}

}  // namespace plumb::session
