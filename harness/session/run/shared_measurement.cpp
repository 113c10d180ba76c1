// SPDX-License-Identifier: Apache-2.0
#include "harness/session/run/shared_measurement.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <map>
#include <memory>
#include <thread>
#include <utility>

#include "harness/session/run/suite_run.hpp"
#include "harness/session/work/work_items.hpp"
#include "harness/store/store.hpp"
#include "harness/store/store_errors.hpp"

namespace plumb::session {
namespace {

constexpr std::chrono::milliseconds kPause{250};
constexpr std::chrono::minutes kMaxOutage{15};

}  // namespace

/// Returns what `ask` answers. Waits while the server is away. Throws Store::ServerAway if that
/// lasts too long, or the user stopped the run.
template <typename Ask>
auto SharedMeasurement::ClaimedWork::ask(Ask&& ask) {
  const auto start = std::chrono::steady_clock::now();
  while (true) {
    try {
      return ask(store_.shared_work());
    } catch (const store::Store::ServerAway&) {
      if (stopped_() || std::chrono::steady_clock::now() - start > kMaxOutage) {
        throw;
      }
      wait();
    }
  }
}

std::optional<WorkSource::Item> SharedMeasurement::ClaimedWork::next() {
  while (!stopped_()) {
    const auto claim = ask([&](store::SharedWork& work) { return work.claim(run_, kLayers); });
    std::string key;
    if (claim) {
      key = claim->item;
    } else {
      // A claim whose answer was lost with the server.
      const std::vector<std::string> mine = claims(kLayers);
      const auto lost = std::find_if(mine.begin(), mine.end(), [&](const std::string& item) {
        return !known_.contains(item);
      });
      if (lost == mine.end()) {
        return std::nullopt;
      }
      key = *lost;
    }
    known_.insert(key);
    if (auto item = wanted(key, claim && claim->fence == 1)) {
      return item;
    }
    left_.insert(key);
  }
  return std::nullopt;
}

std::optional<WorkSource::Item> SharedMeasurement::ClaimedWork::wanted(const std::string& key,
                                                                       bool fresh) {
  const auto found = std::find_if(items_.begin(), items_.end(), [&](const WorkSource::Item& item) {
    return item.key.text == key;
  });
  if (found == items_.end()) {
    return std::nullopt;
  }
  if (fresh) {
    return *found;
  }
  spdlog::info("another process left a layer unfinished; key={}", key);
  const std::vector<WorkSource::Item> open = without_measured({*found}, store_.measurements(run_));
  return open.empty() ? std::nullopt : std::optional(open.front());
}

void SharedMeasurement::ClaimedWork::offer(SharedMeasurement::Stage stage,
                                           const std::vector<std::string>& items) {
  ask([&](store::SharedWork& work) { work.offer(run_, stage, items); });
}

std::optional<std::string> SharedMeasurement::ClaimedWork::claim(SharedMeasurement::Stage stage) {
  if (stopped_()) {
    return std::nullopt;
  }
  auto claim = ask([&](store::SharedWork& work) { return work.claim(run_, stage); });
  return claim ? std::optional(std::move(claim->item)) : std::nullopt;
}

std::vector<std::string> SharedMeasurement::ClaimedWork::claims(SharedMeasurement::Stage stage) {
  std::vector<std::string> items;
  for (store::SharedWork::Claim& claim :
       ask([&](store::SharedWork& work) { return work.claims(run_, stage); })) {
    items.push_back(std::move(claim.item));
  }
  return items;
}

void SharedMeasurement::ClaimedWork::note(const std::vector<std::string>& items,
                                          store::SharedWork::Progress progress) {
  ask([&](store::SharedWork& work) { work.note(run_, items, progress); });
}

std::map<int, store::SharedWork::Count> SharedMeasurement::ClaimedWork::count() {
  return ask([&](store::SharedWork& work) { return work.count(run_); });
}

void SharedMeasurement::ClaimedWork::wait() const {
  std::this_thread::sleep_for(kPause);
}

SharedMeasurement::SharedMeasurement(const SessionContext& context,
                                     const SuiteRun::Options& options,
                                     const suite::ResolvedSuite& suite,
                                     std::span<const PlannedModel> models,
                                     const RunSession& session,
                                     Executor& executor,
                                     const std::function<bool()>& stopped,
                                     std::vector<WorkSource::Item> items)
    : context_(context),
      options_(options),
      suite_(suite),
      models_(models),
      session_(session),
      executor_(executor),
      stopped_(stopped),
      items_(std::move(items)),
      work_(context.store, session.id(), stopped),
      runs_(context, executor, session.id(), suite, models, {}, options.wanted) {}

bool SharedMeasurement::measure(Executor::Summary& all, const LoadRunner& run_loads) {
  work_.set_items(without_measured(items_, context_.store.measurements(session_.id())));
  while (measure_layers(all) && execute_models(run_loads)) {
    if (is_done()) {
      return true;
    }
    work_.wait();
  }
  return false;
}

void SharedMeasurement::prepare() {
  while (!stopped_() && work_.count()[kPreparation].done == 0) {
    if (!work_.claim(kPreparation) && work_.claims(kPreparation).empty()) {
      work_.wait();
      continue;
    }
    const std::vector<WorkSource::Item> items =
        reuse_rows(context_.store,
                   session_,
                   suite_,
                   without_measured(items_, context_.store.measurements(session_.id())));
    calibrate_run(context_.store, session_, suite_.reuse, executor_);
    std::vector<std::string> names;
    for (const WorkSource::Item& item : items) {
      names.push_back(item.key.text);
    }
    work_.offer(kLayers, names);
    names.clear();
    for (const PlannedModel& model : models_) {
      if (options_.models || options_.loads) {
        names.push_back(store::model_item(analysis::subject_of(model.instance)));
      }
    }
    work_.offer(kModels, names);
    work_.note({kPreparationItem}, store::SharedWork::Progress::kDone);
  }
}

bool SharedMeasurement::measure_layers(Executor::Summary& all) {
  std::set<std::string> left;
  while (!stopped_()) {
    std::vector<WorkSource::Confirmation> unconfirmed;
    const bool taken_over = !left.empty();
    if (taken_over) {
      unconfirmed = unconfirmed_of(left, 1);
    }
    ProgressDisplay::Stage stage(context_.progress);
    const Executor::Summary summary = executor_.execute(
        session_.id(), work_, std::move(unconfirmed), [&](const ProgressDisplay::Progress& each) {
          stage.show(each);
        });
    all.measured += summary.measured;
    all.crashes += summary.crashes;
    all.timeouts += summary.timeouts;
    if (summary.state != results::RunState::kFinished || stopped_()) {
      return false;
    }
    left = work_.take_left();
    if (!left.empty()) {
      continue;
    }
    if (summary.measured > 0 || taken_over) {
      work_.note(work_.claims(kLayers), store::SharedWork::Progress::kMeasured);
    }
    if (work_.count()[kLayers].open == 0) {
      return true;
    }
    work_.wait();
  }
  return false;
}

bool SharedMeasurement::execute_models(const LoadRunner& run_loads) {
  while (const std::optional<std::string> item = work_.claim(kModels)) {
    runs_.choose(executed(indices_of({*item})));
    if (options_.models && !runs_.execute(1, stopped_)) {
      return false;
    }
    work_.note({*item}, store::SharedWork::Progress::kMeasured);
  }
  const std::vector<std::string> keys = work_.claims(kLayers);
  const std::vector<std::string> names = work_.claims(kModels);
  measured_last_ = !keys.empty() || !names.empty();
  if (!measured_last_) {
    return !stopped_();
  }
  const std::vector<std::size_t> mine = indices_of(names);
  runs_.choose(executed(mine));
  for (std::size_t process = 1; process <= options_.processes; ++process) {
    if (options_.layers && process > 1) {
      std::vector<WorkSource::Confirmation> again =
          unconfirmed_of({keys.begin(), keys.end()}, process);
      shuffle_for(session_.id(), process, again);
      ProgressDisplay::Stage stage(context_.progress);
      if (!executor_.repeat(
              session_.id(), again, stopped_, [&](const ProgressDisplay::Progress& each) {
                stage.show(each);
              })) {
        return false;
      }
    }
    if (options_.models && !runs_.execute(process, stopped_)) {
      return false;
    }
  }
  if (stopped_() || !run_loads(mine)) {
    return false;
  }
  work_.note(keys, store::SharedWork::Progress::kDone);
  work_.note(names, store::SharedWork::Progress::kDone);
  return true;
}

bool SharedMeasurement::is_done() {
  const std::map<int, store::SharedWork::Count> counts = work_.count();
  return std::all_of(counts.begin(), counts.end(), [](const auto& stage) {
    return stage.second.done == stage.second.total();
  });
}

std::vector<WorkSource::Confirmation> SharedMeasurement::unconfirmed_of(
    const std::set<std::string>& keys, std::size_t processes) const {
  std::vector<WorkSource::Confirmation> unconfirmed =
      unconfirmed_keys(context_.store, session_.id(), processes);
  std::erase_if(unconfirmed, [&](const WorkSource::Confirmation& each) {
    return !keys.contains(each.key.text);
  });
  return unconfirmed;
}

std::vector<std::size_t> SharedMeasurement::indices_of(
    const std::vector<std::string>& items) const {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < models_.size(); ++i) {
    const std::string item = store::model_item(analysis::subject_of(models_[i].instance));
    if (std::find(items.begin(), items.end(), item) != items.end()) {
      indices.push_back(i);
    }
  }
  return indices;
}

