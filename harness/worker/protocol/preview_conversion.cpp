// SPDX-License-Identifier: Apache-2.0
#include "harness/worker/protocol/message_field.hpp"
#include "harness/worker/protocol/protocol.pb.h"
#include "harness/worker/protocol/protocol_conversion.hpp"

namespace plumb::worker {
namespace {

constexpr std::size_t kMaximumDevice = std::size_t{64} << 10;
constexpr std::size_t kMaximumOffers = 16;
constexpr std::size_t kMaximumRankings = 16;
constexpr std::size_t kMaximumConfigurations = 10'000;
constexpr std::size_t kMaximumNotes = 256;

protocol::EngineConfiguration message_of(const results::EngineConfiguration& configuration) {
  protocol::EngineConfiguration message;
  message.set_engine(configuration.engine);
  message.mutable_knobs()->insert(configuration.knobs.begin(), configuration.knobs.end());
  for (const std::string& note : configuration.numerical_notes) {
    message.add_numerical_notes(note);
  }
  for (const std::string& note : configuration.behaviour_notes) {
    message.add_behaviour_notes(note);
  }
  if (configuration.workspace) {
    message.set_workspace_bytes(configuration.workspace->value);
  }
  if (configuration.shared_memory) {
    message.set_shared_memory_bytes(configuration.shared_memory->value);
  }
  message.set_plan_digest(configuration.plan_digest);
  message.set_refusal(configuration.refusal);
  return message;
}

results::EngineConfiguration value_of(const protocol::EngineConfiguration& message) {
  results::EngineConfiguration configuration;
  configuration.engine = message.engine();
  check_size("knobs", static_cast<std::size_t>(message.knobs_size()), kMaximumNotes);
  configuration.knobs.insert(message.knobs().begin(), message.knobs().end());
  check_size(
      "numerical_notes", static_cast<std::size_t>(message.numerical_notes_size()), kMaximumNotes);
  configuration.numerical_notes.assign(message.numerical_notes().begin(),
                                       message.numerical_notes().end());
  check_size(
      "behaviour_notes", static_cast<std::size_t>(message.behaviour_notes_size()), kMaximumNotes);
  configuration.behaviour_notes.assign(message.behaviour_notes().begin(),
                                       message.behaviour_notes().end());
  if (message.has_workspace_bytes()) {
    configuration.workspace = Bytes{not_negative("workspace_bytes", message.workspace_bytes())};
  }
  if (message.has_shared_memory_bytes()) {
    configuration.shared_memory =
        Bytes{not_negative("shared_memory_bytes", message.shared_memory_bytes())};
  }
  configuration.plan_digest = message.plan_digest();
  configuration.refusal = message.refusal();
  return configuration;
}

protocol::EngineOffer message_of(const results::EngineOffer& offer) {
  protocol::EngineOffer message;
  message.set_layout(offer.layout);
  if (offer.engines) {
    message.set_engines(*offer.engines);
  }
  for (const results::EngineRanking& ranking : offer.rankings) {
    protocol::EngineRanking& one = *message.add_rankings();
    one.set_heuristic(ranking.heuristic);
    one.set_refusal(ranking.refusal);
    for (const results::EngineConfiguration& configuration : ranking.configurations) {
      *one.add_configurations() = message_of(configuration);
    }
  }
  message.set_refusal(offer.refusal);
  return message;
}

results::EngineOffer value_of(const protocol::EngineOffer& message) {
  results::EngineOffer offer;
  offer.layout = message.layout();
  if (message.has_engines()) {
    offer.engines = not_negative("engines", message.engines());
  }
  check_size("rankings", static_cast<std::size_t>(message.rankings_size()), kMaximumRankings);
  for (const protocol::EngineRanking& one : message.rankings()) {
    results::EngineRanking& ranking = offer.rankings.emplace_back();
    ranking.heuristic = one.heuristic();
    ranking.refusal = one.refusal();
    check_size("configurations",
               static_cast<std::size_t>(one.configurations_size()),
               kMaximumConfigurations);
    for (const protocol::EngineConfiguration& configuration : one.configurations()) {
      ranking.configurations.push_back(value_of(configuration));
    }
  }
  offer.refusal = message.refusal();
  return offer;
}

}  // namespace

protocol::PreviewRequest to_protocol(const PreviewRequest& request) {
  protocol::PreviewRequest message;
  *message.mutable_key() = to_protocol(request.key);
  message.set_device(request.device);
  return message;
}

PreviewRequest from_protocol(const protocol::PreviewRequest& message) {
  check_size("device", message.device().size(), kMaximumDevice);
  return {from_protocol(message.key()), message.device()};
}

protocol::EngineChoices to_protocol(const results::EngineChoices& choices) {
  protocol::EngineChoices message;
  *message.mutable_key() = to_protocol(choices.key);
  *message.mutable_outcome() = to_protocol(choices.outcome);
  for (const results::EngineOffer& offer : choices.offers) {
    *message.add_offers() = message_of(offer);
  }
  return message;
}

results::EngineChoices from_protocol(const protocol::EngineChoices& message) {
  results::EngineChoices choices;
  choices.key = from_protocol(message.key());
  choices.outcome = from_protocol(message.outcome());
  check_size("offers", static_cast<std::size_t>(message.offers_size()), kMaximumOffers);
  for (const protocol::EngineOffer& offer : message.offers()) {
    choices.offers.push_back(value_of(offer));
  }
  return choices;
}

}  // namespace plumb::worker
