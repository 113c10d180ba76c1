// SPDX-License-Identifier: Apache-2.0
// Rules of captures and graphs, as the driver's manual states them.
#include <future>
#include <thread>

#include "tests/support/cuda_driver/status.hpp"
#include "tests/unit/cuda_driver/stand_in_device.hpp"

namespace plumb::stand_in {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kThreadLocal = 1;
constexpr int kUnsupported = 900;
constexpr int kInvalidated = 901;

class StandInCaptures : public StandInTest {
 protected:
  void begin(const cuda::DeviceStream& stream) const {
    ASSERT_EQ(cu().stream_begin_capture(stream.get(), kThreadLocal), 0);
  }
  /// Ends a capture that must be invalid.
  void expect_invalid(const cuda::DeviceStream& stream) const {
    void* graph = nullptr;
    EXPECT_EQ(cu().stream_end_capture(stream.get(), &graph), kInvalidated);
    EXPECT_EQ(graph, nullptr);  // "a NULL graph will be returned"
  }
};

TEST_F(StandInCaptures, execute_nothing_until_the_graph_is_launched) {
  const cuda::DeviceStream stream(driver());
  int runs = 0;
  const cuda::DeviceStream::Graph graph(driver(), stream, [&] {
    ASSERT_EQ(work(stream.get(), {}, [&] { runs += 1; }), 0);
    ASSERT_EQ(work(stream.get(), {}, [&] { runs += 10; }), 0);
  });
  EXPECT_EQ(graph.nodes(), 2U);
  EXPECT_EQ(runs, 0);
  graph.launch(stream.get());
  graph.launch(stream.get());
  stream.synchronize();
  EXPECT_EQ(runs, 22);
}

TEST_F(StandInCaptures, record_events_at_each_launch) {
  const cuda::DeviceStream stream(driver());
  const cuda::DeviceStream::Event begin(driver(), true);
  const cuda::DeviceStream::Event end(driver(), true);
  std::promise<void> go;
  const std::shared_future<void> gone = go.get_future().share();
  EXPECT_EQ(cu().event_record_with_flags(begin.get(), stream.get(), 1), kInvalidValue)
      << "the flag is for captures";
  const cuda::DeviceStream::Graph graph(driver(), stream, [&] {
    begin.record_in_graph(stream.get());
    ASSERT_EQ(work(stream.get(), {}, [gone] { gone.wait(); }), 0);
    end.record_in_graph(stream.get());
  });
  EXPECT_EQ(graph.nodes(), 3U);
  float milliseconds = 0.0F;
  EXPECT_EQ(cu().event_elapsed_time(&milliseconds, begin.get(), end.get()), kInvalidHandle)
      << "not recorded yet";
  graph.launch(stream.get());
  EXPECT_EQ(cu().event_elapsed_time(&milliseconds, begin.get(), end.get()), kNotReady);
  go.set_value();
  stream.synchronize();
  EXPECT_GT(cuda::time_between(driver(), begin, end), Seconds(0.0));
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(StandInCaptures, find_an_event_that_was_destroyed_before_the_launch) {
  const cuda::DeviceStream stream(driver());
  std::optional<cuda::DeviceStream::Event> event;
  event.emplace(driver(), true);
  const cuda::DeviceStream::Graph graph(
      driver(), stream, [&] { event->record_in_graph(stream.get()); });
  event.reset();
  EXPECT_THROW(graph.launch(stream.get()), cuda::Driver::Refusal);
  EXPECT_THAT(findings(), HasSubstr("event"));
}

TEST_F(StandInCaptures, refuse_to_allocate_and_become_invalid) {
  const cuda::DeviceStream stream(driver());
  begin(stream);
  cuda::abi::DevicePointer memory = 0;
  EXPECT_EQ(cu().mem_alloc(&memory, 16), kUnsupported);
  expect_invalid(stream);
  EXPECT_EQ(cu().mem_alloc(&memory, 16), 0);
  EXPECT_EQ(cu().mem_free(memory), 0);
}

TEST_F(StandInCaptures, refuse_to_free_to_copy_and_to_load) {
  const cuda::DeviceStream stream(driver());
  const cuda::Device::Memory memory(driver(), 4);
  void* host = nullptr;
  void* module = nullptr;
  int value = 0;
  const std::vector<std::function<int()>> calls{
      [&] { return cu().mem_free(memory.address()); },
      [&] { return cu().mem_alloc_host(&host, 16); },
      [&] { return cu().memcpy_to_device(memory.address(), &value, 4); },
      [&] { return cu().memcpy_to_host(&value, memory.address(), 4); },
      [&] { return cu().module_load_data(&module, "an image"); }};
  for (const auto& call : calls) {
    begin(stream);
    EXPECT_EQ(call(), kUnsupported);
    expect_invalid(stream);
  }
}

TEST_F(StandInCaptures, refuse_to_wait_for_a_stream_or_the_context) {
  const cuda::DeviceStream stream(driver());
  begin(stream);
  EXPECT_EQ(cu().stream_synchronize(stream.get()), kUnsupported);
  expect_invalid(stream);
  begin(stream);
  EXPECT_EQ(cu().context_synchronize(), kUnsupported);
  expect_invalid(stream);
}

TEST_F(StandInCaptures, refuse_more_work_once_invalid) {
  const cuda::DeviceStream stream(driver());
  begin(stream);
  cuda::abi::DevicePointer memory = 0;
  EXPECT_EQ(cu().mem_alloc(&memory, 16), kUnsupported);
  EXPECT_EQ(work(stream.get(), {}), kInvalidated);
  expect_invalid(stream);
}

// CU_STREAM_CAPTURE_MODE_THREAD_LOCAL: "Concurrent capture sequences in other threads are ignored."
TEST_F(StandInCaptures, of_one_thread_do_not_forbid_another_one_to_allocate) {
  const cuda::DeviceStream stream(driver());
  begin(stream);
  int status = -1;
  std::thread([&] {
    context_->use();
    cuda::abi::DevicePointer memory = 0;
    status = cu().mem_alloc(&memory, 16);
    cu().mem_free(memory);
  }).join();
  EXPECT_EQ(status, 0);
  void* graph = nullptr;
  EXPECT_EQ(cu().stream_end_capture(stream.get(), &graph), 0);
  EXPECT_EQ(cu().graph_destroy(graph), 0);
}

TEST_F(StandInCaptures, end_in_the_thread_and_the_stream_that_they_began_in) {
  const cuda::DeviceStream stream(driver());
  const cuda::DeviceStream other(driver());
  const cuda::DeviceStream::Event event(driver(), false);
  void* graph = nullptr;
  begin(stream);
  int status = 0;
  std::thread([&] {
    context_->use();
    status = cu().stream_end_capture(stream.get(), &graph);
  }).join();
  EXPECT_EQ(status, 908);  // CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD
  event.record(stream.get());
  other.wait_for(event);
  EXPECT_EQ(cu().stream_end_capture(other.get(), &graph), 903);  // …_UNMATCHED
  EXPECT_EQ(cu().stream_end_capture(stream.get(), &graph), kInvalidated);
}

TEST_F(StandInCaptures, hold_forks_that_join_again) {
  const cuda::DeviceStream stream(driver());
  const cuda::DeviceStream other(driver());
  const cuda::DeviceStream::Event fork(driver(), false);
  const cuda::DeviceStream::Event join(driver(), false);
  const cuda::Device::Memory memory(driver(), 256);
  const Range range{cuda::abi::address_of(memory.address()), 256, true};
  const cuda::DeviceStream::Graph graph(driver(), stream, [&] {
    ASSERT_EQ(work(stream.get(), {range}), 0);
    fork.record(stream.get());
    other.wait_for(fork);
    ASSERT_EQ(work(other.get(), {range}), 0);
    join.record(other.get());
    stream.wait_for(join);
    ASSERT_EQ(work(stream.get(), {range}), 0);
  });
  for (int i = 0; i < 5; ++i) {
    graph.launch(stream.get());
  }
  stream.synchronize();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(StandInCaptures, find_races_between_the_branches_of_a_graph) {
  const cuda::DeviceStream stream(driver());
  const cuda::DeviceStream other(driver());
  const cuda::DeviceStream::Event fork(driver(), false);
  const cuda::DeviceStream::Event join(driver(), false);
  const cuda::Device::Memory memory(driver(), 256);
  const Range range{cuda::abi::address_of(memory.address()), 256, true};
  const cuda::DeviceStream::Graph graph(driver(), stream, [&] {
    fork.record(stream.get());
    other.wait_for(fork);
    ASSERT_EQ(work(stream.get(), {range}), 0);
    ASSERT_EQ(work(other.get(), {range}), 0);
    join.record(other.get());
    stream.wait_for(join);
  });
  graph.launch(stream.get());
  stream.synchronize();
  EXPECT_THAT(findings(), HasSubstr("race"));
}

TEST_F(StandInCaptures, refuse_a_fork_that_does_not_join) {
  const cuda::DeviceStream stream(driver());
  const cuda::DeviceStream other(driver());
  const cuda::DeviceStream::Event fork(driver(), false);
  begin(stream);
  ASSERT_EQ(work(stream.get(), {}), 0);
  fork.record(stream.get());
  other.wait_for(fork);
  ASSERT_EQ(work(other.get(), {}), 0);
  void* graph = nullptr;
  EXPECT_EQ(cu().stream_end_capture(stream.get(), &graph), 904);  // …_UNJOINED
  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(work(other.get(), {}), 0) << "the other stream no longer captures";
}

TEST_F(StandInCaptures, refuse_an_event_that_was_recorded_outside) {
  const cuda::DeviceStream stream(driver());
  const cuda::DeviceStream other(driver());
  const cuda::DeviceStream::Event event(driver(), false);
  event.record(other.get());
  begin(stream);
  EXPECT_EQ(cu().stream_wait_event(stream.get(), event.get(), 0), 905);  // …_ISOLATION
  expect_invalid(stream);
}

TEST_F(StandInCaptures, refuse_to_merge) {
  const cuda::DeviceStream stream(driver());
  const cuda::DeviceStream other(driver());
  const cuda::DeviceStream::Event event(driver(), false);
  begin(stream);
  begin(other);
  event.record(other.get());
  EXPECT_EQ(cu().stream_wait_event(stream.get(), event.get(), 0), 902);  // …_MERGE
  expect_invalid(stream);
  expect_invalid(other);
}

TEST_F(StandInCaptures, refuse_to_wait_for_their_events) {
  const cuda::DeviceStream stream(driver());
  const cuda::DeviceStream::Event event(driver(), true);
  begin(stream);
  event.record(stream.get());
  EXPECT_EQ(cu().event_synchronize(event.get()), 907);  // CUDA_ERROR_CAPTURED_EVENT
  expect_invalid(stream);
}

TEST_F(StandInCaptures, of_a_blocking_stream_refuse_the_legacy_stream) {
  void* stream = nullptr;
  ASSERT_EQ(cu().stream_create(&stream, 0), 0);
  ASSERT_EQ(cu().stream_begin_capture(stream, kThreadLocal), 0);
  EXPECT_EQ(work(nullptr, {}), 906);  // CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
  void* graph = nullptr;
  EXPECT_EQ(cu().stream_end_capture(stream, &graph), kInvalidated);
  ASSERT_EQ(cu().stream_destroy(stream), 0);
}

TEST_F(StandInCaptures, do_not_begin_in_the_legacy_stream_or_twice) {
  const cuda::DeviceStream stream(driver());
  EXPECT_EQ(cu().stream_begin_capture(nullptr, kThreadLocal), kUnsupported);
  begin(stream);
  EXPECT_NE(cu().stream_begin_capture(stream.get(), kThreadLocal), 0);
  void* graph = nullptr;
  EXPECT_EQ(cu().stream_end_capture(stream.get(), &graph), 0);
  EXPECT_EQ(cu().graph_destroy(graph), 0);
}

TEST_F(StandInCaptures, update_a_graph_of_the_same_form_alone) {
  const cuda::DeviceStream stream(driver());
  int runs = 0;
  const auto works = [&](int count, int step) {
    return [&, count, step] {
      for (int i = 0; i < count; ++i) {
        ASSERT_EQ(work(stream.get(), {}, [&runs, step] { runs += step; }), 0);
      }
    };
  };
  std::optional<cuda::DeviceStream::Graph> first(std::in_place, driver(), stream, works(2, 1));
  cuda::DeviceStream::Graph second(driver(), stream, works(2, 10), std::move(first));
  EXPECT_THAT(second.refusal(), IsEmpty());
  second.launch(stream.get());
  stream.synchronize();
  EXPECT_EQ(runs, 20);
  const cuda::DeviceStream::Graph third(driver(), stream, works(3, 100), std::move(second));
  EXPECT_THAT(third.refusal(), HasSubstr("its nodes or their order differ"));
  third.launch(stream.get());
  stream.synchronize();
  EXPECT_EQ(runs, 320);
}

TEST_F(StandInCaptures, find_memory_that_was_freed_before_a_replay) {
  const cuda::DeviceStream stream(driver());
  std::optional<cuda::Device::Memory> memory(std::in_place, driver(), 256);
  const Range range{cuda::abi::address_of(memory->address()), 256, true};
  const cuda::DeviceStream::Graph graph(
      driver(), stream, [&] { ASSERT_EQ(work(stream.get(), {range}), 0); });
  graph.launch(stream.get());
  stream.synchronize();
  memory.reset();
  graph.launch(stream.get());
  EXPECT_EQ(cu().stream_synchronize(stream.get()), 700);
  EXPECT_THAT(findings(), HasSubstr("illegal-access"));
  EXPECT_EQ(cu().context_synchronize(), 700);
  control().reset(1);
}

TEST_F(StandInCaptures, find_graphs_that_are_used_when_destroyed) {
  const cuda::DeviceStream stream(driver());
  void* graph = nullptr;
  void* executable = nullptr;
  begin(stream);
  ASSERT_EQ(cu().stream_end_capture(stream.get(), &graph), 0);
  ASSERT_EQ(cu().graph_instantiate(&executable, graph, 0), 0);
  ASSERT_EQ(cu().graph_destroy(graph), 0);
  EXPECT_EQ(cu().graph_launch(executable, stream.get()), 0) << "it outlives its graph";
  ASSERT_EQ(cu().graph_executable_destroy(executable), 0);
  EXPECT_NE(cu().graph_launch(executable, stream.get()), 0);
  EXPECT_NE(cu().graph_destroy(graph), 0);
  EXPECT_THAT(findings(), HasSubstr("executable graph that was destroyed"));
  stream.synchronize();
}

}  // namespace
}  // namespace plumb::stand_in
