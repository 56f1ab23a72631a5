// SPDX-License-Identifier: BSD-3-Clause
// What values/ and natives/ ask of the interpreter of the trace.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "python/ref.h"
#include "support/outcome.h"
#include "values/model/value.h"

namespace magneto::values {

// Arguments of a call in the traced program: positional ones, and keyword
// values in the order of their names (interned str).
struct Arguments {
  std::span<const V> positional;
  std::span<const V> keyword_values;
  std::span<PyObject* const> keyword_names;
  // The first argument is a bound method's self: CPython's errors then name the
  // method with its class.
  bool is_bound = false;

  size_t count() const { return positional.size(); }
  bool has_keywords() const { return !keyword_names.empty(); }
  // The keyword argument of that name, or null.
  V keyword(PyObject* name) const;
};

// The keyword names of a call as vectorcall takes them; null if there are none.
Ref names_of(const Arguments& args);

// A call that a compiled piece makes for its effect; its result isn't used.
struct LateCall {
  LateCall(V callee, const Arguments& args);

  V function;
  std::vector<V> arguments;  // those by keyword come last
  Ref keywords;              // as names_of() gives them
  // A tensor that must not be written to from this version of it on: the call
  // would mean another state of it. Null: none.
  V unwritten = nullptr;
  int64_t version = 0;
};

// Implemented by trace/: runs a Python function's body over symbolic values.
class Inliner {
 public:
  virtual Outcome<V> inline_function(V function, const Arguments& args) = 0;
  // Runs a generator until it yields: the value, or null at its end, when
  // *returned is what it returned. `sent` is None for next(); `thrown`, if not
  // null, is an exception raised where the generator stands.
  virtual Outcome<V> resume_generator(V generator, V sent, V thrown,
                                      V* returned) = 0;
  // Where the program stands, for nodes of the graph.
  virtual graph::Origin origin() = 0;
  // Whether that is inside of a with or try block, in this frame or a caller.
  virtual bool is_in_block() = 0;
  // Whether the next instruction drops the result of the one that runs.
  virtual bool drops_result() const = 0;
  // The same for what isn't a call of the graph.
  virtual graph::LocationId location() = 0;
  // For super() without arguments: the class cell's content and first argument.
  // Null, or what CPython says where it doesn't find them.
  virtual const char* super_arguments(V* type, V* self) = 0;
  // The globals of the frame that runs, for globals() and imports.
  virtual PyObject* current_globals() = 0;
  // Names and values of the frame's locals, for locals(); null if unbound.
  virtual std::vector<std::pair<PyObject*, V>> current_locals() = 0;
  // The dict that locals() gives in the frame; null before it was called.
  virtual V& current_namespace() = 0;
  // The exception being handled (sys.exc_info), or null.
  virtual V handled_exception() = 0;
  // How many calls the trace is in: 0 in the outermost frame.
  virtual size_t depth() const = 0;
  // After a rollback: forgets the inner frames that would go on by themselves.
  virtual void drop_broken() = 0;
  // For dump(Context&): what the interpreter goes on with.
  virtual std::string dump() const = 0;
  // Whether an object that the caller's weak reference gave when the trace
  // began is surely still alive, whatever the program has dropped since.
  virtual bool surely_lives(PyObject* object) const = 0;

 protected:
  ~Inliner() = default;
};

}  // namespace magneto::values
