// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "harness/base/encoding.hpp"
#include "harness/base/error.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/shared_options.hpp"
#include "harness/measure/disturbance.hpp"
#include "harness/measure/processor.hpp"
#include "harness/measure/sampler.hpp"
#include "harness/session/host/host.hpp"
#include "harness/session/study/paired_studies.hpp"
#include "harness/session/work/suite_models.hpp"
#include "harness/store/store.hpp"
#include "harness/terminal/terminal.hpp"
#include "reporting/content/comparison/change_documents.hpp"
#include "reporting/content/run/documents.hpp"

namespace plumb::cli {
namespace {

/// Result of one check by the doctor.
struct Finding {
  enum class Verdict { kGood, kNote, kNotQuiet, kMissing };
  Verdict verdict = Verdict::kGood;
  std::string what;
  std::string value;
  std::string advice;  ///< what to do; empty for kGood
};

std::string_view to_text(Finding::Verdict verdict) {
  switch (verdict) {
    case Finding::Verdict::kGood:
      return "ok";
    case Finding::Verdict::kNote:
      return "note";
    case Finding::Verdict::kNotQuiet:
      return "not quiet";
    case Finding::Verdict::kMissing:
      return "missing";
  }
  return "";
}

/// Runs a check. If it throws, something is missing, and the error's text is the advice.
Finding check(const std::string& what, const std::function<Finding()>& look) {
  try {
    Finding finding = look();
    finding.what = what;
    return finding;
  } catch (const std::exception& error) {
    return {Finding::Verdict::kMissing, what, "failed", error.what()};
  }
}

Finding look_at_cpu(const results::Environment& system) {
  return {Finding::Verdict::kGood,
          "",
          fmt::format("{}, {} CPUs, {}, virtualisation: {}",
                      system.identity.at("cpu.model"),
                      system.identity.at("cpu.count"),
                      system.identity.at("memory"),
                      system.identity.at("virtualisation")),
          ""};
}

Finding look_at_clocks(const results::Environment& system) {
  const std::string& governor = system.facts.at("governor");
  Finding finding{
      Finding::Verdict::kGood,
      "",
      fmt::format("governor {}, now {} MHz", governor, system.facts.at("frequency.mhz_now")),
      ""};
  if (governor == "unknown") {
    finding.verdict = Finding::Verdict::kNote;
    finding.advice =
        "the system does not show its clocks (usual in a virtual machine): trust ratios of one run "
        "more than times of two";
  } else if (governor != "performance") {
    finding.verdict = Finding::Verdict::kNote;
    finding.advice = "set the governor to performance: cpupower frequency-set -g performance";
  }
  return finding;
}

Finding look_at_timer() {
  const measure::TimerFacts timer = measure::measure_timer(measure::steady_clock());
  Finding finding{Finding::Verdict::kGood,
                  "",
                  fmt::format("tick {:.0f} ns, reading it {:.0f} ns",
                              timer.tick.count() * 1e9,
                              timer.read.count() * 1e9),
                  ""};
  if (timer.read > Seconds(1e-6)) {
    finding.verdict = Finding::Verdict::kNote;
    finding.advice =
        "the clock is slow to read (no TSC clock source?): short layers get larger batches";
  }
  return finding;
}

Finding look_at_quiet() {
  const measure::Disturbance::Reading begin = measure::read_disturbance();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const measure::Disturbance seen =
      measure::disturbance_between(begin, measure::read_disturbance());
  const auto percent = [](std::optional<double> ratio) {
    return ratio ? fmt::format("{:.1f} %", *ratio * 100) : std::string("unknown");
  };
  Finding finding{Finding::Verdict::kGood,
                  "",
                  fmt::format("load {:.2f}, stolen {}, tasks waiting for a CPU {}",
                              seen.load.value_or(0.0),
                              percent(seen.steal_ratio),
                              percent(seen.pressure_ratio)),
                  ""};
  const bool loaded = seen.load.value_or(0.0) >
                      0.5 * static_cast<double>(std::max(1U, std::thread::hardware_concurrency()));
  if (seen.disturbed || loaded) {
    finding.verdict = Finding::Verdict::kNotQuiet;
    finding.advice =
        "stop other work on this machine, or wait: disturbed blocks are repeated, then marked";
  }
  return finding;
}

Finding look_at_cores() {
  const unsigned count = std::thread::hardware_concurrency();
  if (count < 2) {
    return {Finding::Verdict::kGood, "", "one CPU", ""};
  }
  const double efficiency = measure::measure_parallel_efficiency(2);
  Finding finding{
      Finding::Verdict::kGood,
      "",
      fmt::format("two threads reach {:.0f} % of twice the rate of one", efficiency * 100),
      ""};
  if (efficiency < 0.8) {
    finding.verdict = Finding::Verdict::kNote;
    finding.advice = "use --threads 1: two threads do not get two full cores on this machine";
  }
  return finding;
}

Finding look_at_worker() {
  worker::WorkerProcess worker(session::worker_options({}));
  const results::Environment environment = worker.describe();
  std::string text;
  for (const auto& [name, value] : environment.identity) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, value);
  }
  return {Finding::Verdict::kGood, "", text, ""};
}

