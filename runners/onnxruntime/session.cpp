// SPDX-License-Identifier: Apache-2.0
#include "runners/onnxruntime/session.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <istream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "harness/base/encoding.hpp"
#include "harness/base/error.hpp"
#include "runners/onnxruntime/nodes/node_writer.hpp"

namespace plumb::onnxruntime {
namespace {

constexpr std::string_view kKernelEnd = "_kernel_time";
constexpr const char* kCpuProvider = "CPUExecutionProvider";
constexpr std::size_t kMaxNames = 20;
constexpr std::size_t kMaxName = 100;  // bytes

/// Node of an optimised model that was executed.
struct ExecutedNode {
  std::string name;
  std::string operation;
  std::string provider;
};

std::string short_name(const std::string& name) {
  return in_utf8(name.substr(0, kMaxName));
}

/// Lists the executed nodes in the order of their first execution. Index and name tell them apart.
std::vector<ExecutedNode> list_nodes(const nlohmann::json& events) {
  std::vector<ExecutedNode> nodes;
  std::set<std::string> keys;
  for (const nlohmann::json& event : events.is_array() ? events : nlohmann::json::array()) {
    if (!event.is_object() || event.value("cat", "") != "Node" || !event.contains("args") ||
        !event["args"].is_object()) {
      continue;
    }
    std::string name = event.value("name", "");
    if (!name.ends_with(kKernelEnd)) {
      continue;
    }
    name.resize(name.size() - kKernelEnd.size());
    const nlohmann::json& arguments = event["args"];
    if (keys.insert(arguments.value("node_index", "") + " " + name).second) {
      nodes.push_back({short_name(name),
                       short_name(arguments.value("op_name", "?")),
                       arguments.value("provider", "?")});
    }
  }
  return nodes;
}

/// Writes names with their numbers: "Conv:53,Relu:49", the most frequent first.
std::string counted(const std::map<std::string, int>& counts) {
  std::vector<std::pair<std::string, int>> order(counts.begin(), counts.end());
  std::stable_sort(
      order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [name, count] : order) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", name, count);
  }
  return text;
}

/// Names the nodes on the CPU, with their operators. The first ones stand for very many.
std::string names_on_cpu(const std::vector<ExecutedNode>& nodes) {
  std::string text;
  std::size_t count = 0;
  for (const ExecutedNode& node : nodes) {
    if (node.provider == kCpuProvider && ++count <= kMaxNames) {
      text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", node.name, node.operation);
    }
  }
  return count > kMaxNames ? text + fmt::format(", and {} more", count - kMaxNames) : text;
}

}  // namespace

results::Attributes read_session_profile(std::istream& profile, bool elsewhere) {
  const nlohmann::json events = nlohmann::json::parse(profile, nullptr, false);
  const std::vector<ExecutedNode> nodes = list_nodes(events);
  if (nodes.empty()) {
    return {};
  }
  std::map<std::string, int> operators;
  std::map<std::string, int> providers;
  for (const ExecutedNode& node : nodes) {
    ++operators[node.operation];
    ++providers[node.provider];
  }
  results::Attributes attributes{{"nodes", std::to_string(nodes.size())},
                                 {"operators", counted(operators)},
                                 {"providers", counted(providers)}};
  if (elsewhere && providers.contains(kCpuProvider)) {
    attributes[results::kCpuNodes] = names_on_cpu(nodes);
  }
  return attributes;
}

namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargestProfile = std::uintmax_t{64} << 20;

constexpr std::array kLevels{std::pair{Session::Optimization::kOff, "off"},
                             std::pair{Session::Optimization::kBasic, "basic"},
                             std::pair{Session::Optimization::kExtended, "extended"},
                             std::pair{Session::Optimization::kAll, "all"}};

/// Makes a folder for a profile. Empty if that is not possible: a session does without.
fs::path make_profile_folder() {
  std::error_code error;
  std::string name = (fs::temp_directory_path(error) / "plumb-onnxruntime-XXXXXX").string();
  return error || ::mkdtemp(name.data()) == nullptr ? fs::path() : fs::path(name);
}

/// Reads a profile, unless it is too large to be read whole.
results::Attributes read_profile(const fs::path& file, bool elsewhere) {
  std::error_code error;
  if (fs::file_size(file, error) > kLargestProfile || error) {
    return {};
  }
  std::ifstream stream(file);
  return read_session_profile(stream, elsewhere);
}

