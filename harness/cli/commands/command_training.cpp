// SPDX-License-Identifier: Apache-2.0
// Arithmetic of training: over given numbers, a model's graph, or the layers of a measured step.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <memory>

#include "harness/analysis/training/training_costs.hpp"
#include "harness/base/error.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/shared_options.hpp"
#include "harness/rewrite/gradient/checkpointed_graph.hpp"
#include "harness/rewrite/gradient/training_step.hpp"
#include "harness/session/stored/run_analysis.hpp"
#include "harness/session/work/session_context.hpp"
#include "reporting/content/run/training_documents.hpp"

namespace plumb::cli {
namespace {

constexpr std::int64_t kMaxBatch = std::int64_t{1} << 20;
constexpr std::size_t kBestBatches = 10;

struct TrainingOptions {
  std::int64_t samples = 0;
  std::vector<std::int64_t> batches;
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t multiple = 1;
  std::string file;
  analysis::Packing::Limits limits;
  std::int64_t batch = 1;
  std::string model;
  std::string optimizer = "sgd";
  std::uint64_t memory = 0;
  std::string run = "@latest";
  std::vector<std::string> models;
  double rate = 0.0;
  double latency = 0.0;
  std::uint64_t bucket = std::uint64_t{25} << 20;
  std::size_t epochs = 1;
  double evaluation = 0.0;
};

void count_last_batches(const CommandContext& context, const TrainingOptions& options) {
  std::vector<analysis::LastBatch> found;
  for (const std::int64_t batch : options.batches) {
    found.push_back(analysis::last_batch(options.samples, batch));
  }
  if (options.to > 0) {
    for (const analysis::LastBatch& each : analysis::least_wasteful_batches(
             options.samples, options.from, options.to, options.multiple, kBestBatches)) {
      found.push_back(each);
    }
  }
  if (found.empty()) {
    throw Error(Error::Kind::kUser, "no batch to look at: give --batch, or --from and --to");
  }
  reporting::write_last_batches(found, context.output_mode(), std::cout);
}

void pack(const CommandContext& context, const TrainingOptions& options) {
  std::ifstream file(options.file);
  if (!file) {
    throw Error(Error::Kind::kUser, fmt::format("'{}' cannot be read", options.file));
  }
  const analysis::LengthHistogram lengths = analysis::read_lengths(file, options.file);
  std::vector<analysis::Packing> packings;
  for (const analysis::Packing::Packer packer : {analysis::Packing::Packer::kNone,
                                                 analysis::Packing::Packer::kWorstFit,
                                                 analysis::Packing::Packer::kBestFit}) {
    packings.push_back(analysis::pack_sequences(lengths, options.limits, packer));
  }
  reporting::write_packings(packings,
                            analysis::count_graphs(lengths, options.limits, options.batch),
                            context.output_mode(),
                            std::cout);
}

void find_largest_batch(const CommandContext& context, const TrainingOptions& options) {
  const rewrite::TrainingStep::Optimizer optimizer =
      rewrite::standard_optimizer(rewrite::parse_optimizer(options.optimizer).value());
  const auto memory_of = [&](std::int64_t batch) {
    const model::Graph step =
        rewrite::training_step(
            session::load_graph(context.models, options.model, {.batch = batch}), {}, optimizer)
            .training.graph;
    reporting::LargestBatch::Batch memory{batch, model::compute_memory(step), {}};
    memory.checkpointed = model::compute_memory(rewrite::smallest_step(step)->graph);
    return memory;
  };
  reporting::LargestBatch found{options.model,
                                options.optimizer,
                                Bytes{static_cast<std::int64_t>(options.memory)},
                                {},
                                {},
                                {}};
  const auto largest = [&](const auto& fits) -> std::optional<std::int64_t> {
    std::int64_t good = 0;
    std::int64_t bad = 1;
    while (bad <= kMaxBatch && fits(memory_of(bad))) {
      good = bad;
      bad *= 2;
    }
    while (good > 0 && bad - good > 1) {
      const std::int64_t middle = good + (bad - good) / 2;
      (fits(memory_of(middle)) ? good : bad) = middle;
    }
    return good > 0 ? std::optional(good) : std::nullopt;
  };
  found.largest = largest([&](const reporting::LargestBatch::Batch& each) {
    return each.memory.total() <= found.available;
  });
  found.checkpointed = largest([&](const reporting::LargestBatch::Batch& each) {
    return each.checkpointed.total() <= found.available;
  });
  for (const std::optional<std::int64_t> batch :
       {std::optional<std::int64_t>(1), found.largest, found.checkpointed}) {
    if (batch && (found.batches.empty() || found.batches.back().batch < *batch)) {
      found.batches.push_back(memory_of(*batch));
    }
  }
  reporting::write_largest_batch(found, context.output_mode(), std::cout);
}

/// Calls `visit` with each trained model of a run, and says why others are left out.
template <typename Visit>
void each_step(const CommandContext& context, const TrainingOptions& options, const Visit& visit) {
  const auto store = store::open_store(context.store_url());
  const analysis::RunReport report =
      session::analyze_run({*store, context.models}, store->find_run(options.run), options.models);
  const analysis::ResultSet results(report.rows);
  std::string why_not = "it has no models";
  bool any = false;
  for (const analysis::RunReport::Model& model : report.models) {
    const analysis::MeasuredStep step = analysis::measured_step(model.graph, results);
    if (step.why_not.empty() && visit(model, step)) {
      any = true;
    } else {
      why_not = to_text(model.bounds.instance, ", ") + ": " +
                (step.why_not.empty() ? "it was not executed" : step.why_not);
    }
  }
  if (!any) {
    throw Error(
        Error::Kind::kUser,
        fmt::format(
            "run {} has no step of training to look at: {}", report.run.header.id, why_not));
  }
}

void show_checkpoints(const CommandContext& context, const TrainingOptions& options) {
  std::vector<reporting::CheckpointFront> fronts;
  each_step(context, options, [&](const analysis::RunReport::Model& model, const auto& step) {
    fronts.push_back(
        {model.bounds.instance, step.total, analysis::price_checkpoints(model.graph, step)});
    return true;
  });
  reporting::write_checkpoints(fronts, context.output_mode(), std::cout);
}

void show_exchanges(const CommandContext& context, const TrainingOptions& options) {
  const analysis::ExchangeSchedule::Communication communication{
      Seconds(options.latency), {options.rate}, Bytes{static_cast<std::int64_t>(options.bucket)}};
  reporting::ExchangeSchedules steps;
  each_step(context, options, [&](const analysis::RunReport::Model& model, const auto& step) {
    steps.emplace_back(
        model.bounds.instance,
        analysis::schedule_exchanges(analysis::timed_layers(model.graph, step), communication));
    return true;
  });
  reporting::write_exchanges(steps, context.output_mode(), std::cout);
}

void estimate_times(const CommandContext& context, const TrainingOptions& options) {
  std::vector<reporting::TrainingTime> times;
  each_step(context, options, [&](const analysis::RunReport::Model& model, const auto& /*step*/) {
    const analysis::ExecutionTime* fastest = nullptr;
    for (const analysis::ExecutionTime& each : model.bounds.executions) {
      if (each.samples > 0 && (fastest == nullptr || each.median < fastest->median)) {
        fastest = &each;
      }
    }
    if (fastest == nullptr) {
      return false;
    }
    const analysis::LastBatch epoch =
        analysis::last_batch(options.samples, analysis::samples_of_step(model.bounds.instance));
    const Seconds of_epoch = static_cast<double>(epoch.steps) * fastest->median;
    const Seconds evaluation(options.evaluation);
    times.push_back({model.bounds.instance,
                     fastest->median,
                     fastest->mode,
                     epoch,
                     options.epochs,
                     analysis::time_with_evaluations(options.epochs, of_epoch, evaluation),
                     analysis::time_beside_evaluations(options.epochs, of_epoch, evaluation)});
    return true;
  });
  reporting::write_training_times(times, context.output_mode(), std::cout);
}

void add_samples(CLI::App& command, TrainingOptions& options) {
  command.add_option("--samples", options.samples, "samples of the data set")
      ->check(positive_number())
      ->required();
}

CLI::Option* add_size(CLI::App& command, const char* name, std::uint64_t& bytes, const char* help) {
  return command.add_option(name, bytes, help)
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 50));
}