std::vector<std::size_t> SharedMeasurement::executed(std::vector<std::size_t> indices) const {
  const std::vector<std::size_t> all = models_of_shard(models_, {});
  std::erase_if(indices, [&](std::size_t index) {
    return std::find(all.begin(), all.end(), index) == all.end();
  });
  return indices;
}

SharedMeasurement::LeaseKeeper::LeaseKeeper(std::string url,
                                            results::RunId run,
                                            std::int64_t member,
                                            std::chrono::milliseconds lease)
    : url_(std::move(url)), run_(std::move(run)), member_(member), lease_(lease), thread_([this] {
        keep();
      }) {}

SharedMeasurement::LeaseKeeper::~LeaseKeeper() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void SharedMeasurement::LeaseKeeper::keep() {
  std::unique_ptr<store::Store> connection;
  bool told = false;
  std::unique_lock lock(mutex_);
  while (!ends_) {
    lock.unlock();
    try {
      if (!connection) {
        store::Store::Access access;
        access.migrate = false;
        access.patience = lease_;
        connection = store::open_store(url_, access);
      }
      connection->shared_work().renew(run_, member_, lease_);
      told = false;
    } catch (const std::exception& error) {
      connection.reset();
      if (!std::exchange(told, true)) {
        spdlog::warn("the lease of run {} could not be renewed: {}", run_, error.what());
      }
    }
    lock.lock();
    wake_.wait_for(lock, lease_ / 3, [this] { return ends_; });
  }
}

}  // namespace plumb::session