/// Returns a provider's name without its end and in small letters, by which both ways to write it
/// are one: "TensorRT" and "TensorrtExecutionProvider".
std::string plain_provider_name(std::string name) {
  constexpr std::string_view kEnd = "executionprovider";
  for (char& letter : name) {
    letter = letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  }
  return name.ends_with(kEnd) ? name.substr(0, name.size() - kEnd.size()) : name;
}

/// Appends a provider that has a type of options of its own, with its default options.
template <typename Create, typename Append, typename ReleaseOptions, typename ProviderOptions>
void append_nvidia_provider(const Library& library, OrtSessionOptions* session) {
  const auto options = library.make<Create, ReleaseOptions, ProviderOptions>();
  library.call<Append>(session, options.get());
}

/// Appends a provider before the CPU's. That of CUDA follows TensorRT's, which leaves nodes to it.
/// Throws Error{kEnvironment} that names a provider which the library lacks, and those it has.
void append_provider(const Library& library,
                     const std::string& provider,
                     OrtSessionOptions* session) {
  const std::vector<std::string> there = library.providers();
  const auto has = [&](const std::string& name) {
    return std::any_of(there.begin(), there.end(), [&](const std::string& each) {
      return plain_provider_name(each) == name;
    });
  };
  const std::string name = plain_provider_name(provider);
  if (!has(name)) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("ONNX Runtime {} has no execution provider '{}', but {}: use a library "
                            "that was built with it",
                            library.version(),
                            provider,
                            fmt::join(there, " and ")));
  }
  if (name == "tensorrt") {
    append_nvidia_provider<api::CreateTensorRtProviderOptions,
                           api::AppendTensorRtProvider,
                           api::ReleaseTensorRtProviderOptions,
                           OrtTensorRTProviderOptionsV2>(library, session);
  }
  if (name == "cuda" || (name == "tensorrt" && has("cuda"))) {
    append_nvidia_provider<api::CreateCudaProviderOptions,
                           api::AppendCudaProvider,
                           api::ReleaseCudaProviderOptions,
                           OrtCUDAProviderOptionsV2>(library, session);
  } else if (name != "tensorrt") {
    library.call<api::SessionOptionsAppendExecutionProvider>(
        session, provider.c_str(), nullptr, nullptr, std::size_t{0});
  }
}

}  // namespace

std::string to_text(Session::Optimization level) {
  const auto* const row = std::find_if(
      kLevels.begin(), kLevels.end(), [&](const auto& each) { return each.first == level; });
  PLUMB_CHECK(row != kLevels.end());
  return row->second;
}

std::optional<Session::Optimization> parse_optimization(std::string_view text) {
  const auto* const row = std::find_if(
      kLevels.begin(), kLevels.end(), [&](const auto& each) { return each.second == text; });
  return row == kLevels.end() ? std::nullopt : std::optional(row->first);
}

SessionProgram::Tensor::Tensor(const Library& library, const model::TensorType& type)
    : value_(library.make<api::CreateTensorAsOrtValue, api::ReleaseValue, OrtValue>(
          library.allocator(), type.dims.data(), type.dims.size(), onnx_type(type.dtype))) {
  void* data = nullptr;
  library.call<api::GetTensorMutableData>(value_.get(), &data);
  bytes_ = {static_cast<std::byte*>(data), static_cast<std::size_t>(model::byte_size(type).value)};
  std::fill(bytes_.begin(), bytes_.end(), std::byte{0});
}

Owned<OrtSessionOptions> make_options(const Library& library, const Session::Settings& settings) {
  auto options =
      library.make<api::CreateSessionOptions, api::ReleaseSessionOptions, OrtSessionOptions>();
  library.call<api::SetSessionGraphOptimizationLevel>(options.get(),
                                                      static_cast<int>(settings.optimization));
  if (settings.parallel) {
    library.call<api::SetSessionExecutionMode>(options.get(), api::kParallelExecution);
  }
  if (settings.threads) {
    library.call<api::SetIntraOpNumThreads>(options.get(), *settings.threads);
    library.call<api::SetInterOpNumThreads>(options.get(), *settings.threads);
  } else {
    library.call<api::DisablePerSessionThreads>(options.get());
  }
  if (!settings.traces.empty()) {
    library.call<api::EnableProfiling>(options.get(), (settings.traces / "onnxruntime").c_str());
  }
  if (!settings.provider.empty()) {
    append_provider(library, settings.provider, options.get());
  }
  return options;
}