Finding look_at_store(const std::string& url) {
  const auto store = store::open_store(url);
  return {Finding::Verdict::kGood,
          "",
          fmt::format("{}, schema {}, {} runs", url, store->schema_version(), store->runs().size()),
          ""};
}

Finding look_at_space() {
  const std::filesystem::path folder = session::data_folder();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const std::filesystem::space_info space = std::filesystem::space(folder, error);
  const double gib =
      error ? 0.0 : static_cast<double>(space.available) / (1024.0 * 1024.0 * 1024.0);
  Finding finding{
      Finding::Verdict::kGood, "", fmt::format("{:.1f} GiB free in {}", gib, folder.string()), ""};
  if (gib < 0.5) {
    finding.verdict = Finding::Verdict::kNote;
    finding.advice = "little space is left for results: free some, or set XDG_DATA_HOME or --store";
  }
  return finding;
}

void print_text(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    std::cout << fmt::format("{:<9}  {:<10}  {}\n",
                             to_text(finding.verdict),
                             finding.what,
                             terminal::message_line(finding.value));
    if (!finding.advice.empty()) {
      std::cout << fmt::format(
          "{:<9}  {:<10}  → {}\n", "", "", terminal::message_line(finding.advice));
    }
  }
}

void print_json(const std::vector<Finding>& findings, bool fit) {
  nlohmann::json rows = nlohmann::json::array();
  for (const Finding& finding : findings) {
    rows.push_back({{"check", finding.what},
                    {"verdict", to_text(finding.verdict)},
                    {"value", finding.value},
                    {"advice", finding.advice}});
  }
  std::cout << json_text(nlohmann::json{{"schema_version", 1}, {"fit", fit}, {"checks", rows}}, 2)
            << '\n';
}

void examine(CommandContext& context) {
  const results::Environment system = session::read_system();
  const std::vector<Finding> findings{
      check("machine", [&] { return look_at_cpu(system); }),
      check("clocks", [&] { return look_at_clocks(system); }),
      check("timer", look_at_timer),
      check("cache",
            [] {
              const std::optional<Bytes> cache = measure::read_last_level_cache();
              return Finding{
                  Finding::Verdict::kGood,
                  "",
                  fmt::format("last level {} MiB{}",
                              cache.value_or(measure::kAssumedLastLevelCache).value >> 20,
                              cache ? "" : " (assumed)"),
                  ""};
            }),
      check("quiet", look_at_quiet),
      check("cores", look_at_cores),
      check("worker", look_at_worker),
      check("store", [&] { return look_at_store(context.store_url()); }),
      check("space", look_at_space),
  };
  const auto any = [&](Finding::Verdict verdict) {
    return std::any_of(
        findings.begin(), findings.end(), [&](const Finding& f) { return f.verdict == verdict; });
  };
  if (any(Finding::Verdict::kMissing)) {
    context.exit_status = static_cast<int>(Error::Kind::kEnvironment);
  } else if (any(Finding::Verdict::kNotQuiet)) {
    context.exit_status = static_cast<int>(Error::Kind::kTryAgain);
  }
  if (context.json) {
    print_json(findings, context.exit_status == 0);
    return;
  }
  print_text(findings);
  std::cout << (context.exit_status == 0    ? "this machine is fit to measure\n"
                : context.exit_status == 75 ? "this machine is not quiet now\n"
                                            : "something is missing\n");
}

}  // namespace

