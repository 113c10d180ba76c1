// SPDX-License-Identifier: Apache-2.0
#include "harness/session/paired/paired_rounds.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/timestamp.hpp"
#include "harness/session/stored/stored_records.hpp"
#include "harness/session/work/worker_requests.hpp"

namespace plumb::session {
namespace {

/// Throws Error{kEnvironment} for a row with a device fault. Neither stack is to blame, so nothing
/// is decided.
void require_sound_device(const results::Measurement& row) {
  const auto fault = row.attributes.find(results::kDeviceFault);
  if (fault != row.attributes.end()) {
    throw Error(
        Error::Kind::kEnvironment,
        fault->second +
            ": the measurements beside it are not reliable; check the device, then measure again");
  }
}

/// Sets one control of both sides of a round. A side that has no time for one has no controls.
void set_control(const results::Controls::Time& control,
                 std::optional<results::Measurement> baseline,
                 std::optional<results::Measurement> candidate,
                 results::PairedRound& round) {
  const bool first = &control == &results::kControlTimes[0];
  const auto set = [&](const std::optional<results::Measurement>& row,
                       Seconds time,
                       results::PairedRound::Side& side) {
    if (!row) {
      side.controls.reset();
    } else if (first || side.controls) {
      side.controls = side.controls.value_or(results::Controls());
      (*side.controls).*control.time = time;
    }
  };
  results::PairedRound::Times times;
  if (baseline && candidate) {
    // Raw times: one control is the harness overhead itself.
    baseline->floor = candidate->floor = Seconds(0.0);
    times = results::pair_times(*baseline, *candidate);
  } else {
    times.baseline = baseline ? baseline->summary.median : Seconds(0.0);
    times.candidate = candidate ? candidate->summary.median : Seconds(0.0);
  }
  set(baseline, times.baseline, round.baseline);
  set(candidate, times.candidate, round.candidate);
}

}  // namespace

/// One side's process in one round.
class PairedRounds::Process {
 public:
  Process(PairedRounds& rounds, SideState& side, results::PairedRound::Side& result)
      : rounds_(rounds), side_(side), result_(result) {}

  [[nodiscard]] const std::string& stack() const { return side_.side.worker.stack.name; }

  void end() {
    if (worker_ && side_.side.before_worker_ends) {
      side_.side.before_worker_ends(worker_->pid());
    }
    worker_.reset();
  }

  /// Prepares a control, which goes on in take_turn() until control() has it.
  void begin_control(const model::LayerKey& key) {
    worker::WorkerService::MeasureRequest request;
    request.key = key;
    begin(std::move(request));
  }

  /// Returns the last control. Empty: it got no time.
  [[nodiscard]] const std::optional<results::Measurement>& control() const { return control_; }

  /// Prepares a layer, which goes on in take_turn() until it is complete.
  void begin(const model::LayerKey& key) {
    worker::WorkerService::MeasureRequest request;
    request.key = key;
    // Many processes measure a layer, so each may be less exact.
    request.sampling =
        measure::SamplingPlan{.warm_up_at_most = Seconds(0.02), .budget = Seconds(0.005)};
    try {
      if (const std::string choice = chosen(worker().variants(key)); !choice.empty()) {
        request.variants = {choice};
      }
    } catch (const worker::WorkerDied&) {
      // The measurement below meets the dead worker too, and makes it the layer's outcome.
    }
    request.verify = side_.verified.insert(key).second;
    begin(std::move(request));
  }

  /// Prepares a model, which goes on in take_turn() until it is complete.
  void begin(const PairedRounds::Work::Model& model) {
    const auto silence = rounds_.row_timeout_ * static_cast<double>(model.request.modes.size());
    worker::ExecuteRequest request = model.request;
    request.in_turns = true;
    request.verify = side_.verified_models.insert(model.subject).second;
    model_ = &model;
    take_turn([&] {
      worker().begin_execution(
          request,
          silence,
          [this](results::Execution execution) { keep(std::move(execution)); },
          [](const worker::ExecuteRequest::Progress&) { return true; });
    });
  }

  /// Goes on with what has begun until its worker awaits the next turn. Does nothing if it is
  /// complete.
  void take_turn(const std::function<void()>& begin = [] {}) {
    if (!measures()) {
      return;
    }
    try {
      begin();
      if (worker().take_turn()) {
        return;
      }
    } catch (const worker::WorkerDied& death) {
      if (key_) {
        lose_layer(death);
      } else {
        lose_model(death);
      }
    }
    if (key_) {
      keep_rows();
    }
    key_.reset();
    model_ = nullptr;
  }

