// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "harness/analysis/trace/executed_calls.hpp"
#include "harness/analysis/trace/trace_report.hpp"
#include "tests/unit/rewrite/graph_sketch.hpp"

namespace plumb::analysis {
namespace {

using results::ExecutedTrace;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Makes a measured time whose interval is no wider than itself.
measure::MeasuredTime microseconds(double time) {
  const Seconds median(time * 1e-6);
  return {median, {median, median}};
}

/// Makes a model of two convolutions, each with its Relu: layers 0 to 3.
model::Graph two_convolutions() {
  rewrite::GraphSketch sketch;
  const model::ValueId x = sketch.input({1, 3, 8, 8});
  const model::ValueId first = sketch.relu(sketch.conv(x, 16, 3));
  const model::ValueId second = sketch.relu(sketch.conv(first, 32, 1));
  model::Graph graph = sketch.build({second});
  const std::vector<std::string> names{"conv1", "relu1", "conv2", "relu2"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    graph.layers.at(i).name = names[i];
    graph.layers[i].onnx_op = i % 2 == 0 ? "Conv" : "Relu";
  }
  return graph;
}

results::ExecutedTrace::Call call_of(const std::string& operation,
                                     const std::string& name,
                                     double microseconds) {
  results::ExecutedTrace::Call call;
  call.operation = operation;
  call.name = name;
  call.duration = Seconds(microseconds * 1e-6);
  return call;
}

results::ExecutedTrace::Call reorder(double microseconds, const std::string& layouts) {
  results::ExecutedTrace::Call call = call_of("reorder", "", microseconds);
  call.kind = results::ExecutedTrace::Call::Kind::kReorder;
  call.layouts = layouts;
  return call;
}

/// Makes the calls of one execution, back to back.
ExecutedTrace trace_of(std::vector<results::ExecutedTrace::Call> calls) {
  ExecutedTrace trace;
  trace.format = "onnxruntime";
  trace.timed = true;
  Seconds at{1.0};
  trace.executions.push_back({at, {}});
  for (results::ExecutedTrace::Call& call : calls) {
    call.start = at;
    call.execution = 0;
    at += call.duration;
    trace.add(std::move(call));
  }
  trace.executions[0].duration = at - Seconds(1.0);
  return trace;
}

/// Makes the log of a library, without executions and times of day.
ExecutedTrace log_of(const std::vector<results::ExecutedTrace::Call>& calls) {
  ExecutedTrace trace;
  trace.format = "onednn";
  for (const results::ExecutedTrace::Call& call : calls) {
    trace.add(call);
  }
  return trace;
}

const TraceReport::Finding* find(const std::vector<TraceReport::Finding>& findings,
                                 TraceReport::Finding::Kind kind) {
  const auto at = std::find_if(
      findings.begin(), findings.end(), [&](const auto& each) { return each.kind == kind; });
  return at == findings.end() ? nullptr : &*at;
}

TEST(MatchedTrace, calls_match_by_name_and_layers_without_a_call_are_fused) {
  const model::Graph graph = two_convolutions();
  const TraceReport::Matched matched = match_trace(
      graph,
      trace_of({call_of("FusedConv", "fused conv1", 10), call_of("Conv", "conv2_nchwc", 5)}));
  ASSERT_EQ(matched.calls.size(), 2U);
  EXPECT_THAT(matched.calls[0].layers, ElementsAre(0, 1));
  EXPECT_THAT(matched.calls[1].layers, ElementsAre(2, 3));
  EXPECT_THAT(matched.not_executed, IsEmpty());
  EXPECT_EQ(matched.matched, matched.traced);
  const std::vector<TraceReport::Finding> findings = find_trace_findings(graph, matched);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].kind, TraceReport::Finding::Kind::kFusion);
  EXPECT_THAT(findings[0].layers, ElementsAre(0, 1, 2, 3));
}

TEST(MatchedTrace, calls_without_names_match_by_order_and_shapes) {
  const model::Graph graph = two_convolutions();
  results::ExecutedTrace::Call second = call_of("aten::conv2d", "", 5);
  second.inputs = {{1, 16, 8, 8}, {32, 16, 1, 1}};
  results::ExecutedTrace::Call other = call_of("aten::conv2d", "", 5);
  other.inputs = {{1, 16, 9, 9}, {32, 16, 1, 1}};
  const TraceReport::Matched matched = match_trace(graph, trace_of({second, other}));
  EXPECT_THAT(matched.calls[0].layers, ElementsAre(2, 3));
  EXPECT_THAT(matched.calls[1].layers, IsEmpty());
  EXPECT_THAT(matched.not_executed, testing::Contains(0));
  EXPECT_DOUBLE_EQ(matched.matched / matched.traced, 0.5);
  EXPECT_NE(find(find_trace_findings(graph, matched), TraceReport::Finding::Kind::kNotMatched),
            nullptr);
}

