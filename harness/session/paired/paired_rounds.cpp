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
    throw Error(
        Error::Kind::kEnvironment,
        fault->second +
            ": the measurements beside it are not reliable; check the device, then measure again");
  }
}

}  // namespace

/// One side's process in one round.
class PairedRounds::Process {
 public:
  Process(PairedRounds& rounds, Side& side, RoundSide& result)
      : rounds_(rounds), side_(side), result_(result) {}

  [[nodiscard]] const std::string& stack() const { return side_.side.worker.stack.name; }

  void end() {
    if (worker_ && side_.side.before_worker_ends) {
      side_.side.before_worker_ends(worker_->pid());
    }
    worker_.reset();
  }

  void controls() {
    result_.controls =
        measure_controls([this](const MeasureRequest& request) { return measured(request); });
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

  /// Prepares a model, which goes on in take_turn() until it is complete.
  void begin(const PairedWork::Model& model) {
    const auto silence =
        rounds_.options_.row_timeout * static_cast<double>(model.request.modes.size());
    ExecuteRequest request = model.request;
    request.in_turns = true;
    request.verify = side_.verified_models.insert(model.subject).second;
    model_ = &model;
    try {
      worker().begin_execution(request, silence);
    } catch (const WorkerDied& death) {
      lose_model(death);
    }
    take_turn();
  }

  /// Executes the model in progress until its worker awaits the next turn. Does nothing if there is
  /// none.
  void take_turn() {
    if (model_ == nullptr) {
      return;
    }
    try {
      if (!worker().take_turn([this](Execution execution) { keep(std::move(execution)); },
                              [](const ExecuteProgress&) { return true; })) {
        model_ = nullptr;
      }
    } catch (const WorkerDied& death) {
      lose_model(death);
    }
  }

  [[nodiscard]] bool executes() const { return model_ != nullptr; }

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

  void keep(Execution execution) {
    execution.row.process = static_cast<std::int64_t>(rounds_.rounds_);
    put("paired_execution", model_->subject, to_json(execution));
    require_sound_device(execution.row);
    execution.row.samples.clear();
    std::string mode = execution.mode;
    result_.models.emplace(ModelMode{model_->subject, std::move(mode)}, std::move(execution));
  }

  /// Gives the model in progress the worker's death as the outcome of each mode that has none.
  void lose_model(const WorkerDied& death) {
    side_.verified_models.erase(model_->subject);
    note(death, "model " + model_->request.name);
    for (const ModeRequest& mode : model_->request.modes) {
      if (!result_.models.contains({model_->subject, to_text(mode.mode)})) {
        Execution lost;
        lost.mode = to_text(mode.mode);
        lost.row.key.text = "model:" + model_->request.name;
        lost.row.outcome = death.outcome();
        lost.row.started = current_time();
        keep(std::move(lost));
      }
    }
    model_ = nullptr;
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
  const PairedWork::Model* model_ = nullptr;  // in progress
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
  round.baseline_first = rounds_ % 2 == 1;
  Process baseline(*this, baseline_, round.baseline);
  Process candidate(*this, candidate_, round.candidate);
  // Turns in the order ABBA: a drift of the machine affects both sides alike.
  bool baseline_next = round.baseline_first;
  const auto each = [&](const auto& turn) {
    turn(baseline_next ? baseline : candidate);
    turn(baseline_next ? candidate : baseline);
    baseline_next = !baseline_next;
  };
  const auto measure_all = [&] {
    const auto stopped = [&] { return stop_.load(); };
    each([&](Process& process) {
      report(process.stack() + ": controls");
      process.controls();
    });
    for (const LayerKey& key : work.layers) {
      if (stopped()) {
        return false;
      }
      report("layers");
      each([&](Process& process) { process.layer(key); });
    }
    for (const PairedWork::Model& model : work.models) {
      if (stopped()) {
        return false;
      }
      report(model.request.name);
      each([&](Process& process) { process.begin(model); });
      while (baseline.executes() || candidate.executes()) {
        each([](Process& process) { process.take_turn(); });
      }
    }
    return !stopped();
  };
  round.complete = measure_all();
  baseline.end();
  candidate.end();
  return round;
}

}  // namespace plumb
