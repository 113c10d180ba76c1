// SPDX-License-Identifier: Apache-2.0
#include "harness/session/mlperf/mlperf_system.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "harness/session/mlperf/mlperf_logs.hpp"

namespace plumb::session {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kNotRecorded = "not recorded";
constexpr const char* kNone = "N/A";  // of a system without an accelerator

/// Returns the value of a name, or "not recorded".
std::string find_fact(const results::Facts& facts, const std::string& name) {
  const auto found = facts.find(name);
  const bool known = found != facts.end() && !found->second.empty() && found->second != "unknown";
  return known ? found->second : kNotRecorded;
}

/// Returns the facts of a list that are known, as "name value" joined by ", ".
std::string joined_facts(const results::Facts& facts, std::initializer_list<const char*> names) {
  std::vector<std::string> known;
  for (const char* name : names) {
    const std::string value = find_fact(facts, name);
    if (value != kNotRecorded) {
      known.push_back(fmt::format("{} {}", name, value));
    }
  }
  return known.empty() ? kNotRecorded : fmt::format("{}", fmt::join(known, ", "));
}

std::string memory_of_device(const results::Facts& identity) {
  const double bytes = std::atof(find_fact(identity, "gpu.memory").c_str());
  return bytes > 0.0 ? fmt::format("{:.0f} GiB", bytes / static_cast<double>(1 << 30))
                     : kNotRecorded;
}

void add_host(Json& system, const results::Environment& environment) {
  const results::Facts& identity = environment.identity;
  const results::Facts& facts = environment.facts;
  system["number_of_nodes"] = "1";
  system["host_processor_model_name"] = find_fact(identity, "cpu.model");
  system["host_processors_per_node"] = "1";
  system["host_processor_core_count"] = find_fact(identity, "cpu.count");
  system["host_processor_frequency"] =
      joined_facts(facts, {"frequency.max_khz", "frequency.mhz_now"});
  system["host_processor_caches"] = joined_facts(facts, {"cache.l1d", "cache.l2", "cache.l3"});
  system["host_processor_interconnect"] = kNotRecorded;
  system["host_memory_capacity"] = find_fact(identity, "memory");
  system["host_memory_configuration"] = kNotRecorded;
  system["host_storage_capacity"] = kNotRecorded;
  system["host_storage_type"] = kNotRecorded;
  system["host_networking"] = kNotRecorded;
  system["host_network_card_count"] = kNotRecorded;
  system["host_networking_topology"] = kNotRecorded;
}

void add_accelerator(Json& system, const results::Environment& environment) {
  const bool device = environment.identity.count("gpu") == 1;
  const std::string unknown = device ? kNotRecorded : kNone;
  // Texts: the checker takes the number 0 for an empty field.
  system["accelerators_per_node"] = device ? "1" : "0";
  system["accelerator_model_name"] = device ? environment.identity.at("gpu") : kNone;
  system["accelerator_memory_capacity"] = device ? memory_of_device(environment.identity) : kNone;
  for (const char* field : {"accelerator_frequency",
                            "accelerator_host_interconnect",
                            "accelerator_interconnect",
                            "accelerator_interconnect_topology",
                            "accelerator_memory_configuration",
                            "accelerator_on-chip_memories"}) {
    system[field] = unknown;
  }
}

Json describe_system(const results::Environment& environment,
                     const std::string& system,
                     const std::string& submitter) {
  const results::Facts& identity = environment.identity;
  const results::Facts& facts = environment.facts;
  Json description{{"division", "open"},
                   {"submitter", submitter},
                   {"status", "available"},
                   {"system_name", system},
                   {"system_type", "edge"},
                   {"system_type_detail", find_fact(identity, "virtualisation")}};
  add_host(description, environment);
  add_accelerator(description, environment);
  description["cooling"] = kNotRecorded;
  description["framework"] = find_fact(identity, "library");
  description["operating_system"] = find_fact(facts, "kernel");
  description["other_software_stack"] =
      joined_facts(facts, {"plumb.version", "plumb.commit", "plumb.compiler", "library.version"});
  description["hw_notes"] = fmt::format("{} threads; virtualisation: {}; microcode {}; governor {}",
                                        find_fact(identity, "threads"),
                                        find_fact(identity, "virtualisation"),
                                        find_fact(facts, "microcode"),
                                        find_fact(facts, "governor"));
  description["sw_notes"] =
      fmt::format("measured by Plumbline, not by LoadGen; environment {}", environment.id());
  return description;
}

/// Returns the fields of a description that somebody may have filled in. Empty: there is none.
Json existing_description(const std::filesystem::path& file) {
  std::ifstream in(file);
  Json existing = in ? Json::parse(in, nullptr, false) : Json::object();
  return existing.is_object() ? existing : Json::object();
}

}  // namespace

std::string mlperf_system_name(const results::Environment& environment,
                               const std::string& stack,
                               const std::string& mode) {
  const results::Facts& identity = environment.identity;
  const std::string model = find_fact(identity, "cpu.model");
  std::string name =
      fmt::format("{}-{}cpu", model.substr(0, model.find(',')), find_fact(identity, "cpu.count"));
  if (identity.count("gpu") == 1) {
    name += "-" + identity.at("gpu");
  }
  name += fmt::format(
      "-{}-{}-{}thread", find_fact(identity, "backend"), stack, find_fact(identity, "threads"));
  return folder_name(mode == "plain" ? name : name + "-" + mode);
}

void write_mlperf_system(const std::filesystem::path& file,
                         const results::Environment& environment,
                         const std::string& system,
                         const std::string& submitter) {
  Json description = describe_system(environment, system, submitter);
  const Json existing = existing_description(file);
  for (const auto& [field, value] : existing.items()) {
    if (!description.contains(field) || description.at(field) == kNotRecorded) {
      description[field] = value;
    }
  }
  make_folder(file.parent_path());
  write_text_file(file, description.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace plumb::session
