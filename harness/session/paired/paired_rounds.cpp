// SPDX-License-Identifier: Apache-2.0
#include "harness/session/paired/paired_rounds.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/session/stored/run_record.hpp"
#include "harness/session/work/control_measurement.hpp"

namespace plumb {
namespace {

/// Throws Error{kEnvironment} for a row with a device fault. Neither stack is to blame, so nothing
/// is decided.
void require_sound_device(const Measurement& row) {
  const auto fault = row.attributes.find(kDeviceFault);
  if (fault != row.attributes.end()) {
    throw Error(Error::Kind::kEnvironment,
                fault->second +
                    ": nothing measured beside it can be believed; look after the device, then "
                    "measure again");
  }
}

}  // namespace

/// One side's turn in one round.
class PairedRounds::Process {
 public:
  Process(PairedRounds& rounds, Side& side, RoundSide& result)
      : rounds_(rounds), side_(side), result_(result) {}

  void measure(const PairedWork& work, const std::function<void(const std::string&)>& report) {
    const std::string& stack = side_.side.worker.stack.name;
    report(stack + ": controls");
    controls();
    for (const LayerKey& key : work.layers) {
      if (stopped()) {
        return;
      }
      report(stack + ": layers");
      layer(key);
    }
    for (const PairedWork::Model& model : work.models) {
      if (stopped()) {
        return;
      }
      report(stack + ": " + model.request.name);
      execute(model);
    }
  }

  void end() {
    if (worker_ && side_.side.before_worker_ends) {
      side_.side.before_worker_ends(worker_->pid());
    }
    worker_.reset();
  }

  [[nodiscard]] bool stopped() const { return rounds_.stop_.load(); }

 private:
  WorkerProcess& worker() {
    if (!worker_) {
      worker_ = std::make_unique<WorkerProcess>(side_.side.worker);
    }
    return *worker_;
  }

  void note(const WorkerDied& death, const std::string& what) {
    const bool hung = death.outcome().kind == Outcome::Kind::kTimedOut;
    ++(hung ? result_.timeouts : result_.crashes);
    spdlog::warn(
        "worker of {} lost: {}; {}", side_.side.worker.stack.name, death.outcome().reason, what);
    worker_.reset();
  }

  void controls() {
    result_.controls =
        measure_controls([this](const MeasureRequest& request) { return measured(request); });
  }

  /// Sends one request and keeps all rows. If the worker dies, they are the rows that it had sent
  /// and one row with the reason. Throws Error{kEnvironment} for a device fault.
  std::vector<Measurement> measured(const MeasureRequest& request) {
    std::vector<Measurement> rows;
    const Timestamp started = current_time();
    try {
      worker().measure(request, rounds_.options_.row_timeout, [&](Measurement row) {
        row.process = static_cast<std::int64_t>(rounds_.rounds_);
        rows.push_back(std::move(row));
      });
    } catch (const WorkerDied& death) {
      note(death, "key=" + request.key.text);
      Measurement& lost = rows.emplace_back();
      lost.key = request.key;
      lost.outcome = death.outcome();
      lost.process = static_cast<std::int64_t>(rounds_.rounds_);
      lost.started = started;
    }
    if (!side_.side.run.empty()) {
      rounds_.store_.append(side_.side.run, rows);
    }
    std::for_each(rows.begin(), rows.end(), require_sound_device);
    return rows;
  }

  void layer(const LayerKey& key) {
    MeasureRequest request;
    request.key = key;
    request.sampling = rounds_.options_.sampling;
    request.disturbed_attempts = 2;
    try {
      if (const std::string choice = chosen(worker().variants(key)); !choice.empty()) {
        request.variants = {choice};
      }
    } catch (const WorkerDied&) {
      // The measurement below meets the dead worker too, and makes it the layer's outcome.
    }
    request.verify = side_.verified.insert(key).second;
    std::vector<Measurement> rows = measured(request);
    const auto row = first_timed(rows);
    if (!rows.empty()) {
      Measurement& kept =
          row != rows.end() ? rows[static_cast<std::size_t>(row - rows.begin())] : rows.back();
      kept.samples.clear();
      if (!kept.outcome.timed()) {
        side_.verified.erase(key);  // so that the next process verifies the output again
      }
      result_.layers.emplace(key, std::move(kept));
    }
  }

  void execute(const PairedWork::Model& model) {
    const auto silence =
        rounds_.options_.row_timeout * static_cast<double>(model.request.modes.size());
    const auto keep = [&](Execution execution) {
      execution.row.process = static_cast<std::int64_t>(rounds_.rounds_);
      put("paired_execution", model.subject, to_json(execution));
      require_sound_device(execution.row);
      execution.row.samples.clear();
      std::string mode = execution.mode;
      result_.models.emplace(ModelMode{model.subject, std::move(mode)}, std::move(execution));
    };
    ExecuteRequest request = model.request;
    request.verify = side_.verified_models.insert(model.subject).second;
    try {
      worker().execute(request, silence, keep, [](const ExecuteProgress&) { return true; });
    } catch (const WorkerDied& death) {
      side_.verified_models.erase(model.subject);
      note(death, "model " + model.request.name);
      for (const ModeRequest& mode : model.request.modes) {
        if (!result_.models.contains({model.subject, to_text(mode.mode)})) {
          Execution lost;
          lost.mode = to_text(mode.mode);
          lost.row.key.text = "model:" + model.request.name;
          lost.row.outcome = death.outcome();
          lost.row.started = current_time();
          keep(std::move(lost));
        }
      }
    }
  }

  void put(const std::string& kind, const std::string& subject, const std::string& payload) {
    if (!side_.side.run.empty()) {
      put_run_record(rounds_.store_, side_.side.run, kind, subject, payload);
    }
  }

  [[nodiscard]] static std::string chosen(const std::vector<Variant>& variants) {
    const auto choice = std::find_if(variants.begin(), variants.end(), [](const Variant& variant) {
      return variant.library_choice;
    });
    return choice != variants.end() ? choice->text : "";
  }

  PairedRounds& rounds_;
  Side& side_;
  RoundSide& result_;
  std::unique_ptr<WorkerProcess> worker_;
};

PairedRounds::PairedRounds(Store& store,
                           PairedSide baseline,
                           PairedSide candidate,
                           PairedOptions options,
                           const std::atomic<bool>& stop)
    : store_(store),
      baseline_{std::move(baseline)},
      candidate_{std::move(candidate)},
      options_(options),
      stop_(stop) {
  candidate_.side.worker.pace = baseline_.side.worker.pace;  // they run on one host
}

PairedRound PairedRounds::measure(const PairedWork& work,
                                  const std::function<void(const std::string&)>& report) {
  PairedRound round;
  round.number = ++rounds_;
  // The order ABBA: a drift of the machine affects both sides of the rounds alike.
  round.baseline_first = rounds_ % 2 == 1;
  const auto turn = [&](bool baseline) {
    Process process(
        *this, baseline ? baseline_ : candidate_, baseline ? round.baseline : round.candidate);
    process.measure(work, report);
    process.end();
    round.complete = round.complete && !process.stopped();
  };
  turn(round.baseline_first);
  if (round.complete) {
    turn(!round.baseline_first);
  }
  return round;
}

}  // namespace plumb
