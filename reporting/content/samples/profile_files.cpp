// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/samples/profile_files.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "harness/analysis/profile/profile_shares.hpp"
#include "harness/base/encoding.hpp"
#include "harness/base/error.hpp"
#include "reporting/content/samples/pprof.pb.h"
#include "reporting/document/texts.hpp"

namespace plumb::reporting {
namespace {

/// Returns a name as part of a folded stack, whose parts end at semicolons and its lines at ends of
/// lines.
std::string folded_name(const std::string& name) {
  std::string text = sanitize_utf8(name);
  std::replace(text.begin(), text.end(), ';', ',');
  return text;
}

/// Returns a name as a field of `perf script`, which ends at a space or a parenthesis.
std::string script_name(const std::string& name) {
  std::string text = sanitize_utf8(name);
  std::replace_if(
      text.begin(),
      text.end(),
      [](char letter) { return letter == ' ' || letter == '(' || letter == ')'; },
      '_');
  return text;
}

/// Lists the frames of each thread by itself.
std::map<std::uint32_t, std::vector<ProfileFrame>> list_thread_frames(
    const results::NamedProfile& profile) {
  std::map<std::uint32_t, std::vector<results::NamedProfile::Stack>> stacks;
  for (results::NamedProfile::Stack& stack : list_stacks(profile)) {
    stacks[stack.thread].push_back(std::move(stack));
  }
  std::map<std::uint32_t, std::vector<ProfileFrame>> threads;
  results::NamedProfile part = profile;
  for (auto& [thread, of_thread] : stacks) {
    part.stacks = std::move(of_thread);
    threads[thread] = list_frames(part);
  }
  if (threads.empty()) {
    threads[0] = list_frames(profile);
  }
  return threads;
}

}  // namespace

void write_folded_stacks(const results::NamedProfile& profile, std::ostream& out) {
  for (const results::NamedProfile::Stack& stack : list_stacks(profile)) {
    out << folded_name(profile.model) << ';'
        << folded_name(analysis::step_name(profile, stack.step));
    for (const std::uint32_t function : stack.functions) {
      out << ';' << folded_name(analysis::name_of(profile.functions.at(function)));
    }
    out << ' ' << stack.samples << '\n';
  }
}

void write_perf_script(const results::NamedProfile& profile, std::ostream& out) {
  constexpr double kMicroseconds = 1e6;
  const double period = profile.asked_rate > 0.0 ? 1.0 / profile.asked_rate : 0.0;
  std::uint64_t number = 0;
  for (const results::NamedProfile::Stack& stack : list_stacks(profile)) {
    std::string frames;
    for (auto function = stack.functions.rbegin(); function != stack.functions.rend(); ++function) {
      const results::NamedProfile::CodeNames::Function& called = profile.functions.at(*function);
      frames += fmt::format("\t{:16x} {} ({})\n",
                            0,
                            script_name(analysis::name_of(called)),
                            script_name(called.image));
    }
    frames += fmt::format(
        "\t{:16x} {} (step)\n\n", 0, script_name(analysis::step_name(profile, stack.step)));
    for (std::uint64_t i = 0; i < stack.samples; ++i) {
      const auto time =
          static_cast<std::uint64_t>(static_cast<double>(number++) * period * kMicroseconds);
      out << fmt::format("plumb     1/{:<5} [000] {}.{:06}: {:10.0f} {}:u:\n",
                         stack.thread + 1,
                         time / 1'000'000,
                         time % 1'000'000,
                         period * 1e9,
                         results::to_text(profile.clock))
          << frames;
    }
  }
}

void write_event_trace(const results::NamedProfile& profile, std::ostream& out) {
  const std::map<std::uint32_t, std::vector<ProfileFrame>> threads = list_thread_frames(profile);
  std::uint64_t most = 0;  // of a thread, which is taken to be busy all the time
  for (const auto& [thread, frames] : threads) {
    most = std::max(most, frames.front().samples);
  }
  const double scale = most > 0 ? analysis::summarize_profile(profile).execution.count() * 1e6 /
                                      static_cast<double>(most)
                                : 0.0;
  nlohmann::json events = nlohmann::json::array();
  events.push_back({{"name", "process_name"},
                    {"ph", "M"},
                    {"pid", 1},
                    {"args", {{"name", "mean execution, from samples"}}}});
  for (const auto& [thread, frames] : threads) {
    for (const ProfileFrame& frame : frames) {
      events.push_back(
          {{"name", sanitize_utf8(frame.name)},
           {"ph", "X"},
           {"pid", 1},
           {"tid", thread + 1},
           {"ts", static_cast<double>(frame.first) * scale},
           {"dur", static_cast<double>(frame.samples) * scale},
           {"args", {{"samples", frame.samples}, {"image", sanitize_utf8(frame.image)}}}});
    }
  }
  out << nlohmann::json{{"traceEvents", std::move(events)}, {"displayTimeUnit", "ns"}}.dump()
      << '\n';
}

namespace {

constexpr double kWidth = 1200.0;
constexpr double kRowHeight = 20.0;
constexpr double kLetterWidth = 6.6;  // of the font below

/// Returns as much of a name as fits, on whole characters of UTF-8.
std::string fitting(const std::string& name, double width) {
  const auto most = static_cast<std::size_t>(std::max(0.0, width / kLetterWidth - 1.0));
  if (name.size() <= most) {
    return name;
  }
  constexpr std::size_t kShortest = 3;
  if (most < kShortest) {
    return {};
  }
  return name.substr(0, whole_characters(name, most - 1)) + "…";
}

void write_frame(const ProfileFrame& frame, std::uint64_t whole, std::ostream& out) {
  const double scale = kWidth / static_cast<double>(whole);
  const double width = static_cast<double>(frame.samples) * scale;
  const double x = static_cast<double>(frame.first) * scale;
  const double y = static_cast<double>(frame.depth) * kRowHeight;
  const std::string name = sanitize_utf8(frame.name);
  out << fmt::format(R"(<g><title>{}: {} samples, {:.2f} %</title>)",
                     escape_xml(name),
                     frame.samples,
                     100.0 * static_cast<double>(frame.samples) / static_cast<double>(whole))
      << fmt::format(R"(<rect x="{:.2f}" y="{:.0f}" width="{:.2f}" height="{:.0f}" fill="{}"/>)",
                     x,
                     y,
                     width,
                     kRowHeight - 1.0,
                     frame_color(frame));
  const std::string label = fitting(name, width);
  if (!label.empty()) {
    out << fmt::format(R"(<text x="{:.2f}" y="{:.0f}">{}</text>)",
                       x + 3.0,
                       y + kRowHeight - 6.0,
                       escape_xml(label));
  }
  out << "</g>\n";
}

}  // namespace

void write_flame_graph(const results::NamedProfile& profile, std::ostream& out) {
  const std::vector<ProfileFrame> frames = list_visible_frames(profile);
  std::size_t deepest = 0;
  for (const ProfileFrame& frame : frames) {
    deepest = std::max(deepest, frame.depth);
  }
  out << fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0:.0f} {1:.0f}" width="{0:.0f}" )"
      R"(height="{1:.0f}" font-family="monospace" font-size="11">)"
      "\n",
      kWidth,
      static_cast<double>(deepest + 1) * kRowHeight);
  for (const ProfileFrame& frame : frames) {
    write_frame(frame, frames.front().samples, out);
  }
  out << "</svg>\n";
}