TEST(MatchedTrace, a_log_of_a_library_hides_nothing) {
  const model::Graph graph = two_convolutions();
  results::ExecutedTrace::Call call = call_of("convolution", "", 5);
  call.problem = "mb1_ic16oc32_ih8oh8kh1sh1dh0ph0_iw8ow8kw1sw1dw0pw0";
  ExecutedTrace trace = log_of({call});
  const TraceReport::Matched matched = match_trace(graph, trace);
  EXPECT_THAT(matched.calls[0].layers, ElementsAre(2));
  EXPECT_TRUE(matched.partial);
  EXPECT_THAT(matched.not_executed, ElementsAre(0, 1, 3));
}

TEST(MatchedTrace, the_execution_of_median_time_counts) {
  ExecutedTrace trace;
  trace.format = "onnxruntime";
  for (std::uint32_t i = 0; i < 3; ++i) {
    trace.executions.push_back({Seconds(static_cast<double>(i)), Seconds(i == 0 ? 9.0 : 0.1)});
    results::ExecutedTrace::Call call = call_of("Conv", "conv1", static_cast<double>(10 * (i + 1)));
    call.execution = i;
    trace.add(call);
    trace.calls.back().description = 0;
  }
  trace.executions[2].duration = Seconds(0.2);
  const TraceReport::Matched matched = match_trace(two_convolutions(), trace);
  ASSERT_EQ(matched.calls.size(), 1U);
  EXPECT_EQ(matched.calls[0].call.execution, 2U);
  EXPECT_NEAR(matched.calls[0].typical.count(), 20e-6, 1e-12) << "of 10, 20 and 30";
  EXPECT_EQ(matched.executions, 3U);
}

TEST(MatchedTrace, layers_that_a_worker_named_count_and_others_are_dropped) {
  results::ExecutedTrace::Call call = call_of("convolution", "", 5);
  call.layers = std::vector<std::size_t>{2, 3, 99};
  const TraceReport::Matched matched = match_trace(two_convolutions(), trace_of({call}));
  EXPECT_THAT(matched.calls[0].layers, ElementsAre(2, 3));
}

TEST(MatchedTrace, a_layer_has_all_calls_that_name_its_output) {
  model::Graph graph = two_convolutions();
  for (const model::Layer& layer : graph.layers) {
    graph.values[layer.outputs[0]].name = layer.name + "_out";
  }
  const auto of_output = [&](results::ExecutedTrace::Call call, model::LayerId layer) {
    call.output = graph.layers[layer].name + "_out";
    return call;
  };
  results::ExecutedTrace::Call pad = call_of("aten::pad", "", 2);
  pad.kind = results::ExecutedTrace::Call::Kind::kPad;
  const TraceReport::Matched matched =
      match_trace(graph,
                  trace_of({of_output(call_of("aten::pow", "", 3), 1),
                            of_output(call_of("aten::relu", "", 4), 1),
                            of_output(pad, 0),
                            of_output(call_of("aten::conv2d", "", 5), 2),
                            call_of("aten::conv2d", "", 5),
                            call_of("aten::mul", "", 1)}));
  std::vector<std::vector<model::LayerId>> layers;
  for (const TraceReport::Matched::Call& call : matched.calls) {
    layers.push_back(call.layers);
  }
  EXPECT_THAT(layers,
              ElementsAre(ElementsAre(1),
                          ElementsAre(1),
                          ElementsAre(0),
                          ElementsAre(2, 3),
                          ElementsAre(0),
                          IsEmpty()));
  EXPECT_NEAR(matched.matched.count(), 19e-6, 1e-12);
}