void add_doctor(CLI::App& app, CommandContext& context) {
  CLI::App* const doctor = app.add_subcommand(
      "doctor", "is this machine fit to measure? what is missing, and how to get it");
  doctor->callback([&context] { examine(context); });
}

void add_env(CLI::App& app, CommandContext& context) {
  struct EnvOptions {
    session::WorkerChoice worker;
    bool explain = false;
  };
  const auto options = std::make_shared<EnvOptions>();
  CLI::App* const env =
      app.add_subcommand("env", "what identifies a series here, and what is only recorded");
  add_stack_option(*env, options->worker.stack);
  add_worker_options(*env, options->worker);
  env->add_flag("--explain", options->explain, "say what each part is for");
  env->callback([&context, options] {
    const session::WorkerChoice& choice = options->worker;
    worker::WorkerProcess worker(session::worker_options(choice));
    reporting::write_environment(
        session::join_environment(
            session::read_system(), worker.describe(), choice.threads, choice.stack),
        context.output_mode(),
        options->explain,
        std::cout);
  });
}

namespace {

void calibrate(CommandContext& context,
               const std::string& name,
               session::PairedSession::Options options,
               const analysis::NoiseReport::Study::Plan& plan) {
  options.command = {"plumb",
                     "calibrate",
                     name,
                     "--stack",
                     options.worker.stack,
                     "--pairs",
                     std::to_string(options.pairs)};
  suite::ResolvedSuite suite =
      session::resolve_suite(context.models, suite::read_suite(session::find_suite(name)));
  const std::vector<session::PlannedModel> models = session::prepare_models(context.models, suite);
  const auto store = store::open_store(context.store_url(), CommandContext::for_runs());
  const analysis::NoiseReport report =
      session::study_noise(context.session(*store), suite, models, options, plan);
  reporting::write_noise(report, context.output_mode(), std::cout);
}

}  // namespace

void add_calibrate(CLI::App& app, CommandContext& context) {
  const auto suite = std::make_shared<std::string>();
  const auto paired = std::make_shared<session::PairedSession::Options>();
  const auto plan = std::make_shared<analysis::NoiseReport::Study::Plan>();
  CLI::App* const command = app.add_subcommand(
      "calibrate", "measure a stack against itself: noise, false alarms, power, floors");
  command->add_option("SUITE", *suite, "a path or an installed name")->required();
  add_stack_option(*command, paired->worker.stack);
  command->add_option("--pairs", paired->pairs, "pairs of restarted processes")
      ->check(CLI::Range(analysis::kMinCalibrationPairs, std::size_t{500}))
      ->capture_default_str();
  add_duration_option(
      *command, "--budget", paired->budget, "no pair starts after this time, such as 30m");
  command
      ->add_option_function<std::string>(
          "--only",
          [paired](const std::string&) { paired->modes.clear(); },
          "layers: do not measure models end to end")
      ->check(CLI::IsMember({"layers"}));
  command->add_option("--comparisons", plan->comparisons, "number of pseudo comparisons to draw")
      ->check(CLI::Range(100, 100'000))
      ->capture_default_str();
  add_worker_options(*command, paired->worker);
  add_row_timeout(*command, paired->row_timeout);
  command->callback(
      [&context, suite, paired, plan] { calibrate(context, *suite, *paired, *plan); });
}

}  // namespace plumb::cli
