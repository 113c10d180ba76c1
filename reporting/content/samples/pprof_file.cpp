// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <zlib.h>

#include <cmath>
#include <map>
#include <ostream>
#include <string>

#include "harness/analysis/profile/profile_summary.hpp"
#include "harness/base/error.hpp"
#include "reporting/content/samples/pprof.pb.h"
#include "reporting/content/samples/profile_files.hpp"
#include "reporting/content/samples/profile_frames.hpp"
#include "reporting/document/sanitized_text.hpp"

namespace plumb::reporting {
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
    for (const results::ProfiledStack& stack : list_stacks(profile_)) {
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
    for (const results::ProfiledBlock& block : profile_.blocks) {
      sampled += block.sampled;
    }
    message_.set_duration_nanos(std::llround(sampled.count() * 1e9));
    message_.add_comment(
        text(fmt::format("{}, mode {}, on {}", profile_.model, profile_.mode, profile_.stack)));
  }

  void add_sample(const results::ProfiledStack& stack) {
    pprof::Sample& sample = *message_.add_sample();
    for (auto function = stack.functions.rbegin(); function != stack.functions.rend(); ++function) {
      const results::ProfiledFunction& called = profile_.functions.at(*function);
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