TEST(MatchedTrace, a_kernel_of_torch_compile_has_the_layers_that_it_is_called_after) {
  rewrite::GraphSketch sketch;
  const model::ValueId x = sketch.input({1, 3, 8, 8});
  const model::ValueId first = sketch.relu(sketch.conv(x, 16, 3));
  const model::ValueId second = sketch.conv(first, 16, 3);
  model::Graph graph = sketch.build({sketch.relu(sketch.add(first, second))});
  const std::vector<std::string> operators{"Conv", "Relu", "Conv", "Add", "Relu"};
  for (std::size_t i = 0; i < operators.size(); ++i) {
    graph.layers.at(i).onnx_op = operators[i];
  }
  const TraceReport::Matched matched =
      match_trace(graph,
                  trace_of({call_of("graph_0_cpp_fused_convolution_0", "", 1),
                            call_of("aten::convolution", "", 10),
                            call_of("graph_0_cpp_fused_convolution_relu_1", "", 2),
                            call_of("aten::convolution", "", 10),
                            call_of("graph_0_cpp_fused_add_convolution_relu_2", "", 3),
                            call_of("graph_0_cpp_fused_cumsum_3", "", 4)}));
  std::vector<std::vector<model::LayerId>> layers;
  for (const TraceReport::Matched::Call& call : matched.calls) {
    layers.push_back(call.layers);
  }
  EXPECT_THAT(layers,
              ElementsAre(ElementsAre(0),
                          ElementsAre(0),
                          ElementsAre(1),
                          ElementsAre(2),
                          ElementsAre(3, 4),
                          IsEmpty()));
  EXPECT_EQ(matched.calls[0].call.kind, results::ExecutedTrace::Call::Kind::kReorder)
      << "of weights";
}

TEST(TraceFindings, a_missed_fusion_costs_the_calls_beside_the_longest) {
  const model::Graph graph = two_convolutions();
  const TraceReport::Matched matched = match_trace(graph,
                                                   trace_of({call_of("Conv", "conv1", 10),
                                                             call_of("Relu", "relu1", 3),
                                                             call_of("Conv", "conv2", 5),
                                                             call_of("Relu", "relu2", 1)}));
  const std::vector<TraceReport::Finding> findings = find_trace_findings(graph, matched);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].kind, TraceReport::Finding::Kind::kMissedFusion);
  EXPECT_NEAR(findings[0].time.count(), 4e-6, 1e-12);
  EXPECT_THAT(findings[0].layers, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(findings[0].evidence, HasSubstr("2 calls instead of one"));
  EXPECT_EQ(find(findings, TraceReport::Finding::Kind::kFusion), nullptr);
}

TEST(TraceFindings, missed_fusions_of_a_rule_are_one_finding_with_its_places) {
  const model::Graph graph = two_convolutions();
  const std::vector<TraceReport::Finding> findings =
      find_trace_findings(graph,
                          match_trace(graph,
                                      trace_of({call_of("Conv", "conv1", 10),
                                                call_of("Relu", "relu1", 3),
                                                call_of("Conv", "conv2", 5),
                                                call_of("Relu", "relu2", 4)})));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_NEAR(findings[0].time.count(), 7e-6, 1e-12);
  EXPECT_THAT(findings[0].layers, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(findings[0].evidence, HasSubstr("conv_activation: 2 times"));
  ASSERT_EQ(findings[0].places.size(), 2U);
  EXPECT_THAT(findings[0].places[0].layers, ElementsAre(2, 3)) << "the longest first";
}

TEST(TraceFindings, threads_without_processors_are_oversubscribed) {
  const model::Graph graph = two_convolutions();
  ExecutedTrace trace = trace_of({call_of("FusedConv", "conv1", 10)});
  trace.threads = 8;
  trace.processors = 8;
  EXPECT_EQ(find(find_trace_findings(graph, match_trace(graph, trace)),
                 TraceReport::Finding::Kind::kOversubscribed),
            nullptr);
  trace.processors = 2;
  const std::vector<TraceReport::Finding> findings =
      find_trace_findings(graph, match_trace(graph, trace));
  const TraceReport::Finding* const found =
      find(findings, TraceReport::Finding::Kind::kOversubscribed);
  ASSERT_NE(found, nullptr);
  EXPECT_THAT(found->evidence, HasSubstr("8 threads on 2 processors"));
  EXPECT_NEAR(found->time.count(), 7.5e-6, 1e-12);
  EXPECT_EQ(compute_gain(*found), Seconds(0.0)) << "an estimate is no gain";
}

TEST(TraceFindings, a_model_may_be_compiled_in_another_execution_than_the_median_one) {
  const model::Graph graph = two_convolutions();
  ExecutedTrace trace = trace_of({call_of("FusedConv", "conv1", 10)});
  trace.executions.push_back({Seconds(2.0), Seconds(1e-6)});
  trace.executions.push_back({Seconds(3.0), Seconds(4e-3)});
  results::ExecutedTrace::Call compilation = call_of(results::kModelCompilation, "", 3000);
  compilation.kind = results::ExecutedTrace::Call::Kind::kCreation;
  compilation.execution = 2;
  trace.add(compilation);
  const std::vector<TraceReport::Finding> findings =
      find_trace_findings(graph, match_trace(graph, trace));
  const TraceReport::Finding* const found =
      find(findings, TraceReport::Finding::Kind::kRecompilation);
  ASSERT_NE(found, nullptr);
  EXPECT_THAT(found->evidence, HasSubstr("in 1 of 3 executions, for 3.0 ms each time"));
  EXPECT_NEAR(found->time.count(), 1e-3, 1e-12);
  EXPECT_EQ(compute_gain(*found), Seconds(0.0));
}

TEST(TraceFindings, a_reorder_of_the_inputs_or_of_little_time_is_minor) {
  const model::Graph graph = two_convolutions();
  for (const auto& [inside, time, minor] :
       {std::tuple{true, 0.04, true}, std::tuple{true, 0.2, false}, std::tuple{false, 4.0, true}}) {
    std::vector<results::ExecutedTrace::Call> calls{call_of("FusedConv", "conv1", 10),
                                                    call_of("FusedConv", "conv2", 5)};
    calls.insert(calls.begin() + (inside ? 1 : 0), reorder(time, "src:abcd dst:aBcd16b"));
    const std::vector<TraceReport::Finding> findings =
        find_trace_findings(graph, match_trace(graph, trace_of(calls)));
    const TraceReport::Finding* const found = find(findings, TraceReport::Finding::Kind::kReorder);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->minor, minor) << time;
    EXPECT_EQ(compute_gain(*found) > Seconds(0.0), !minor);
  }
}

