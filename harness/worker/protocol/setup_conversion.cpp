// SPDX-License-Identifier: Apache-2.0
#include "harness/worker/protocol/message_field.hpp"
#include "harness/worker/protocol/metric_names.hpp"
#include "harness/worker/protocol/protocol.pb.h"
#include "harness/worker/protocol/protocol_conversion.hpp"

namespace plumb::worker {
namespace {

constexpr std::size_t kMaximumLibraries = 1000;
constexpr std::uint32_t kMaximumThreads = 1U << 16;

}  // namespace

protocol::WorkerSetup to_protocol(const WorkerSetup& setup) {
  protocol::WorkerSetup message;
  for (const std::filesystem::path& library : setup.libraries) {
    message.add_libraries(library.string());
  }
  message.set_threads(static_cast<std::uint32_t>(setup.threads));
  message.set_observe_kernels(setup.observe.kernels);
  if (setup.place) {
    message.set_place(*setup.place);
  }
  if (!setup.device.empty()) {
    message.set_device(setup.device);
  }
  if (setup.takes_turns) {
    message.set_takes_turns(true);
  }
  if (setup.observe.metrics) {
    protocol::MetricNames& names = *message.mutable_observe_metrics();
    for (const std::string& name : *setup.observe.metrics) {
      names.add_name(name);
    }
  }
  return message;
}

WorkerSetup from_protocol(const protocol::WorkerSetup& message) {
  check_size("libraries", static_cast<std::size_t>(message.libraries_size()), kMaximumLibraries);
  WorkerSetup setup;
  setup.libraries.assign(message.libraries().begin(), message.libraries().end());
  setup.threads =
      static_cast<int>(bounded<std::uint32_t>("threads", message.threads(), 1, kMaximumThreads));
  setup.observe.kernels = message.observe_kernels();
  if (message.has_observe_metrics()) {
    const auto& names = message.observe_metrics().name();
    check_size("metrics", static_cast<std::size_t>(names.size()), kMaxMetrics);
    setup.observe.metrics.emplace(names.begin(), names.end());
  }
  if (message.has_place()) {
    setup.place = message.place();
  }
  check_size("device", message.device().size(), kMaxDeviceName);
  setup.device = message.device();
  setup.takes_turns = message.takes_turns();
  return setup;
}

}  // namespace plumb::worker