  /// Returns whether a layer or model is not yet complete.
  [[nodiscard]] bool measures() const { return key_ || model_ != nullptr; }

 private:
  worker::WorkerProcess& worker() {
    if (!worker_) {
      worker::WorkerProcess::Options options = side_.side.worker;
      // Both processes of a round: a neighbour of one processor must not meet one side alone.
      options.setup.place = static_cast<std::uint32_t>(rounds_.rounds_);
      options.setup.takes_turns = true;
      worker_ = std::make_unique<worker::WorkerProcess>(options);
    }
    return *worker_;
  }

  void note(const worker::WorkerDied& death, const std::string& what) {
    const bool hung = death.outcome().kind == results::Outcome::Kind::kTimedOut;
    ++(hung ? result_.timeouts : result_.crashes);
    spdlog::warn(
        "worker of {} lost: {}; {}", side_.side.worker.stack.name, death.outcome().reason, what);
    worker_.reset();
  }

  void begin(worker::WorkerService::MeasureRequest request) {
    request.in_turns = true;
    key_ = request.key;
    rows_.clear();
    started_ = current_time();
    take_turn([&] {
      worker().begin_measurement(request, rounds_.row_timeout_, [this](results::Measurement row) {
        add_row(std::move(row));
      });
    });
  }

  void add_row(results::Measurement row) {
    row.process = static_cast<std::int64_t>(rounds_.rounds_);
    rows_.push_back(std::move(row));
  }

  /// Adds a row that says why the layer in progress has no more of them.
  void lose_layer(const worker::WorkerDied& death) {
    note(death, "key=" + key_->text);
    results::Measurement lost;
    lost.key = *key_;
    lost.outcome = death.outcome();
    lost.started = started_;
    add_row(std::move(lost));
  }

  /// Appends the rows in progress to the side's run, and keeps what counts. Throws
  /// Error{kEnvironment} for a device fault.
  void keep_rows() {
    if (!side_.side.run.empty()) {
      rounds_.store_.append(side_.side.run, rows_);
    }
    std::for_each(rows_.begin(), rows_.end(), require_sound_device);
    const auto row = first_timed(rows_);
    if (key_->text.starts_with(results::kControlPrefix)) {
      control_ = row != rows_.end() ? std::optional(*row) : std::nullopt;
    } else if (!rows_.empty()) {
      results::Measurement& kept =
          row != rows_.end() ? rows_[static_cast<std::size_t>(row - rows_.begin())] : rows_.back();
      kept.samples.clear();
      if (!kept.outcome.timed()) {
        side_.verified.erase(*key_);  // so that the next process verifies the output again
      }
      result_.layers.emplace(*key_, std::move(kept));
    }
  }

  void keep(results::Execution execution) {
    execution.row.process = static_cast<std::int64_t>(rounds_.rounds_);
    put(results::kPairedExecutionRecord, model_->subject, to_json(execution));
    require_sound_device(execution.row);
    execution.row.samples.clear();
    std::string mode = execution.mode;
    result_.models.emplace(results::ModelMode{model_->subject, std::move(mode)},
                           std::move(execution));
  }

  /// Gives the model in progress the worker's death as the outcome of each mode that has none.
  void lose_model(const worker::WorkerDied& death) {
    side_.verified_models.erase(model_->subject);
    note(death, "model " + model_->request.name);
    for (const worker::ModeRequest& mode : model_->request.modes) {
      if (!result_.models.contains({model_->subject, to_text(mode.mode)})) {
        results::Execution lost;
        lost.mode = to_text(mode.mode);
        lost.row.key.text = "model:" + model_->request.name;
        lost.row.outcome = death.outcome();
        lost.row.started = current_time();
        keep(std::move(lost));
      }
    }
  }

  void put(const std::string& kind, const std::string& subject, const std::string& payload) {
    if (!side_.side.run.empty()) {
      put_run_record(rounds_.store_, side_.side.run, kind, subject, payload);
    }
  }

  [[nodiscard]] static std::string chosen(const std::vector<worker::Variant>& variants) {
    const auto choice =
        std::find_if(variants.begin(), variants.end(), [](const worker::Variant& variant) {
          return variant.library_choice;
        });
    return choice != variants.end() ? choice->text : "";
  }