TEST(TraceFindings, gaps_are_within_the_execution_and_no_time_of_the_profiler) {
  const model::Graph graph = two_convolutions();
  ExecutedTrace trace =
      trace_of({call_of("FusedConv", "conv1", 10), call_of("FusedConv", "conv2", 5)});
  trace.executions[0].duration += Seconds(30e-6);
  trace.calls[1].start = Seconds(100.0);  // of another clock
  const TraceReport::Matched matched = match_trace(graph, trace);
  std::vector<TraceReport::Finding> findings = find_trace_findings(graph, matched);
  ASSERT_NE(find(findings, TraceReport::Finding::Kind::kGap), nullptr);
  EXPECT_LE(find(findings, TraceReport::Finding::Kind::kGap)->time, matched.span());
  findings = find_trace_findings(graph, matched, {}, Seconds(20e-6));
  ASSERT_NE(find(findings, TraceReport::Finding::Kind::kGap), nullptr);
  EXPECT_NEAR(find(findings, TraceReport::Finding::Kind::kGap)->time.count(), 5e-6, 1e-12);
  findings = find_trace_findings(graph, matched, {}, Seconds(14e-6));
  EXPECT_EQ(find(findings, TraceReport::Finding::Kind::kGap), nullptr);
}

TEST(TraceFindings, a_fused_call_is_compared_with_the_fused_variants) {
  const model::Graph graph = two_convolutions();
  results::ExecutedTrace::Call call = call_of("convolution", "conv1", 10);
  call.implementation = "jit:sse41";
  const TraceReport::Matched matched =
      match_trace(graph, trace_of({call, call_of("FusedConv", "conv2", 5)}));
  const std::vector<TraceReport::Finding::MeasuredVariants> measured{
      {{0}, {{"jit:avx512_core", microseconds(1)}}},
      {{0, 1}, {{"jit:avx512_core", microseconds(4)}}}};
  const std::vector<TraceReport::Finding> findings = find_trace_findings(graph, matched, measured);
  const TraceReport::Finding* const found =
      find(findings, TraceReport::Finding::Kind::kSlowerVariant);
  ASSERT_NE(found, nullptr);
  EXPECT_NEAR(found->time.count(), 6e-6, 1e-12);
  const auto slower = [&](const measure::MeasuredTime& time) {
    const std::vector<TraceReport::Finding::MeasuredVariants> known{
        {{0, 1}, {{"impl=brgconv", microseconds(4)}, {"impl=jit:sse41", time}}}};
    return find(find_trace_findings(graph, matched, known),
                TraceReport::Finding::Kind::kSlowerVariant) != nullptr;
  };
  EXPECT_FALSE(slower(microseconds(4.3))) << "a busy moment of the trace is no slower variant";
  EXPECT_TRUE(slower(microseconds(4.5)));
  EXPECT_FALSE(slower({Seconds(4.5e-6), {Seconds(4.3e-6), Seconds(6e-6)}}))
      << "its interval reaches those that are no slower";
}

