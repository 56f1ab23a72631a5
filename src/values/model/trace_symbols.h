// SPDX-License-Identifier: BSD-3-Clause
// The symbolic numbers of one trace: where the call brings them, what is known
// of them, and how they stand in the graph.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "graph/graph.h"
#include "guards/guard.h"
#include "shapes/environment.h"
#include "shapes/number.h"
#include "shapes/range.h"
#include "support/journaled.h"
#include "tensor/symbols.h"
#include "tensor/tensor_snapshot.h"
#include "values/model/interfaces.h"
#include "values/model/value.h"

namespace magneto::values {

class Context;

class TraceSymbols final : public tensor::DataEnvironment {
 public:
  explicit TraceSymbols(Context& ctx);
  ~TraceSymbols();
  TraceSymbols(const TraceSymbols&) = delete;
  TraceSymbols& operator=(const TraceSymbols&) = delete;

  // The trace's symbols, made at the first use.
  const tensor::EnvironmentRef& environment();
  bool exist() const { return environment_ != nullptr; }
  // Whether any has been made that only data tells.
  bool exist_of_data() const {
    return environment_ && environment_->has_unbacked_symbols();
  }
  // Where the call brings the numbers that symbols stand for, by SymbolId.
  std::span<const guards::IntSource> sources() const { return sources_; }
  // "x.size(0)"; empty for a number that the graph computes.
  std::string name(shapes::SymbolId symbol) const;
  // A number in the user's terms.
  std::string show(shapes::E number) const;
  // The sizes of a fake, symbolic or not: "[2, x.size(0)]".
  std::string show_sizes(PyObject* fake) const;

  // -- making them
  // The value of a number; a constant if it is known to be one.
  V value(shapes::E number, SourceId source = {});
  // A symbol for a number of the call's, whose value is `hint`.
  shapes::E make(shapes::Number hint, const guards::IntSource& source,
                 shapes::Type type, shapes::Range range = {},
                 shapes::Range always = {});
  // The same for a random number that the piece draws: nothing is decided by
  // its value.
  V drawn(const guards::IntSource& source, shapes::Type type,
          shapes::Range range);
  // How often drawn() was asked for one, with those that were taken back.
  size_t drawn_count() const { return drawn_count_; }
  // Whether it can be computed from what the call brings and the piece draws.
  bool comes_of_draws(shapes::E number) const;
  // A symbol for the caller's int or float if it is one that varies; else null.
  V wrap_number(PyObject* object, SourceId source);
  // Which sizes of an input are symbols, and its strides in terms of them;
  // nothing if none is.
  std::optional<tensor::SymbolicShape> shape_of(
      PyObject* tensor, SourceId source, tensor::TensorSnapshot& snapshot);

  // -- what is known of them
  V simplified(V symbol);
  // The number of the call that is traced, under a guard.
  V specialized(V symbol);
  // Breaks the graph: something needs the value of a number that has varied so
  // often that it is not compiled for each value any more.
  [[noreturn]] void leave_varying(SourceId source, const std::string& name);

  // -- in the graph
  // The node that gives the number, if there is one.
  std::optional<graph::NodeRef> node_of(shapes::E number) const;
  // The number in the graph: an input, or computed from inputs.
  graph::Arg argument(shapes::E number);
  // A symbol for the number that a node will give, in `range` for sure.
  // `make_node` gets an example for the node.
  V node_number(shapes::Type type, shapes::Range range,
                const std::function<graph::NodeId(Ref)>& make_node);
  // The same in three steps: the symbol, an example for the node, and which
  // node it is.
  shapes::E expect_number(shapes::Type type, shapes::Range range = {});
  Ref example(shapes::E number) const;
  void remember_node(shapes::E number, graph::NodeRef node);
  // Sizes of the fake that only the graph's run tells are read off that node.
  void remember_sizes(PyObject* fake, graph::NodeRef node);
  // A condition that depends on data: the graph raises RuntimeError with that
  // text unless it holds, which is known from here on. Empty: plain Python
  // knows what is raised, and must be able to run the frame again
  // (needs_rerun).
  void assert_in_graph(shapes::E condition, const std::string& text);
  bool needs_rerun() const { return needs_rerun_; }
  // Makes each symbol in a size of a used input an input, too.
  void keep_sizes_of_inputs(std::span<const graph::Arg> outputs);

  // -- tensor::DataEnvironment
  tensor::EnvironmentRef data_environment() override;
  // An int, float or bool; null if it isn't known (known_numbers.cpp).
  Ref known_number(PyObject* fake) override;
  bool assert_in_graph(shapes::E condition) override;

 private:
  shapes::E size_symbol(const SymbolPolicy::Size& wanted, int64_t size,
                        const guards::IntSource& source);
  void remember_source(shapes::E symbol, const guards::IntSource& source,
                       const std::string& group = {});
  graph::NodeId number_node(shapes::E number);
  graph::NodeRef number_input(shapes::E number);
  bool is_computed_before_graph(shapes::E number) const;

  Context& ctx_;
  tensor::EnvironmentRef environment_;
  // By SymbolId, empty of numbers that the graph computes; and the same of
  // SymbolPolicy::Size.
  JournaledList<guards::IntSource> sources_;
  JournaledList<std::string> groups_;
  JournaledMap<shapes::E, graph::NodeRef> nodes_;
  JournaledValue<bool> needs_rerun_;
  size_t drawn_count_ = 0;
};

}  // namespace magneto::values