namespace {

constexpr const char* kStepImage = "step";

/// Returns bytes compressed with gzip.
std::string gzip(const std::string& bytes) {
  constexpr int kGzipWindow = 15 + 16;  // zlib's largest window, in gzip's format
  constexpr int kMemory = 8;            // zlib's default
  z_stream stream{};
  if (::deflateInit2(
          &stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, kMemory, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    throw Error(Error::Kind::kInternal, "the profile cannot be compressed; please report this");
  }
  std::string compressed(::deflateBound(&stream, bytes.size()), '\0');
  std::string input = bytes;  // zlib's interface does not promise to leave it alone
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(compressed.data());
  stream.avail_out = static_cast<uInt>(compressed.size());
  const int result = ::deflate(&stream, Z_FINISH);
  compressed.resize(stream.total_out);
  ::deflateEnd(&stream);
  if (result != Z_STREAM_END) {
    throw Error(Error::Kind::kInternal, "the profile cannot be compressed; please report this");
  }
  return compressed;
}

/// Writer of a profile's tables, in which each entry is once.
class PprofProfile {
 public:
  explicit PprofProfile(const results::NamedProfile& profile) : profile_(profile) { text(""); }

  [[nodiscard]] std::string bytes() {
    add_head();
    for (const results::NamedProfile::Stack& stack : list_stacks(profile_)) {
      add_sample(stack);
    }
    return message_.SerializeAsString();
  }

 private:
  /// Returns the time that a sample stands for.
  [[nodiscard]] std::int64_t period() const {
    return profile_.asked_rate > 0.0 ? std::llround(1e9 / profile_.asked_rate) : 0;
  }

  void set_type(pprof::ValueType& value, const std::string& type, const std::string& unit) {
    value.set_type(text(type));
    value.set_unit(text(unit));
  }

  void add_head() {
    set_type(*message_.add_sample_type(), "samples", "count");
    set_type(*message_.add_sample_type(), "cpu", "nanoseconds");
    set_type(*message_.mutable_period_type(), "cpu", "nanoseconds");
    message_.set_period(period());
    message_.set_default_sample_type(text("cpu"));
    Seconds sampled{};
    for (const results::SampledProfile::Block& block : profile_.blocks) {
      sampled += block.sampled;
    }
    message_.set_duration_nanos(std::llround(sampled.count() * 1e9));
    message_.add_comment(
        text(fmt::format("{}, mode {}, on {}", profile_.model, profile_.mode, profile_.stack)));
  }

  void add_sample(const results::NamedProfile::Stack& stack) {
    pprof::Sample& sample = *message_.add_sample();
    for (auto function = stack.functions.rbegin(); function != stack.functions.rend(); ++function) {
      const results::NamedProfile::CodeNames::Function& called = profile_.functions.at(*function);
      sample.add_location_id(location(analysis::name_of(called), called.image));
    }
    const std::string step = analysis::step_name(profile_, stack.step);
    sample.add_location_id(location(step, kStepImage));
    sample.add_value(static_cast<std::int64_t>(stack.samples));
    sample.add_value(static_cast<std::int64_t>(stack.samples) * period());
    add_label("step", step, sample);
    if (profile_.threads > 1 && !profile_.stacks.empty()) {
      add_label("thread", std::to_string(stack.thread), sample);
    }
  }

  void add_label(const std::string& key, const std::string& value, pprof::Sample& sample) {
    pprof::Label& label = *sample.add_label();
    label.set_key(text(key));
    label.set_str(text(value));
  }

  /// Returns the number of a text in the table.
  std::int64_t text(const std::string& words) {
    const auto [place, added] = texts_.try_emplace(sanitize_utf8(words), texts_.size());
    if (added) {
      message_.add_string_table(place->first);
    }
    return static_cast<std::int64_t>(place->second);
  }

  std::uint64_t mapping(const std::string& image) {
    const auto [place, added] = mappings_.try_emplace(image, mappings_.size() + 1);
    if (added) {
      pprof::Mapping& mapping = *message_.add_mapping();
      mapping.set_id(place->second);
      mapping.set_filename(text(image));
      mapping.set_has_functions(true);
    }
    return place->second;
  }

  std::uint64_t location(const std::string& name, const std::string& image) {
    const auto [place, added] = locations_.try_emplace({name, image}, locations_.size() + 1);
    if (added) {
      pprof::Function& function = *message_.add_function();
      function.set_id(place->second);
      function.set_name(text(name));
      function.set_system_name(text(name));
      pprof::Location& location = *message_.add_location();
      location.set_id(place->second);
      location.set_mapping_id(mapping(image));
      location.add_line()->set_function_id(place->second);
    }
    return place->second;
  }

  const results::NamedProfile& profile_;
  pprof::Profile message_;
  std::map<std::string, std::size_t> texts_;
  std::map<std::string, std::uint64_t> mappings_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> locations_;
};

}  // namespace

void write_pprof(const results::NamedProfile& profile, std::ostream& out) {
  out << gzip(PprofProfile(profile).bytes());
}

}  // namespace plumb::reporting
