// SPDX-License-Identifier: Apache-2.0
#include "harness/worker/protocol/message_field.hpp"
#include "harness/worker/protocol/protocol.pb.h"
#include "harness/worker/protocol/protocol_conversion.hpp"
#include "harness/worker/protocol/reproducer.hpp"

namespace plumb::worker {
namespace {

using results::SampledProfile;

results::SamplingClock read_clock(const std::string& name) {
  const std::optional<results::SamplingClock> clock = results::sampling_clock_from(name);
  if (!clock) {
    fail_field("clock", "not a clock that samples");
  }
  return *clock;
}

const std::string& bounded_text(const char* field, const std::string& text) {
  check_size(field, text.size(), kMaxProfileTextBytes);
  return text;
}

void add_steps(const SampledProfile& profile, protocol::Profile& message) {
  for (const results::ProfiledStep& step : profile.steps) {
    protocol::Profile::Step& one = *message.add_steps();
    one.mutable_layers()->Add(step.layers.begin(), step.layers.end());
    one.set_key(step.key);
    one.set_variant(step.variant);
    one.set_reorder(step.reorder);
  }
}

void read_steps(const protocol::Profile& message, SampledProfile& profile) {
  check_size("steps", static_cast<std::size_t>(message.steps_size()), kMaxProfileSteps);
  for (const protocol::Profile::Step& step : message.steps()) {
    check_size("layers", static_cast<std::size_t>(step.layers_size()), kMaxProfileSteps);
    profile.steps.push_back({{step.layers().begin(), step.layers().end()},
                             step.key(),
                             bounded_text("variant", step.variant()),
                             step.reorder()});
  }
}

void add_blocks(const SampledProfile& profile, protocol::Profile& message) {
  for (const results::ProfiledBlock& block : profile.blocks) {
    protocol::Profile::Block& one = *message.add_blocks();
    one.set_executions(block.executions);
    one.set_sampled_seconds(block.sampled.count());
    one.set_unsampled_seconds(block.unsampled.count());
  }
}

void read_blocks(const protocol::Profile& message, SampledProfile& profile) {
  check_size("blocks", static_cast<std::size_t>(message.blocks_size()), kMaxProfileBlocks);
  for (const protocol::Profile::Block& block : message.blocks()) {
    profile.blocks.push_back({bounded<std::uint32_t>("executions", block.executions(), 1),
                              read_time("sampled_seconds", block.sampled_seconds()),
                              read_time("unsampled_seconds", block.unsampled_seconds())});
  }
}

void add_mappings(const SampledProfile& profile, protocol::Profile& message) {
  for (const results::CodeMapping& mapping : profile.mappings) {
    protocol::Profile::Mapping& one = *message.add_mappings();
    one.set_begin(mapping.begin);
    one.set_end(mapping.end);
    one.set_offset(mapping.offset);
    one.set_path(mapping.path);
    one.set_build_id(mapping.build_id);
  }
}

void read_mappings(const protocol::Profile& message, SampledProfile& profile) {
  check_size("mappings", static_cast<std::size_t>(message.mappings_size()), kMaxCodeMappings);
  std::uint64_t before = 0;
  for (const protocol::Profile::Mapping& mapping : message.mappings()) {
    if (mapping.begin() < before || mapping.end() <= mapping.begin()) {
      fail_field("mappings", "not in the order of their addresses");
    }
    before = mapping.end();
    profile.mappings.push_back({mapping.begin(),
                                mapping.end(),
                                mapping.offset(),
                                bounded_text("path", mapping.path()),
                                bounded_text("build_id", mapping.build_id())});
  }
}

void add_samples(const SampledProfile& profile, protocol::Profile& message) {
  for (const results::AddressSample& sample : profile.samples) {
    message.add_sample_address(sample.address);
    message.add_sample_step(sample.step + 1);  // no step is 0: one byte
    message.add_sample_block(sample.block);
    message.add_sample_thread(sample.thread);
    if (!profile.chains.empty()) {
      message.add_sample_chain(sample.chain + 1);
    }
  }
}

void add_chains(const SampledProfile& profile, protocol::Profile& message) {
  for (const results::CallChain& chain : profile.chains) {
    message.add_chains()->mutable_address()->Add(chain.begin(), chain.end());
  }
}

void read_chains(const protocol::Profile& message, SampledProfile& profile) {
  check_size("chains", static_cast<std::size_t>(message.chains_size()), kMaxCallChains);
  for (const protocol::Profile::Chain& chain : message.chains()) {
    check_size("address", static_cast<std::size_t>(chain.address_size()), kMaxCallDepth);
    profile.chains.emplace_back(chain.address().begin(), chain.address().end());
  }
}

void read_samples(const protocol::Profile& message, SampledProfile& profile) {
  const int count = message.sample_address_size();
  check_size("sample_address", static_cast<std::size_t>(count), kMaxProfileSamples);
  if (message.sample_step_size() != count || message.sample_block_size() != count ||
      message.sample_thread_size() != count ||
      message.sample_chain_size() != (profile.chains.empty() ? 0 : count)) {
    fail_field("sample_step", "not as long as the list of addresses");
  }
  for (int i = 0; i < count; ++i) {
    const results::AddressSample sample{
        message.sample_address(i),
        message.sample_step(i) - 1,
        message.sample_block(i),
        message.sample_thread(i),
        profile.chains.empty() ? results::kNoChain : message.sample_chain(i) - 1};
    if ((sample.step != results::kNoStep && sample.step >= profile.steps.size()) ||
        sample.block >= profile.blocks.size() || sample.thread >= profile.threads ||
        (sample.chain != results::kNoChain && sample.chain >= profile.chains.size())) {
      fail_field("sample_step", "of a step, block, thread or chain that the profile has not");
    }
    profile.samples.push_back(sample);
  }
}

}  // namespace

protocol::ProfileRequest to_protocol(const ProfileRequest& request) {
  protocol::ProfileRequest message;
  *message.mutable_model() = to_protocol(request.model);
  message.set_folder(request.folder.string());
  message.set_rate(request.rate);
  message.set_budget_seconds(request.budget.count());
  if (request.within) {
    message.set_within_seconds(request.within->count());
  }
  if (request.clock) {
    message.set_clock(std::string(results::to_text(*request.clock)));
  }
  message.set_chains(request.chains);
  return message;
}

ProfileRequest from_protocol(const protocol::ProfileRequest& message) {
  ProfileRequest request;
  request.model = from_protocol(message.model());
  if (request.model.modes.size() != 1) {
    fail_field("modes", "not one mode: a profile is of one");
  }
  request.folder = message.folder();
  if (!request.folder.is_absolute()) {
    fail_field("folder", "not an absolute path");
  }
  request.rate = bounded("rate", message.rate(), kMinSamplingRate, kMaxSamplingRate);
  request.budget =
      Seconds(bounded("budget_seconds", message.budget_seconds(), 0.0, kMaxProfileBudget.count()));
  if (message.has_within_seconds()) {
    request.within = Seconds(
        bounded("within_seconds", message.within_seconds(), 0.0, kMaxProfileBudget.count()));
  }
  if (message.has_clock()) {
    request.clock = read_clock(message.clock());
  }
  request.chains = message.chains();
  return request;
}

protocol::Profile to_protocol(const Profile& profile) {
  const SampledProfile& samples = profile.samples;
  protocol::Profile message;
  message.set_clock(std::string(results::to_text(samples.clock)));
  message.set_refused(samples.refused);
  message.set_asked_rate(samples.asked_rate);
  message.set_rate(samples.rate);
  message.set_threads(samples.threads);
  message.set_lost(samples.lost);
  add_steps(samples, message);
  add_blocks(samples, message);
  add_mappings(samples, message);
  add_chains(samples, message);
  add_samples(samples, message);
  message.set_exact(samples.exact);
  for (const std::string& file : profile.code_files) {
    message.add_code_files(file);
  }
  return message;
}

Profile from_protocol(const protocol::Profile& message) {
  constexpr double kMaxRate = 1e9;
  Profile profile;
  SampledProfile& samples = profile.samples;
  samples.clock = read_clock(message.clock());
  samples.refused = bounded_text("refused", message.refused());
  samples.asked_rate = bounded("asked_rate", message.asked_rate(), 0.0, kMaxRate);
  samples.rate = bounded("rate", message.rate(), 0.0, kMaxRate);
  samples.threads = message.threads();
  samples.lost = message.lost();
  read_steps(message, samples);
  read_blocks(message, samples);
  read_mappings(message, samples);
  read_chains(message, samples);
  read_samples(message, samples);
  samples.exact = message.exact();
  check_size("code_files", static_cast<std::size_t>(message.code_files_size()), kMaxCodeFiles);
  for (const std::string& file : message.code_files()) {
    if (!is_plain_file_name(file)) {
      fail_field("code_files", "not the name of a file in the profile's folder");
    }
    profile.code_files.push_back(file);
  }
  return profile;
}

}  // namespace plumb::worker
