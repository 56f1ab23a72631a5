// SPDX-License-Identifier: BSD-3-Clause
// A function that an operator is given: its call is traced into a graph nested
// in the one that the operator stands in, and taken back where that can't be.
//
//   Body body(ctx, "the function of torch.utils.checkpoint.checkpoint");
//   MG_TRY(V result, body.trace(function, args));
//   const std::vector<V> tensors = body.tensors_in(result);
//   body.end(tensors);
//   give(ctx, ctx.graph().call_function(wrap, {read, ...}, ...), tensors);
//
// Tensors that it takes from outside become inputs of its graph when they are
// used in it (graph::Tracer). What it computes are values as any others: those
// that are needed behind it become outputs of its graph, and then items of what
// the operator gives.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "natives/registry.h"
#include "tensor/ambient.h"
#include "values/model/speculation.h"

namespace magneto::natives {

class Body {
 public:
  // `whose` it is: for messages.
  Body(Context& ctx, std::string whose);
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;

  // The call, which is recorded in the body's graph. If it breaks the graph or
  // raises, all is taken back, and the graph breaks at the operator, for a
  // reason that says where and why; of an exception the context knows nothing
  // any more. So it does if tensors from outside are written to.
  Outcome<V> trace(V function, const Arguments& args);
  // The same, for operators that may have bodies which write to tensors; to
  // which ones they may is for expect_writes_to() to say.
  Outcome<V> trace_writer(V function, const Arguments& args);
  // The graph breaks if tensors from outside were written to, but for these and
  // those that share memory with one.
  Status expect_writes_to(std::span<const V> tensors);

  // An input of its graph that isn't taken from outside: a tensor that has no
  // history, and an integer of which nothing is known.
  // It may be written to where that is said.
  V add_input(Ref fake, const char* name = "arg", bool is_written = false);
  V add_number();

  // The tensors in a value that the body has computed, in their order there:
  // what its graph is to give.
  std::vector<V> tensors_in(V value) const;

  // Whether it is a tensor that the body has computed.
  bool is_own(V value) const;

  // Whether it is, and shares memory neither with what it takes from outside,
  // nor with its inputs, nor with one of `others`.
  bool is_new(V value, std::span<const V> others) const;

  // The graph breaks if the call has written anything that was there before.
  Status expect_no_effects() const;
  // What it has written of that, as a clause: "it writes
  // to list L['log']"; empty if nothing.
  std::string write() const;
  // The same, where it is more than objects that hold none of the tensors that
  // the body has computed: those are written where the operator stands.
  std::string write_that_needs_it() const;

  // The graph gives these, as a tuple; its parent is traced on.
  void end(std::span<const V> tensors);
  void end(graph::Arg output);

  // Takes all back since the body began.
  void discard() { speculation_.rollback(); }

  // The tensors that it has taken from outside.
  std::span<const values::TakenTensor> taken() const {
    return ctx_.taken_tensors.items().subspan(taken_);
  }
  // Whether one of them needs a gradient.
  bool takes_gradients() const;
  graph::Graph& graph() const { return *graph_; }
  // Whether the body raised: trace() has ended in a break.
  bool raised() const { return raised_; }

 private:
  struct Input {
    PyObject* fake;
    int64_t version;
    bool is_written;
  };

  Signal refuse(Signal signal);

  Context& ctx_;
  std::string whose_;
  values::Speculation speculation_;
  graph::Graph* graph_;
  size_t taken_;  // of ctx.taken_tensors, that there were
  std::vector<Input> inputs_;
  bool raised_ = false;
};

// Autograd calls a backward and its hooks with gradients off, unless those of
// gradients are asked for: so their graphs don't say so.
class NoGradScope {
 public:
  NoGradScope() : before_(tensor::grad_mode()) { tensor::set_grad_mode(false); }
  ~NoGradScope() { tensor::set_grad_mode(before_); }
  NoGradScope(const NoGradScope&) = delete;
  NoGradScope& operator=(const NoGradScope&) = delete;

 private:
  bool before_;
};

// Whether it is a tensor, and needs one.
bool needs_gradient(V value);

// A node for an item of what `node` gives.
graph::NodeRef item_of(Context& ctx, graph::NodeId node, size_t index,
                       PyObject* example);

// The tensors become items of what the node gives, which is a tuple of them.
void become_items(Context& ctx, graph::NodeId node, std::span<const V> tensors);

// Records an operator that calls the body, `operation(body, *taken,
// **options)`, and gives the tensors in `result`, which is what the body gives.
void record_wrapped(Context& ctx, Body& body, PyObject* operation,
                    std::span<const graph::Keyword> options, V result);

// A tuple of the tensors' fakes: what a node that gives them has as example.
Ref fakes_of(std::span<const V> tensors);

}  // namespace magneto::natives