Session::Session(const Library& library,
                 const std::string& model,
                 const Session::Settings& settings)
    : library_(library),
      log_(library.logs()),
      elsewhere_(!settings.provider.empty()),
      folder_(settings.profile ? make_profile_folder() : fs::path()) {
  const Owned<OrtSessionOptions> options = make_options(library, settings);
  library.call<api::SetSessionLogId>(options.get(), log_.id().c_str());
  if (!folder_.empty()) {
    library.call<api::EnableProfiling>(options.get(), (folder_ / "profile").c_str());
  }
  const auto begin = std::chrono::steady_clock::now();
  session_ = library.make<api::CreateSessionFromArray, api::ReleaseSession, OrtSession>(
      library.environment(), model.data(), model.size(), options.get());
  creation_ = std::chrono::steady_clock::now() - begin;
}

Session::~Session() {
  session_.reset();  // it may still write its profile
  if (!folder_.empty()) {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
}

fs::path Session::end_trace() {
  char* name = nullptr;
  library_.call<api::SessionEndProfiling>(session_.get(), library_.allocator(), &name);
  fs::path file = name;
  library_.call<api::AllocatorFree>(library_.allocator(), name);
  return file;
}

results::Attributes Session::end_profile() {
  if (folder_.empty()) {
    return {};
  }
  const fs::path file = end_trace();
  results::Attributes attributes = read_profile(file, elsewhere_);
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
  folder_.clear();
  return attributes;
}

namespace {

constexpr std::uint64_t kWarmUp = 2;  // executions of a trace before those asked for

/// Writes memory again as it is, a cache line at a time.
void write_again(std::span<std::byte> bytes) {
  constexpr std::size_t kLine = 64;
  for (std::size_t i = 0; i < bytes.size(); i += kLine) {
    volatile std::byte* const place = &bytes[i];
    *place = *place;
  }
}

}  // namespace

SessionProgram::SessionProgram(const Library& library,
                               OnnxModel model,
                               const Session::Settings& settings,
                               std::shared_ptr<Session> session)
    : library_(library),
      model_(std::move(model)),
      settings_(settings),
      session_(std::move(session)),
      run_(library.find<api::RunWithBinding>()) {}

worker::Program::Facts SessionProgram::facts() const {
  worker::Program::Facts facts;
  facts.implementation = "optimization=" + to_text(settings_.optimization);
  facts.weight_bytes = model_.weight_bytes();
  if (!slots_.empty()) {
    facts.creation = creation_;
  }
  for (const auto* const values : {&model_.operands, &model_.outputs}) {
    for (const OnnxModel::Value& value : *values) {
      if (!value.name.empty() && !value.type.constant) {
        facts.activation_bytes += model::byte_size(value.type);
      }
    }
  }
  return facts;
}

std::shared_ptr<SessionProgram::Activations> SessionProgram::make_activations(
    std::span<const model::Tensor> operands) const {
  auto activations = std::make_shared<Activations>();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const OnnxModel::Value& operand = model_.operands[i];
    activations->inputs.emplace_back();
    if (!operand.name.empty() && !operand.type.constant) {
      activations->inputs.back() = std::make_unique<Tensor>(library_, operand.type);
      const std::span<std::byte> place = activations->inputs.back()->bytes();
      PLUMB_CHECK(place.size() == operands[i].data.size());
      std::copy(operands[i].data.begin(), operands[i].data.end(), place.begin());
    }
  }
  for (const OnnxModel::Value& output : model_.outputs) {
    activations->outputs.emplace_back(library_, output.type);
  }
  return activations;
}

SessionProgram::Slot SessionProgram::make_slot(std::shared_ptr<Session> session,
                                               std::shared_ptr<Activations> activations) const {
  Slot slot{std::move(activations), std::move(session), {}};
  slot.binding = library_.make<api::CreateIoBinding, api::ReleaseIoBinding, OrtIoBinding>(
      slot.session->handle());
  for (std::size_t i = 0; i < slot.activations->inputs.size(); ++i) {
    if (slot.activations->inputs[i]) {
      library_.call<api::BindInput>(slot.binding.get(),
                                    model_.operands[i].name.c_str(),
                                    slot.activations->inputs[i]->value());
    }
  }
  for (std::size_t i = 0; i < model_.outputs.size(); ++i) {
    library_.call<api::BindOutput>(
        slot.binding.get(), model_.outputs[i].name.c_str(), slot.activations->outputs[i].value());
  }
  return slot;
}