void add_run(CLI::App& command, TrainingOptions& options) {
  command.add_option("RUN", options.run, "a run: id, unique prefix, tag or @latest")
      ->capture_default_str();
  command.add_option("--model", options.models, "only this model; may be repeated");
}

}  // namespace

void add_training(CLI::App& app, CommandContext& context) {
  CLI::App* const training =
      app.add_subcommand("training", "arithmetic of training: batches, memory, schedules");
  training->require_subcommand(1);
  const auto options = std::make_shared<TrainingOptions>();

  CLI::App* const last =
      training->add_subcommand("last-batch", "samples wasted to fill up an epoch's last step");
  add_samples(*last, *options);
  last->add_option(
          "--batch", options->batches, "samples of a step, of all workers; may be repeated")
      ->check(positive_number());
  CLI::Option* const from =
      last->add_option("--from", options->from, "lists the batches from here that waste least")
          ->check(positive_number());
  CLI::Option* const to =
      last->add_option("--to", options->to, "the last batch to try")->check(positive_number());
  from->needs(to);
  to->needs(from);
  last->add_option("--multiple", options->multiple, "tries multiples of this only")
      ->check(positive_number())
      ->needs(from)
      ->capture_default_str();
  last->callback([&context, options] { count_last_batches(context, *options); });

  CLI::App* const packing =
      training->add_subcommand("packing", "sequences packed into samples of fixed length");
  packing
      ->add_option("FILE", options->file, "lines of a length in tokens and a number of sequences")
      ->required();
  packing->add_option("--tokens", options->limits.tokens, "tokens of a sample")
      ->check(positive_number())
      ->capture_default_str();
  packing->add_option("--sequences", options->limits.sequences, "sequences of a sample, at most")
      ->check(positive_number())
      ->capture_default_str();
  packing->add_option("--batch", options->batch, "samples of a step, for the number of graphs")
      ->check(positive_number())
      ->capture_default_str();
  packing->callback([&context, options] { pack(context, *options); });

  CLI::App* const largest =
      training->add_subcommand("largest-batch", "the largest batch whose step fits into memory");
  largest->add_option("MODEL", options->model, "a built-in name or a path to an .onnx file")
      ->required();
  add_size(*largest, "--memory", options->memory, "what there is, such as 16GiB")->required();
  largest->add_option("--optimizer", options->optimizer, "what updates the weights")
      ->check(CLI::IsMember(rewrite::optimizer_names()))
      ->capture_default_str();
  largest->callback([&context, options] { find_largest_batch(context, *options); });

  CLI::App* const checkpoints = training->add_subcommand(
      "checkpoints", "time against memory where values are computed again for the backward pass");
  add_run(*checkpoints, *options);
  checkpoints->callback([&context, options] { show_checkpoints(context, *options); });

  CLI::App* const exchange = training->add_subcommand(
      "exchange", "gradients added up over workers beside the backward pass, by given times");
  add_run(*exchange, *options);
  exchange->add_option("--rate", options->rate, "bytes of gradients added up in a second")
      ->check(positive_number())
      ->required();
  exchange->add_option("--latency", options->latency, "seconds of each exchange besides")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  add_size(*exchange, "--bucket", options->bucket, "gradients that are exchanged together")
      ->default_str("25MiB");
  exchange->callback([&context, options] { show_exchanges(context, *options); });

  CLI::App* const time =
      training->add_subcommand("time", "time that given epochs take: an estimate, no result");
  add_run(*time, *options);
  add_samples(*time, *options);
  time->add_option("--epochs", options->epochs, "passes over the data set")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1'000'000}))
      ->capture_default_str();
  time->add_option("--evaluation", options->evaluation, "seconds of an evaluation after each epoch")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  time->callback([&context, options] { estimate_times(context, *options); });
}

}  // namespace plumb::cli