TEST(TraceFindings, reorders_pads_and_copies_are_told_apart) {
  const model::Graph graph = two_convolutions();
  results::ExecutedTrace::Call pad = call_of("Pad", "", 2);
  pad.kind = results::ExecutedTrace::Call::Kind::kPad;
  results::ExecutedTrace::Call copy = call_of("aten::copy_", "", 1);
  copy.kind = results::ExecutedTrace::Call::Kind::kCopy;
  const TraceReport::Matched matched = match_trace(graph,
                                                   trace_of({reorder(6, "src:abcd dst:ABcd16b16a"),
                                                             pad,
                                                             call_of("FusedConv", "conv1", 10),
                                                             copy,
                                                             reorder(4, "src:abcd dst:aBcd16b"),
                                                             call_of("FusedConv", "conv2", 5)}));
  EXPECT_THAT(matched.calls[0].layers, ElementsAre(0));
  EXPECT_THAT(matched.calls[4].layers, ElementsAre(2));
  const std::vector<TraceReport::Finding> findings = find_trace_findings(graph, matched);
  using Kind = TraceReport::Finding::Kind;
  for (const auto& [kind, time] : {std::pair{Kind::kReorder, 4e-6},
                                   std::pair{Kind::kWeightReorder, 6e-6},
                                   std::pair{Kind::kPad, 2e-6},
                                   std::pair{Kind::kCopy, 1e-6}}) {
    const TraceReport::Finding* const found = find(findings, kind);
    ASSERT_NE(found, nullptr) << to_text(kind);
    EXPECT_NEAR(found->time.count(), time, 1e-12) << to_text(kind);
  }
  EXPECT_TRUE(std::is_sorted(
      findings.begin(), findings.end() - 1, [](auto& a, auto& b) { return a.time > b.time; }));
}

TEST(TraceFindings, types_gaps_and_variants_are_compared) {
  const model::Graph graph = two_convolutions();
  results::ExecutedTrace::Call lower = call_of("FusedConv", "conv1", 10);
  lower.types = {"bf16", "bf16"};
  lower.implementation = "jit:avx2";
  ExecutedTrace trace = trace_of({lower, call_of("Conv", "conv2", 5), call_of("Relu", "relu2", 1)});
  trace.executions[0].duration += Seconds(20e-6);
  const TraceReport::Matched matched = match_trace(graph, trace);
  const std::vector<TraceReport::Finding::MeasuredVariants> measured{
      {{2}, {{"impl=brgconv", microseconds(2)}}}};
  std::vector<TraceReport::Finding> findings = find_trace_findings(graph, matched, measured);
  ASSERT_NE(find(findings, TraceReport::Finding::Kind::kLowerPrecision), nullptr);
  EXPECT_THAT(find(findings, TraceReport::Finding::Kind::kLowerPrecision)->evidence,
              HasSubstr("bf16 in place of f32"));
  ASSERT_NE(find(findings, TraceReport::Finding::Kind::kGap), nullptr);
  EXPECT_NEAR(find(findings, TraceReport::Finding::Kind::kGap)->time.count(), 20e-6, 1e-9);
  EXPECT_EQ(find(findings, TraceReport::Finding::Kind::kSlowerVariant), nullptr)
      << "the call does not say which implementation it is";
  TraceReport::Matched known = matched;
  known.calls[1].call.implementation = "jit:sse41";
  findings = find_trace_findings(graph, known, measured);
  ASSERT_NE(find(findings, TraceReport::Finding::Kind::kSlowerVariant), nullptr);
  EXPECT_NEAR(
      find(findings, TraceReport::Finding::Kind::kSlowerVariant)->time.count(), 3e-6, 1e-12);
}