  PairedRounds& rounds_;
  SideState& side_;
  results::PairedRound::Side& result_;
  std::unique_ptr<worker::WorkerProcess> worker_;
  std::optional<model::LayerKey> key_;                // of the layer or control in progress
  std::vector<results::Measurement> rows_;            // of that layer
  std::optional<results::Measurement> control_;       // the last one
  Timestamp started_{};                               // when it began
  const PairedRounds::Work::Model* model_ = nullptr;  // in progress, else no key is
};

PairedRounds::PairedRounds(store::Store& store,
                           PairedRounds::Side baseline,
                           PairedRounds::Side candidate,
                           Seconds row_timeout,
                           const std::atomic<bool>& stop)
    : store_(store),
      baseline_{std::move(baseline)},
      candidate_{std::move(candidate)},
      row_timeout_(row_timeout),
      stop_(stop) {
  candidate_.side.worker.pace = baseline_.side.worker.pace;  // they run on one host
}

results::PairedRound PairedRounds::measure(const PairedRounds::Work& work,
                                           const std::function<void(const std::string&)>& report) {
  results::PairedRound round;
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
  const auto in_turns = [&](const auto& begin) {
    each(begin);
    while (baseline.measures() || candidate.measures()) {
      each([](Process& process) { process.take_turn(); });
    }
  };
  const auto measure_all = [&] {
    for (const results::Controls::Time& control : results::kControlTimes) {
      in_turns([&](Process& process) {
        report(process.stack() + ": controls");
        process.begin_control({control.key});
      });
      set_control(control, baseline.control(), candidate.control(), round);
    }
    for (const model::LayerKey& key : work.layers) {
      if (stop_.load()) {
        return false;
      }
      report("layers");
      in_turns([&](Process& process) { process.begin(key); });
    }
    for (const PairedRounds::Work::Model& model : work.models) {
      if (stop_.load()) {
        return false;
      }
      report(model.request.name);
      in_turns([&](Process& process) { process.begin(model); });
    }
    return !stop_.load();
  };
  round.complete = measure_all();
  baseline.end();
  candidate.end();
  return round;
}

namespace {

void keep_open(PairedRounds::Work& work, const analysis::RoundComparison& comparison) {
  std::erase_if(work.layers,
                [&](const model::LayerKey& key) { return !comparison.open_layers.contains(key); });
  // All modes of an open model stay: only modes that are timed in turns can be compared.
  std::erase_if(work.models, [&](const PairedRounds::Work::Model& model) {
    return std::none_of(
        comparison.open_models.begin(),
        comparison.open_models.end(),
        [&](const results::ModelMode& mode) { return mode.first == model.subject; });
  });
}

}  // namespace

PairedRounds::Sequence measure_in_sequence(
    PairedRounds& pairs,
    PairedRounds::Work work,
    const PairedRounds::Sequence::Judge& judge,
    std::optional<Seconds> budget,
    const std::function<void(const ProgressDisplay::Progress&)>& report) {
  const std::vector<std::size_t>& looks = judge.looks;
  const std::size_t wanted = looks.back();
  // Invalid rounds do not count, so more are allowed than the rule wants.
  const std::size_t most = wanted + wanted / 2;
  const Seconds start = steady_time();
  PairedRounds::Sequence result;
  ProgressDisplay::Progress progress;
  progress.unit = "pairs";
  progress.total = wanted;
  while (result.rounds.size() < most) {
    result.rounds.push_back(pairs.measure(work, [&](const std::string& current) {
      progress.current = current;
      progress.elapsed = steady_time() - start;
      report(progress);
    }));
    const std::size_t before = result.comparison.valid;
    result.comparison = judge.compare(result.rounds);
    const std::size_t valid = result.comparison.valid;
    progress.done = valid;
    progress.elapsed = steady_time() - start;
    progress.left = progress.elapsed * (static_cast<double>(wanted - valid) /
                                        static_cast<double>(result.rounds.size()));
    if (valid != before && std::find(looks.begin(), looks.end(), valid) != looks.end()) {
      const analysis::RoundComparison& comparison = result.comparison;
      result.looks.push_back(
          {valid, comparison.open_models.size() + comparison.open_layers.size()});
      if (!comparison.open()) {
        break;
      }
      keep_open(work, comparison);
    }
    result.budget_ended = budget && progress.elapsed >= *budget && valid < wanted;
    if (!result.rounds.back().complete || valid >= wanted || result.budget_ended) {
      break;
    }
  }
  return result;
}

PairedRounds::Sequence measure_in_sequence(
    PairedRounds& pairs,
    PairedRounds::Work work,
    const analysis::SequentialRule& rule,
    const analysis::RoundComparison::Limits& limits,
    std::optional<Seconds> budget,
    const std::function<void(const ProgressDisplay::Progress&)>& report) {
  const PairedRounds::Sequence::Judge judge{rule.looks(),
                                            [&](std::span<const results::PairedRound> rounds) {
                                              return analysis::compare_rounds(rounds, rule, limits);
                                            }};
  return measure_in_sequence(pairs, std::move(work), judge, budget, report);
}

}  // namespace plumb::session
