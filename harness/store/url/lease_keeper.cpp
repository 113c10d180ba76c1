// SPDX-License-Identifier: Apache-2.0
#include "harness/store/url/lease_keeper.hpp"

#include <spdlog/spdlog.h>

#include <exception>
#include <memory>
#include <utility>

#include "harness/store/store.hpp"

namespace plumb::store {

LeaseKeeper::LeaseKeeper(std::string url,
                         results::RunId run,
                         std::int64_t member,
                         std::chrono::milliseconds lease)
    : url_(std::move(url)), run_(std::move(run)), member_(member), lease_(lease), thread_([this] {
        keep();
      }) {}

LeaseKeeper::~LeaseKeeper() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void LeaseKeeper::keep() {
  std::unique_ptr<Store> store;
  bool told = false;
  std::unique_lock lock(mutex_);
  while (!ends_) {
    lock.unlock();
    try {
      if (!store) {
        StoreAccess access;
        access.migrate = false;
        access.patience = lease_;
        store = open_store(url_, access);
      }
      store->shared_work().renew(run_, member_, lease_);
      told = false;
    } catch (const std::exception& error) {
      store.reset();
      if (!std::exchange(told, true)) {
        spdlog::warn("the lease of run {} could not be renewed: {}", run_, error.what());
      }
    }
    lock.lock();
    wake_.wait_for(lock, lease_ / 3, [this] { return ends_; });
  }
}

}  // namespace plumb::store
