// SPDX-License-Identifier: BSD-3-Clause
// The context of one trace: its stores (heap, graph, guards, sources, arena),
// the signal that is under way, and how a caller's object becomes a value.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "guards/guard.h"
#include "guards/source.h"
#include "python/ref.h"
#include "shapes/environment.h"
#include "shapes/number.h"
#include "shapes/range.h"
#include "support/arena.h"
#include "support/journal.h"
#include "support/outcome.h"
#include "tensor/default_device.h"
#include "tensor/fake_tensor.h"
#include "tensor/symbols.h"
#include "tensor/tensor_snapshot.h"
#include "values/break_info.h"
#include "values/cached_calls.h"
#include "values/deferred_calls.h"
#include "values/entered_contexts.h"
#include "values/heap.h"
#include "values/inliner.h"
#include "values/interfaces.h"
#include "values/value.h"

namespace magneto::values {

// A frame that only passes a call on: its instruction `index` calls, and it
// returns what it gets (Module.__call__).
struct PassingFrame {
  PyCodeObject* code;
  PyObject* globals;
  int32_t index;
};

// Said of a call whose result is that of the user's call instruction, as it is:
// where the callee breaks the graph, it can be gone on with by itself.
struct DirectCall {
  bool is_direct = false;
  std::span<const PassingFrame> through = {};  // outermost first
  // C code is in between, which holds what the call was given to its end.
  bool holds_operands = false;
};

class Context final : public Backing,
                      public Callers,
                      public Journaled,
                      public tensor::DataEnvironment {
 public:
  Context();
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  Arena arena;
  Journal journal;
  guards::SourceTable sources;
  guards::GuardSet guards{journal};
  tensor::DefaultDevices default_devices;
  EnteredContexts entered_contexts;
  Heap heap{journal, this};
  CachedCalls cached_calls;
  DeferredCalls deferred_calls;
  // The backend takes it over when the trace is done.
  std::unique_ptr<graph::Graph> owned_graph =
      std::make_unique<graph::Graph>(&journal);
  graph::Graph& graph = *owned_graph;
  tensor::FakeInputs fakes;
  // Those of the caller's that were keys, told by identity: guard_identities().
  std::vector<V> object_keys;
  bool has_fixed_objects = false;  // see fixed()
  Inliner* inliner = nullptr;
  NativeTable* natives = nullptr;
  // fullgraph=True: the frame can't be left to plain Python.
  bool must_be_whole = false;
  Witness* witness = nullptr;             // null: nobody wants to hear
  SymbolPolicy* symbol_policy = nullptr;  // null: none does
  int32_t native_depth = 0;               // calls of natives that are under way
  // What the last end of an iteration brought, for iterators that pass it on;
  // null if nothing: values::next().
  V end_value = nullptr;
  // Until the interpreter looks whether the trace gets on: instructions, and
  // what natives do to many items at once.
  int64_t steps_to_check = 0;
  // The nn.Module whose forward is being traced, for the nodes' metadata.
  graph::ScopeId scope;
  // Of the call that comes next; whoever calls takes it (std::exchange) before
  // anything else is called.
  DirectCall direct_call;
  bool native_is_direct = false;  // of a native that is called; as direct_call
  // Whether numbers out of tensors are symbols; else the graph breaks there.
  bool takes_data = true;
  // The same of an LSTM in training on a CPU; whether there is, or was, one.
  bool takes_lstm = true, has_lstm = false;
  // Whether what functions behind lru_cache make is made anew by each call, as
  // long as nobody touches it (Heap::share_since); else the graph breaks there.
  bool shares_cached = true;
  // Whether callees that break the graph are gone on with by themselves.
  bool keeps_inner_frames = true;
  // Whether instruction `index` of the code can be run in plain Python alone,
  // so that its frame goes on behind it.
  bool (*stands_alone)(PyCodeObject* code, int32_t index) = nullptr;
  // Special methods that are being called (see call_special).
  struct Question {
    V object;
    PyObject* name;
    friend bool operator==(const Question&, const Question&) = default;
  };
  std::vector<Question> open_questions;
  // Whether class_attributes() was asked for, by what was rolled back, too.
  bool has_written_classes = false;
  // find_attribute's exception where the class's own __getattr__ raised it.
  V missing_attribute = nullptr;

  // -- making values (making.cpp)
  // Keeps a real object alive until the trace ends and returns it.
  PyObject* keep(Ref object);
  V constant(Ref object);
  V constant_share(PyObject* object) { return constant(Ref::share(object)); }
  // Generic aliases and unions that the trace has made: see aliases.h.
  void remember_alias(PyObject* alias) { made_aliases_.push_back(alias); }
  bool is_made_alias(PyObject* alias) const {
    return std::ranges::find(made_aliases_, alias) != made_aliases_.end();
  }
  // A constant of a code object, which keeps it alive.
  V code_constant(PyObject* object);
  V none() const { return none_; }
  V boolean(bool value) const { return value ? true_ : false_; }
  V null() const { return null_; }
  V integer(int64_t value);
  V string(std::string_view text);
  // A tuple of the class `type`. Plain tuples of constants become Constants.
  V tuple(std::span<const V> items, PyTypeObject* type = &PyTuple_Type);
  V list(std::span<const V> items, PyTypeObject* type = &PyList_Type);
  V dict(PyTypeObject* type = &PyDict_Type);
  V set(PyTypeObject* type = &PySet_Type);
  V slice(V start, V stop, V step);
  V cell(V content);
  V method(V function, V self);
  V super(V type, V self);
  // A number; a constant if it is known to be one.
  V symbol(shapes::E number, SourceId source = {});
  V tensor(Ref fake, graph::NodeId node, PyTypeObject* type);
  // The same with more of its parts given.
  V tensor(TensorValue value, Ref fake, graph::NodeId node);
  V function(const FunctionValue& parts);
  // An instance made by the trace, without attributes yet.
  V object(PyTypeObject* type, Kind kind = Kind::Object);
  V iterator(PyTypeObject* type, std::span<const V> slots, int64_t number = 0,
             Kind kind = Kind::Iterator);
  // The tensor value that this fake belongs to, or null.
  V tensor_of(PyObject* fake) const;
  // An object that stands for the identity of a value made by the trace.
  PyObject* identity_token(V value);
  // Keys that hash and compare in Python code of their own, and what stood for
  // them: see key_token().
  struct OwnKey {
    V key;
    PyObject* token;
    Py_hash_t hash;
  };
  std::span<const OwnKey> own_keys() const { return own_keys_; }
  void remember_own_key(const OwnKey& key);

  // -- what comes from the caller (wrapping.cpp)
  // A value for a real object found at `source`, not yet looked at.
  V lazy(PyObject* object, SourceId source);
  // A value for a real object whose identity is certain already (found under a
  // guard on a class, say): no guard for the identity.
  V known(PyObject* object, SourceId source);
  // The same of what is there in each call; a new one is kept alive.
  V known(PyObject* object) { return known(object, sources.constant(object)); }
  V known(Ref object) { return known(keep(std::move(object))); }
  // A value for an object that is the same in each call, as a key that a guard
  // compares by identity: only what is read of it is guarded.
  V fixed(PyObject* object);
  // What a value is if it has been looked at, or itself. Guards nothing.
  V looked_at(V value) const;
  // The value itself, guarded: every operation on a value looks at it first.
  // A number that isn't known (and a text with one) becomes that of the call
  // which is traced, under a guard: few need to know of symbols.
  V look(V value) {
    if (value->kind == Kind::Lazy) value = look_lazy(value);
    return is_open(value) || is_any_function(value) ? specialized(value)
                                                    : value;
  }
  // The same, but a number may be a Symbol.
  V look_symbolic(V value) {
    value = look_open(value);
    return value->kind == Kind::Text ? specialized(value) : value;
  }
  // The same, but a number may be a Symbol, and a str a Text.
  V look_open(V value) {
    value = look_function(value);
    return is_any_function(value) ? specialized(value) : value;
  }
  // The same, but a function may be any with the same code (a Function with an
  // object): local functions are made anew for each call. Its type is known.
  V look_function(V value) {
    if (value->kind == Kind::Lazy) value = look_lazy(value);
    return value->kind == Kind::Symbol ? simplified(value) : value;
  }
  // Makes the attribute mapping of an object that has none yet; invalid if
  // objects of this kind have no instance dictionary.
  HeapId make_attributes(V object);
  // An attribute that a Constant (a function, a module) has itself, or null.
  V constant_attribute(V constant, PyObject* name);
  // The dictionary of a Constant that is a function or a module, or null.
  V constant_namespace(V constant);
  // `cls.__dict__`, of a class that is guarded as a whole, and the class whose
  // the Constant is; null if it is no such.
  V class_namespace(PyTypeObject* type);
  PyTypeObject* class_of_namespace(V constant) const;
  // The attributes that a class has itself, for writes: see
  // class_attributes.h. Null of a class whose __dict__ the program has in hand.
  V class_attributes(PyTypeObject* type);
  // The same, null of a class that hasn't been written to.
  V written_class(PyTypeObject* type) const;
  // What the class has under that name in its MRO is guarded.
  void guard_type_attribute(PyTypeObject* type, PyObject* name,
                            PyObject* found);

  // -- symbolic numbers (symbols.cpp)
  // The trace's symbols, made at the first use.
  const tensor::EnvironmentRef& environment();
  bool has_symbols() const { return environment_ != nullptr; }
  // Where the call brings the numbers that symbols stand for, by SymbolId.
  std::span<const guards::IntSource> symbol_sources() const {
    return symbol_sources_;
  }
  // "x.size(0)"; empty for a number that the graph computes.
  std::string symbol_name(shapes::SymbolId symbol) const;
  // The node that gives the number, if there is one.
  std::optional<graph::NodeId> node_of(shapes::E number) const;
  // A symbol for a number of the call's, whose value is `hint`.
  shapes::E new_symbol(shapes::Number hint, const guards::IntSource& source,
                       shapes::Type type, shapes::Range range = {},
                       shapes::Range always = {});
  // The same of a number that the piece draws: nothing is decided by it.
  V drawn(const guards::IntSource& source, shapes::Type type,
          shapes::Range range);
  // Whether what the call brings and the piece draws is all that it needs.
  bool comes_of_draws(shapes::E number) const;
  // The number in the graph: an input, or computed from inputs.
  graph::Arg number_argument(shapes::E number);
  // A symbol for the number that a node will give, in `range` for sure.
  // `make_node` gets an example for the node.
  V node_number(shapes::Type type, shapes::Range range,
                const std::function<graph::NodeId(Ref)>& make_node);
  tensor::EnvironmentRef data_environment() override {
    return takes_data ? environment() : nullptr;
  }
  // An int, float or bool; null if it isn't known (known_numbers.cpp).
  Ref known_number(PyObject* fake) override;
  bool assert_in_graph(shapes::E condition) override;
  // A condition that depends on data: the graph raises RuntimeError with that
  // text unless it holds, which is known from here on. Empty: plain Python
  // knows what is raised, and must be able to run the frame again
  // (needs_rerun).
  void assert_in_graph(shapes::E condition, const std::string& text);
  bool needs_rerun() const { return needs_rerun_; }
  // Makes each symbol in a size of a used input an input, too.
  void keep_sizes_of_inputs(std::span<const graph::Arg> outputs);
  // Whether any has been made.
  bool has_data_symbols() const {
    return environment_ && environment_->has_unbacked_symbols();
  }

  // -- signals (signals.cpp)
  Signal raise(PyObject* type, const std::string& message);
  Signal raise_value(V exception);
  // The C-API's error indicator becomes a traced exception.
  Signal raise_from_python();
  Signal graph_break(Reason reason, std::string detail = "",
                     std::string hint = "");
  Signal graph_break(const BreakException& found);
  // The whole frame runs in plain Python.
  Signal skip(Reason reason, std::string detail, std::string hint);
  V exception() const { return exception_; }  // after Signal::Raised
  // Where a call of the graph stands, as BreakInfo::stack.
  std::vector<Place> stack_of(graph::LocationId location) const;
  // Where it was raised, as BreakInfo::stack.
  std::vector<Place> exception_stack() const;
  V take_exception();
  const BreakInfo& break_info() const { return break_; }  // after Signal::Break
  // True if the pending exception is an instance of `type`.
  bool exception_is(PyObject* type) const;

  // -- Backing
  V read(HeapId dict, V key, PyObject* token) override;
  std::vector<V> keys(HeapId dict) override;

  // -- Callers
  std::vector<V> items(V list) override;
  // What dies (finalizers.cpp): breaks the graph where user code runs when the
  // value dies: the program must see it run here.
  void let_go(V value) override;
  // The same of what the caller's mapping has under a key that wasn't read.
  void let_go_unread(HeapId dict, V key, PyObject* token);
  // The piece is for calls in which nothing happens where the value dies, if
  // nothing does in this one.
  void guard_death(V value);

  // At the end of a trace: torch refuses to write to leaves that require grad,
  // and to some views, so of what was written to, guards say whether it is one
  // (wrapping.cpp).
  void guard_written_leaves();
  // Of a piece that writes to tensors and shows where it fails: such a failure
  // can't be undone, so no view of the caller's may cause one.
  void guard_refusals();
  // Guards what history a tensor of the caller's that requires grad has, such
  // as none; false if it is no such tensor.
  bool guard_history(V tensor);

  void undo(uint64_t what, uint64_t index) noexcept override;

 private:
  // Where the caller's mapping has its value under `token`, and what is there.
  // The source is invalid where the mapping surely has no such key.
  struct KeyPlace {
    SourceId source;
    guards::Reading reading = guards::Reading::absent();
  };
  KeyPlace place_of(HeapId dict, V key, PyObject* token);
  V make(Value value);
  V make_tuple(TupleValue value);
  V look_lazy(V value);
  V specialized(V open);
  [[noreturn]] void leave_varying(SourceId source, const std::string& name);
  V simplified(V symbol);
  V wrap_number(PyObject* object, SourceId source);
  graph::NodeId number_node(shapes::E number);
  graph::NodeId number_input(shapes::E number);
  bool is_computed_before_graph(shapes::E number) const;
  void remember_number(shapes::E number, graph::NodeId node);
  void remember_sizes(PyObject* fake, graph::NodeId node);
  V wrap(PyObject* object, SourceId source, bool known);
  V wrap_tensor(PyObject* object, SourceId source);
  shapes::E size_symbol(const SymbolPolicy::Size& wanted, int64_t size,
                        const guards::IntSource& source);
  void remember_source(shapes::E symbol, const guards::IntSource& source,
                       const std::string& group = {});
  std::optional<tensor::SymbolicShape> symbolic_shape(
      PyObject* tensor, SourceId source, tensor::TensorSnapshot& snapshot);
  V wrap_tuple(PyObject* object, SourceId source);
  V wrap_list(PyObject* object, SourceId source);
  V wrap_deque(PyObject* object, SourceId source);
  V wrap_mapping(PyObject* object, SourceId source);
  V wrap_set(PyObject* object, SourceId source);
  V wrap_mapping_proxy(PyObject* object, SourceId source);
  V wrap_method(PyObject* object, SourceId source);
  V wrap_cell(PyObject* object, SourceId source);
  V wrap_function(PyObject* object, SourceId source);

  std::vector<Ref> kept_;
  std::vector<PyObject*> made_aliases_;
  std::vector<OwnKey> own_keys_;
  // The caller's tensors, and what their guards compare.
  std::vector<std::pair<V, std::shared_ptr<tensor::TensorSnapshot>>>
      given_tensors_;
  V null_ = nullptr, none_ = nullptr, true_ = nullptr, false_ = nullptr;

  tensor::EnvironmentRef environment_;
  std::vector<guards::IntSource> symbol_sources_;
  bool needs_rerun_ = false;
  std::vector<std::string> symbol_groups_;  // the same of SymbolPolicy::Size

  V exception_ = nullptr;
  graph::LocationId raised_at_;
  BreakInfo break_;
  struct Memo;
  std::unique_ptr<Memo> memo_;
};

}  // namespace magneto::values