TEST(JoinedTraces, a_library_tells_the_implementation_and_reorders_of_calls) {
  results::ExecutedTrace::Call first = call_of("aten::conv2d", "", 10);
  first.inputs = {{1, 3, 8, 8}, {16, 3, 3, 3}};
  results::ExecutedTrace::Call second = call_of("aten::conv2d", "", 20);
  second.inputs = {{1, 16, 8, 8}, {32, 16, 1, 1}};
  results::ExecutedTrace::Call library = call_of("convolution", "", 12);
  library.problem = "mb1_ic16oc32_ih8oh8kh1sh1dh0ph0_iw8ow8kw1sw1dw0pw0";
  library.implementation = "brgconv:avx512_core";
  ExecutedTrace log = log_of({reorder(5, "src:abcd dst:ABcd16b16a"), library});
  log.threads = 8;
  const ExecutedTrace joined =
      join_traces(trace_of({first, call_of("aten::relu", "", 1), second}), log);
  EXPECT_EQ(joined.threads, 8U);
  ASSERT_EQ(joined.calls.size(), 4U);
  EXPECT_EQ(joined.call(0).implementation, "");
  EXPECT_EQ(joined.call(2).kind, results::ExecutedTrace::Call::Kind::kReorder);
  EXPECT_EQ(joined.call(3).implementation, "brgconv:avx512_core");
  EXPECT_NEAR(joined.call(3).duration.count(), 15e-6, 1e-12);
  Seconds sum{};
  for (const results::ExecutedTrace::TracedCall& call : joined.calls) {
    sum += call.duration;
  }
  EXPECT_NEAR(sum.count(), 31e-6, 1e-12) << "joining moves time and adds none";
}

TEST(TraceReport, both_timelines_are_written) {
  TraceReport report;
  report.graph = two_convolutions();
  report.matched =
      match_trace(report.graph,
                  trace_of({call_of("FusedConv", "conv1", 10), call_of("FusedConv", "conv2", 5)}));
  const Json document = perfetto_document(report);
  std::size_t executed = 0;
  std::size_t expected = 0;
  for (const Json& event : document["traceEvents"]) {
    if (event["ph"] == "X") {
      ++(event["pid"] == 1 ? executed : expected);
      EXPECT_GE(event["ts"].get<double>(), 0.0);
    }
  }
  EXPECT_EQ(executed, 2U);
  EXPECT_EQ(expected, 4U);
  EXPECT_EQ(trace_document(report)["calls"].size(), 2U);
  std::size_t against = 0;
  const Json both = perfetto_document(report, &report);
  for (const Json& event : both["traceEvents"]) {
    against += event["ph"] == "X" && event["pid"] == 3 ? 1U : 0U;
  }
  EXPECT_EQ(against, 2U);
}

TEST(TraceDifference, layers_that_either_execution_fuses_are_compared_together) {
  const model::Graph graph = two_convolutions();
  const TraceReport::Matched before = match_trace(graph,
                                                  trace_of({call_of("Conv", "conv1", 10),
                                                            call_of("Relu", "relu1", 3),
                                                            call_of("Conv", "conv2", 5),
                                                            call_of("Relu", "relu2", 4)}));
  ExecutedTrace fused = trace_of({reorder(2, "src:abcd dst:aBcd16b"),
                                  call_of("FusedConv", "conv1", 9),
                                  call_of("FusedConv", "conv2", 5),
                                  call_of("other", "", 1)});
  fused.executions[0].duration += Seconds(6e-6);
  const TraceReport::Matched after = match_trace(graph, fused);
  const TraceReport::Difference difference = compute_trace_difference(graph, before, after);
  ASSERT_EQ(difference.layers.size(), 2U);
  EXPECT_THAT(difference.layers[0].layers, ElementsAre(2, 3));
  EXPECT_NEAR(difference.layers[0].change().count(), -4e-6, 1e-12);
  EXPECT_THAT(difference.layers[1].layers, ElementsAre(0, 1));
  EXPECT_NEAR(difference.layers[1].after.moving.count(), 2e-6, 1e-12);
  EXPECT_NEAR(difference.rest_after.gaps.count(), 6e-6, 1e-12);
  EXPECT_NEAR(difference.rest_after.unmatched.count(), 1e-6, 1e-12);
  Seconds sum = difference.rest_after.gaps - difference.rest_before.gaps +
                difference.rest_after.unmatched - difference.rest_before.unmatched;
  for (const TraceReport::Difference::Layer& each : difference.layers) {
    sum += each.change();
  }
  EXPECT_NEAR((difference.after - difference.before).count(), 1e-6, 1e-12);
  EXPECT_NEAR(sum.count(), 1e-6, 1e-12) << "all of the difference is told";
}

}  // namespace
}  // namespace plumb::analysis