void SessionProgram::bind(std::size_t slot,
                          std::span<const model::Tensor> operands,
                          bool shared_activations) {
  PLUMB_CHECK(slot <= slots_.size() && operands.size() == model_.operands.size());
  const bool first = slots_.empty();
  std::shared_ptr<Session> session;
  if (session_) {
    session = session_;
  } else if (!first && model_.weight_bytes().value == 0) {
    session = slots_.front().session;
  } else {
    Session::Settings settings = settings_;
    settings.profile = settings.profile && first;
    session = std::make_shared<Session>(library_, model_.with_weights(operands), settings);
  }
  if (first) {
    creation_ = session->creation();
  }
  std::shared_ptr<Activations> activations =
      shared_activations && slot > 0 ? slots_.front().activations : make_activations(operands);
  Slot made = make_slot(std::move(session), std::move(activations));
  if (slot == slots_.size()) {
    slots_.push_back(std::move(made));
  } else {
    slots_[slot] = std::move(made);
  }
}

void SessionProgram::refresh_activations(std::size_t slot) {
  const Activations& activations = *slots_[slot].activations;
  for (const Tensor& output : activations.outputs) {
    write_again(output.bytes());
  }
  for (const std::unique_ptr<Tensor>& input : activations.inputs) {
    if (input) {
      write_again(input->bytes());
    }
  }
}

void SessionProgram::enqueue(std::size_t slot) {
  const Slot& bound = slots_[slot];
  OrtStatus* const status = run_(bound.session->handle(), nullptr, bound.binding.get());
  if (status != nullptr) {
    library_.find<api::ReleaseStatus>()(std::exchange(failure_, status));
  }
}

void SessionProgram::synchronize() {
  library_.check(std::exchange(failure_, nullptr));
}

std::vector<model::Tensor> SessionProgram::outputs(std::size_t slot) {
  const Slot& bound = slots_[slot];
  // The first execution was profiled. Nothing has been timed before its outputs are looked at.
  if (results::Attributes nodes = bound.session->end_profile(); !nodes.empty()) {
    nodes_ = std::move(nodes);
  }
  std::vector<model::Tensor> result;
  for (std::size_t i = 0; i < model_.outputs.size(); ++i) {
    const std::span<const std::byte> bytes = bound.activations->outputs[i].bytes();
    result.push_back({model_.outputs[i].type, {bytes.begin(), bytes.end()}});
  }
  return result;
}

std::span<std::byte> SessionProgram::input_bytes(std::size_t slot, std::size_t operand) {
  const Activations& activations = *slots_[slot].activations;
  return operand < activations.inputs.size() && activations.inputs[operand]
             ? activations.inputs[operand]->bytes()
             : std::span<std::byte>();
}

std::span<const std::byte> SessionProgram::output_bytes(std::size_t slot, std::size_t output) {
  return slots_[slot].activations->outputs.at(output).bytes();
}

std::vector<worker::Trace::File> SessionProgram::trace(std::size_t slot,
                                                       std::span<const model::Tensor> operands,
                                                       const std::filesystem::path& folder,
                                                       std::uint64_t executions,
                                                       const std::vector<std::string>& steps) {
  static_cast<void>(steps);
  Session::Settings settings = settings_;
  settings.profile = false;
  settings.traces = folder;
  const Slot traced =
      make_slot(std::make_shared<Session>(library_, model_.with_weights(operands), settings),
                slots_.at(slot).activations);
  for (std::uint64_t execution = 0; execution < executions + kWarmUp; ++execution) {
    library_.check(run_(traced.session->handle(), nullptr, traced.binding.get()));
  }
  return {{"onnxruntime", traced.session->end_trace().filename().string()}};
}

worker::Program::Observation SessionProgram::collect_counters(std::size_t slot, Seconds budget) {
  static_cast<void>(budget);
  worker::Program::Observation seen{nodes_, {}};
  std::string log = slot < slots_.size() ? slots_[slot].session->log() : std::string();
  if (!log.empty()) {
    seen.attributes[results::kSessionLog] = std::move(log);
  }
  return seen;
}

}  // namespace plumb::onnxruntime
