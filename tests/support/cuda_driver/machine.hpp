// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/cuda_driver/findings.hpp"
#include "tests/support/cuda_driver/host_memory.hpp"
#include "tests/support/cuda_driver/operation.hpp"
#include "tests/support/cuda_driver/status.hpp"

namespace plumb::stand_in {

/// Point in a stream's work: when it is reached, what happened before it, and the scripted time.
struct Mark {
  bool done = false;
  VectorTime time;
  std::uint64_t clock = 0;  ///< nanoseconds of the scripted clock
};

/// One node of a captured graph, and the nodes that it depends on.
struct Node {
  Operation operation;
  std::vector<std::size_t> before;
};

/// Captured graph.
struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;
};

/// One capture sequence: the stream that it began in, and all that joined it.
struct Stream;
struct Capture {
  Stream* origin = nullptr;
  int mode = 0;
  std::thread::id thread;
  std::unique_ptr<Graph> graph = std::make_unique<Graph>();
  bool valid = true;
  bool ended = false;
  std::set<Stream*> streams;
};

/// Nodes of an executable graph, and the chains that they are ordered by.
struct Program {
  std::vector<Node> nodes;
  std::vector<std::size_t> chain;  ///< by node
  std::vector<std::uint32_t> place;
  std::vector<std::uint32_t> lengths;  ///< by chain
};

/// Executable graph. A launch keeps the program that it was given.
struct Executable {
  std::shared_ptr<const Program> program;
  std::vector<Lane> lanes;  ///< by chain
  std::vector<std::uint32_t> counts;
  std::shared_ptr<Mark> last;
};

/// One event, and what it captured when it was last recorded.
struct Event {
  unsigned flags = 0;
  std::shared_ptr<Mark> mark;
  std::shared_ptr<Capture> capture;
  std::set<std::size_t> tails;
};

/// Work in a stream's queue.
struct Queued {
  Operation operation;
  std::vector<std::shared_ptr<Mark>> waits;
  std::shared_ptr<Mark> mark;
  Epoch epoch;
  VectorTime time;           ///< of its beginning, with its own epoch
  std::uint64_t issued = 0;  ///< by the scripted clock; it begins no earlier
  std::map<std::size_t, std::shared_ptr<Mark>> recorded;  ///< by node of a graph: its event's mark
  std::shared_ptr<const Program> program;
  std::vector<Lane> lanes;
  std::vector<std::uint32_t> bases;
};

/// One stream with the thread that executes it.
struct Stream {
  unsigned flags = 0;
  Lane lane = 0;
  std::uint32_t count = 0;
  VectorTime time;
  std::shared_ptr<Mark> last;
  std::deque<Queued> queue;
  bool destroyed = false;
  std::thread worker;
  std::uint64_t clock = 0;
  std::shared_ptr<Capture> capture;
  std::set<std::size_t> tails;
};

struct KernelModule;

/// State of the whole stand-in. Its functions are called with its mutex held, by `Call`.
class Machine {
 public:
  Machine();

  std::mutex mutex;
  std::condition_variable changed;
  Findings findings;
  MemoryMap memory{findings};
  HostMemory host_memory;

  bool started = false;
  int devices = 1;                 ///< that the driver shows: equal, but for bus and identifier
  std::optional<unsigned> serial;  ///< of the identifiers; absent: that of the process
  int device = 0;                  ///< whose primary context is retained
  int references = 0;              ///< to the primary context
  std::uint64_t generation = 0;    ///< of the primary context: rises when it is destroyed
  std::map<std::string, unsigned> calls;

  // Faults.
  struct Fault {
    std::string call;
    unsigned at = 0;
    int status = 0;
  };
  std::vector<Fault> faults;
  int lost = 0;      ///< sticky status
  int injected = 0;  ///< status that a waiting call returns once it has waited

  /// Counts a call and returns the status that it has without being tried. 0: it is tried.
  [[nodiscard]] int enter(const char* name, bool needs_context);
  void lose(int status);

  // Contexts.
  [[nodiscard]] void* retain_context();
  void release_context();
  [[nodiscard]] int set_current(void* context);

