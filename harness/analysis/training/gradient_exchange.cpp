// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/training/gradient_exchange.hpp"

#include <algorithm>

#include "harness/base/error.hpp"

namespace plumb::analysis {

ExchangeSchedule schedule_exchanges(std::span<const TimedLayer> layers,
                                    const Communication& communication) {
  if (!(communication.rate.value > 0.0) || communication.bucket.value < 1 ||
      !(communication.latency >= Seconds(0.0))) {
    throw Error(Error::Kind::kUser,
                "communication needs a rate and a bucket above 0, and a latency of 0 or more");
  }
  ExchangeSchedule schedule;
  Bytes filled;
  Seconds now{};
  Seconds updates{};
  const auto exchange = [&] {
    if (filled.value > 0) {
      const Seconds free = schedule.exchanges.empty() ? Seconds{} : schedule.exchanges.back().end;
      const Seconds takes = communication.latency + filled / communication.rate;
      const Seconds begin = std::max(now, free);
      schedule.exchanges.push_back({filled, now, begin, begin + takes});
      schedule.communication += takes;
      filled = {};
    }
  };
  for (const TimedLayer& layer : layers) {
    if (layer.update) {
      updates += layer.time;
      continue;
    }
    now += layer.time;
    filled += layer.gradients;
    if (filled >= communication.bucket) {
      exchange();
    }
  }
  exchange();
  const Seconds last = schedule.exchanges.empty() ? Seconds{} : schedule.exchanges.back().end;
  schedule.computation = now + updates;
  schedule.overlapped = std::max(now, last) + updates;
  return schedule;
}

EvaluationSchedule schedule_evaluations(std::size_t epochs, Seconds epoch, Seconds evaluation) {
  EvaluationSchedule schedule;
  for (std::size_t done = 1; done <= epochs; ++done) {
    schedule.in_turn += epoch + evaluation;
    const Seconds trained = static_cast<double>(done) * epoch;
    schedule.asynchronous = std::max(schedule.asynchronous, trained) + evaluation;
  }
  return schedule;
}

}  // namespace plumb::analysis