  // Streams and events.
  [[nodiscard]] Stream* create_stream(unsigned flags);
  /// Returns the stream of a handle. Null: there is none, and a destroyed one was found.
  [[nodiscard]] Stream* stream_of(void* handle);
  void destroy_stream(Stream& stream);
  /// Puts work into a stream or, while it captures, into the graph.
  [[nodiscard]] int enqueue(Stream& stream, Operation operation);
  [[nodiscard]] int synchronize(std::unique_lock<std::mutex>& lock, Stream& stream);
  [[nodiscard]] int synchronize_all(std::unique_lock<std::mutex>& lock);
  void wait(std::unique_lock<std::mutex>& lock, const std::shared_ptr<Mark>& mark);
  [[nodiscard]] Event* event_of(void* handle);
  [[nodiscard]] int record(Event& event, Stream& stream);
  /// Adds a node that records the event whenever the captured graph is launched.
  [[nodiscard]] int record_in_graph(Event& event, Stream& stream);
  [[nodiscard]] int stream_wait(Stream& stream, Event& event);

  // Captures.
  [[nodiscard]] int begin_capture(Stream& stream, int mode);
  [[nodiscard]] int end_capture(Stream& stream, Graph** graph);
  /// Returns the status of a call that a capture of this thread forbids, and invalidates the
  /// capture. 0: there is none.
  [[nodiscard]] int forbidden_while_capturing();
  static void invalidate(Capture& capture);
  [[nodiscard]] bool capturing(const Stream& stream) const { return stream.capture != nullptr; }

  // Graphs.
  [[nodiscard]] static std::shared_ptr<const Program> program_of(const Graph& graph);
  [[nodiscard]] int launch(Executable& executable, Stream& stream);

  std::map<void*, std::unique_ptr<Stream>> streams;
  std::map<void*, std::unique_ptr<Event>> events;
  std::map<void*, std::unique_ptr<Graph>> graphs;
  std::map<void*, std::unique_ptr<Executable>> executables;
  std::map<void*, std::unique_ptr<KernelModule>> modules;
  std::set<void*> destroyed;  ///< handles; their objects are kept, so that no address comes twice
  std::vector<std::unique_ptr<Stream>> old_streams;
  std::vector<std::unique_ptr<Event>> old_events;
  std::vector<std::unique_ptr<KernelModule>> old_modules;
  std::vector<std::unique_ptr<Graph>> old_graphs;
  std::vector<std::unique_ptr<Executable>> old_executables;
  Stream* legacy = nullptr;

  // Script.
  std::array<std::uint64_t, kDurations> cost{100'000, 20'000, 20'000, 500, 5'000, 0};
  unsigned longest_delay = 300;  ///< microseconds
  std::mt19937 random{1};
  unsigned kernels = 0;  ///< executed so far

  /// Notes the use of an object that was destroyed, or never was one.
  void found_dead_handle(const char* kind, void* handle);
  [[nodiscard]] std::size_t leaks();

 private:
  Lane new_lane() { return ++lanes_; }
  void push(Stream& stream, Queued queued);
  void serve(Stream& stream);
  void execute(std::unique_lock<std::mutex>& lock, Stream& stream, Queued& queued);
  int run_one(std::unique_lock<std::mutex>& lock,
              const Operation& operation,
              Epoch epoch,
              const VectorTime& time);
  void run_program(std::unique_lock<std::mutex>& lock, Queued& queued);
  void host_reached(const VectorTime& time);

  Lane lanes_ = 0;
  VectorTime host_;
  std::uint64_t host_clock_ = 0;  // nanoseconds of the scripted clock
  std::size_t pending_ = 0;
  std::thread::id current_;
};

/// Returns the one stand-in of the process. It is never destroyed: streams' threads use it.
[[nodiscard]] Machine& machine();

/// One call of the driver: holds the machine's mutex, and has a status if the call cannot be tried.
class Call {
 public:
  explicit Call(const char* name, bool needs_context = true);
  [[nodiscard]] int status() const { return status_; }
  [[nodiscard]] std::unique_lock<std::mutex>& lock() { return lock_; }

 private:
  std::unique_lock<std::mutex> lock_;
  int status_;
};

}  // namespace plumb::stand_in
