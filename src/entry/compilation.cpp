// SPDX-License-Identifier: BSD-3-Clause
#include "entry/compilation.h"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "entry/backend_guards.h"
#include "entry/callable/stance.h"
#include "entry/callable/strict_regions.h"
#include "entry/idle_frames.h"
#include "entry/report/counters.h"
#include "entry/report/describe.h"
#include "entry/report/report.h"
#include "entry/report/symbol_report.h"
#include "entry/report/trace_report.h"
#include "entry/resume/resume_point.h"
#include "entry/view.h"
#include "graph/passes/passes.h"
#include "graph/python_handle.h"
#include "guards/hooks.h"
#include "python/code_object.h"
#include "python/find.h"
#include "python/layout.h"
#include "shapes/environment.h"
#include "support/check.h"
#include "tensor/fake_tensor.h"
#include "tensor/operator_effects.h"
#include "values/model/identity.h"
#include "values/torch/set_leaves.h"
#include "values/torch/tensor_choice.h"

namespace magneto::entry {

using values::BreakInfo;
using values::Capture;
using values::Ending;

namespace {

CaptureFrame capture_frame = nullptr;

Py_ssize_t module_count() { return PyDict_Size(PyImport_GetModuleDict()); }

bool has_island(PyCodeObject* code, int32_t index) {
  return CodeRecord::of(code).island(code, index) != nullptr;
}

}  // namespace

void set_capture_frame(CaptureFrame capture) noexcept {
  capture_frame = capture;
}

Compilation::Compilation(CodeCache& cache, const python::FrameRequest& request,
                         Wanted wanted, std::string& failure)
    : cache_(cache),
      request_(request),
      wanted_(wanted),
      code_(request.code),
      failed_before_(std::exchange(failure, {})),
      failure_(failure),
      must_not_break_(cache.settings()->fullgraph),
      modules_(module_count()) {
  ctx_.stands_alone = has_island;
  ctx_.takes_data = cache.takes_data && config_flag("capture_scalar_outputs") &&
                    config_flag("capture_dynamic_output_shape_ops");
  ctx_.takes_lstm = cache.takes_lstm;
  ctx_.shares_cached = cache.shares_cached;
  ctx_.sets_requires_grad = cache.sets_requires_grad;
  ctx_.must_be_whole = cache.settings()->fullgraph;
  ctx_.deferred_calls.allow(config_functions("reorderable_logging_functions"));
  ctx_.symbol_policy = &symbols_;
  static const bool rehearses = std::getenv("MAGNETO_REHEARSE") != nullptr;
  ctx_.rehearses = rehearses;
  tensor::operator_effects().begin();
}

std::optional<Compiled> Compilation::run() {
  MG_CHECK(capture_frame, "the module says how frames are traced");
  Capture capture = [&] {
    TraceReport hears(cache_, ctx_);
    return capture_frame(ctx_, request_, [&](const Capture& broken) {
      tensor::RealModeScope real;
      if (is_in_strict_region(ctx_)) return true;  // it's an error anyway
      BreakInfo why;
      return make_plan(broken, &why);
    });
  }();
  if (PyErr_Occurred()) return Compiled::Error;  // KeyboardInterrupt
  return finish(capture);
}

std::unique_ptr<guards::GuardProgram> Compilation::look() {
  (void)capture_frame(ctx_, request_, [](const Capture&) { return true; });
  return PyErr_Occurred() ? nullptr : compile_guards({});
}

// The user has said that a size varies, and the program is only right for one.
bool Compilation::keeps_promises() {
  const auto broken = symbols_.broken_promise(ctx_);
  if (!broken) return true;
  if (broken->contradiction.empty() && config_flag("allow_ignore_mark_dynamic"))
    return true;
  std::vector<std::string> stack;
  if (broken->place.valid())
    for (const values::FrameSummary& frame : ctx_.stack_of(broken->place))
      stack.push_back(frame.file + ":" + std::to_string(frame.line) + " in " +
                      frame.function);
  Details details;
  details.add("size", broken->size)
      .add("value", broken->value)
      .add("contradiction", broken->contradiction)
      .add("stack", stack)
      .add_place(code_, request_.start);
  return tell_user("promise_broken", details);
}

std::optional<Compiled> Compilation::finish(Capture& capture) {
  const auto index = static_cast<int32_t>(capture.index);
  BreakInfo why;
  if (!keeps_promises()) return Compiled::Error;
  if (touched_shared()) return std::nullopt;
  values::guard_identities(ctx_);
  switch (capture.ending) {
    case Ending::Raised: {
      Details details;
      report("raised", cache_,
             details.add_break(capture.info).add_place(code_, index));
      return add_raising(capture);
    }
    case Ending::Skip:
      return refuse(capture.info, index);
    case Ending::Break:
      must_not_break_ = must_not_break_ || is_in_strict_region(ctx_);
      if (must_not_break_) return refuse(capture.info, index);
      if (!can_break(capture, &why)) return refuse(why, index);
      break;
    case Ending::Return:
      break;
  }
  // With inner frames it has been planned already.
  if (capture.inner.empty() && !make_plan(capture, &why))
    return refuse(why,
                  capture.ending == Ending::Break ? index : request_.start);
  if (touched_shared()) return std::nullopt;
  if (values::shows_choice(ctx_.tracer.root())) {
    cache_.takes_data = false;
    return std::nullopt;
  }
  if (values::gives_set_leaf(ctx_)) {
    cache_.sets_requires_grad = false;
    return std::nullopt;
  }
  return add(capture);
}

bool Compilation::make_plan(const Capture& capture, BreakInfo* why) {
  slots_ = live_variables(ctx_, code_, capture);
  if (!slots_.hold_inference_modes) {
    *why = {"torch-state",
            "a torch.inference_mode is entered, and nothing holds it",
            "use it in a with statement"};
    return false;
  }
  if (!slots_.hold_operands) return false;  // the call breaks instead
  guard_dropped(ctx_, slots_);
  plan_ = std::make_unique<artifact::Plan>();
  return artifact::plan(ctx_, capture, request_, slots_.live, *plan_, why);
}

bool Compilation::touched_shared() {
  if (ctx_.heap.touched_shared()) cache_.shares_cached = false;
  return ctx_.heap.touched_shared();
}

// The frame runs in plain Python: an error if the user wants none of that.
Compiled Compilation::refuse(const BreakInfo& why, int32_t instruction) {
  Details details;
  details.add_break(why).add_place(code_, instruction);
  if (must_not_break_) {
    details.add("fullgraph", cache_.settings()->fullgraph ? Py_True : Py_False);
    (void)tell_user("unsupported", details);
    return Compiled::Error;
  }
  ++counters().skips;
  report("skip", cache_, details);
  (void)add_plain();
  cache_.entries().front()->leaves_calls = why.skips_calls;
  return why.skips_calls ? Compiled::Left : Compiled::Plain;
}

// An entry for calls that run in plain Python.
Compiled Compilation::add_plain(Why why) {
  auto* entry = new Entry;
  EntryHold hold(entry);
  entry->guards = why == Why::IsWithoutWork ? guards_of_idle_frame(ctx_)
                                            : compile_guards({});
  cache_.add(std::move(hold));
  return Compiled::Plain;
}

// An entry for calls in which plain Python raises what the trace has raised.
Compiled Compilation::add_raising(const Capture& capture) {
  (void)add_plain();
  Entry& entry = *cache_.entries().front();
  entry.raised = capture.info;
  entry.end = static_cast<int32_t>(capture.index);
  return Compiled::Raises;
}

std::unique_ptr<guards::GuardProgram> Compilation::compile_guards(
    std::span<const guards::Request> requests) {
  std::vector<shapes::Decision> conditions;
  std::vector<std::vector<values::FrameSummary>> stacks;
  guards::NumberGuards numbers;
  if (ctx_.symbols.exist()) {
    conditions = ctx_.symbols.environment()->guards();
    for (const shapes::Decision& condition : conditions)
      stacks.push_back(ctx_.stack_of(graph::LocationId(condition.place)));
    numbers = {.environment = ctx_.symbols.environment(),
               .symbols = ctx_.symbols.sources(),
               .conditions = conditions,
               .stacks = stacks};
  }
  return guards::compile(ctx_.sources, ctx_.guards, numbers, requests);
}

// Whether the frame can go on after the instruction.
bool Compilation::can_break(const Capture& capture, BreakInfo* why) {
  if (has_island(code_, static_cast<int32_t>(capture.index))) return true;
  *why = capture.info;
  why->detail += " (and nothing can be run in its place)";
  return false;
}

std::vector<guards::Request> Compilation::requests() {
  std::vector<guards::Request> all;
  for (const graph::Input& input : ctx_.tracer.root().inputs()) {
    guards::Request request{.source = guards::SourceId(input.source)};
    if (input.kind == graph::InputKind::Number)
      request = {
          .source = {},
          .number = ctx_.symbols.environment()->expressions().at(input.number)};
    all.push_back(request);
  }
  all.insert(all.end(), plan_->requests.begin(), plan_->requests.end());
  return all;
}

namespace {

// Whether mark_static_address(t, guard=True) has marked the tensor.
bool has_guarded_address(PyObject* tensor) {
  PyObject** dict = python::made_dict_slot(tensor);
  PyObject* mark =
      dict && *dict ? PyDict_GetItemString(*dict, "_dynamo_static_input_type")
                    : nullptr;
  return mark && PyUnicode_Check(mark) &&
         PyUnicode_CompareWithASCIIString(mark, "guarded") == 0;
}

}  // namespace

// Whether one of the graph's inputs is guarded by its identity.
bool Compilation::guard_static_addresses(std::span<PyObject* const> inputs) {
  bool any = false;
  const std::span<const graph::Input> known = ctx_.tracer.root().inputs();
  for (size_t i = 0; i < known.size(); ++i) {
    // Numbers are made later.
    if (known[i].kind == graph::InputKind::Number ||
        !tensor::is_tensor(inputs[i]) || !has_guarded_address(inputs[i]))
      continue;
    ctx_.guards.identity(guards::SourceId(known[i].source), inputs[i]);
    any = true;
  }
  return any;
}

// Finds the inputs, too. False: the guards don't hold.
bool Compilation::make_guards(Entry& entry,
                              std::span<const guards::Request> wanted,
                              std::span<PyObject*> inputs) {
  const guards::CallView view = view_of(request_);
  entry.guards = compile_guards(wanted);
  // An import while tracing may have registered classes.
  entry.guards->renew_class_facts();
  if (!entry.guards->run(view, inputs.data())) return false;
  if (!guard_static_addresses(inputs)) return true;
  entry.guards = compile_guards(wanted);
  return entry.guards->run(view, inputs.data());
}

namespace {

// Whether the program writes to caller's objects other than tensors.
bool writes_objects(const values::Heap& heap) {
  return std::ranges::any_of(heap.modified(), [&](values::HeapId id) {
    const values::HeapObject& state = heap[id];
    if (state.attributes_of.valid()) return true;
    const values::V owner = state.owner;
    return owner->kind != values::Kind::Tensor && owner->source.valid();
  });
}

}  // namespace

// Which of its inputs the graph writes to; `reals`: the inputs as the caller
// passed them.
std::vector<size_t> Compilation::written_inputs(
    std::span<PyObject* const> reals) const {
  std::vector<size_t> written;
  const tensor::OperatorEffects& effects = tensor::operator_effects();
  const std::span<const graph::Input> inputs = ctx_.tracer.root().inputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Ref& fake = ctx_.tracer.root().node(inputs[i].node).example;
    if (!fake || !tensor::is_fake(fake)) continue;
    if (tensor::version(fake) != tensor::version(reals[i]) ||
        effects.is_written(tensor::storage_id(fake)))
      written.push_back(i);
  }
  return written;
}

namespace {

// A failed assertion raises an error that only plain Python can make.
const BreakInfo kNotRepeatable{
    "data-dependent",
    "an assertion about a tensor's data in a graph that writes to its inputs, "
    "so that the function can't run again to raise its error",
    "assert with torch._check, whose RuntimeError the graph raises, or write "
    "to a copy"};

}  // namespace

bool Compilation::is_idle(const Capture& capture) const {
  const graph::Graph& graph = ctx_.tracer.root();
  return capture.ending == Ending::Return && request_.start == 0 &&
         (graph.call_count() == 0 || graph::only_sets_grad_mode(graph)) &&
         std::ranges::none_of(cache_.entries(), [](const EntryHold& entry) {
           return entry->has_calls || entry->rest;
         });
}

const BreakInfo kDrawnIsUnusual{
    "native-call",
    "what is computed with a random number is too large, or may be divided by "
    "zero",
    "draw it outside of the compiled function"};

std::optional<Compiled> Compilation::add(const Capture& capture) {
  graph::Graph& graph = ctx_.tracer.root();
  graph.seal();
  const auto& grad_mode =
      guards::hooks().ambient[static_cast<size_t>(guards::Ambient::GradMode)];
  graph::clean_up(graph, grad_mode.read ? grad_mode.read() != 0 : true);
  if (wanted_ == Wanted::InPassing && is_idle(capture))
    return add_plain(Why::IsWithoutWork);

  auto* entry = new Entry;
  EntryHold hold(entry);
  const bool is_failure_noticed =
      capture.calls_in_blocks || writes_objects(ctx_.heap);
  ctx_.given_tensors.guard_written_leaves();
  if (is_failure_noticed) ctx_.given_tensors.guard_refusals();
  const std::vector<guards::Request> wanted = requests();
  std::vector<PyObject*> inputs(wanted.size() + 1);
  std::vector<Ref> numbers;
  const guards::CallView view = view_of(request_);
  if (!make_guards(*entry, wanted, inputs)) {
    // The program looks at sys.modules, to which the trace has added modules.
    if (module_count() != modules_) return std::nullopt;
    // A signal's handler, a callback of the collector's or another thread may
    // have written to what was looked at, each time to another value.
    failure_ = entry->guards->explain_failure(view);
    MG_CHECK(failure_ != failed_before_,
             "the guards must hold for what was traced: " + failure_);
    return std::nullopt;
  }
  if (entry->guards->draws() && !entry->guards->make_up_drawn())
    return refuse(kDrawnIsUnusual, request_.start);
  if (!make_numbers(*entry->guards, inputs.data(), numbers))
    return Compiled::Error;
  SymbolReport symbols;
  if (is_observed()) symbols.collect(ctx_);
  const size_t graph_inputs = graph.inputs().size();
  artifact::DirectProgram& program = entry->program.emplace(
      plan_->builder.finish(graph_inputs, graph.call_count() != 0));
  if (capture.ending == Ending::Break)
    entry->rest =
        resume_point(cache_, capture, request_.globals, slots_, plan_->shapes);
  entry->shows_frames = plan_->shows_frames;
  entry->unchanged = capture.unchanged;
  if (request_.start != 0) entry->overwritten = capture.written;
  entry->end = static_cast<int32_t>(capture.index);
  const tensor::OperatorEffects& effects = tensor::operator_effects();
  FailurePolicy& failure = entry->failure;
  failure.may_be_handled = capture.calls_in_blocks;
  failure.asserts = ctx_.symbols.needs_rerun();
  failure.draws = effects.draws();
  failure.uses_accelerator = effects.uses_accelerator();
  entry->written = written_inputs({inputs.data(), graph_inputs});
  if (!entry->written.empty() && ctx_.symbols.needs_rerun()) {
    if (ctx_.must_be_whole) return refuse(kNotRepeatable, request_.start);
    cache_.takes_data = false;
    return std::nullopt;
  }
  if (!entry->written.empty()) {
    entry->places = CallPlaces(graph);
    using KeepsInputs = FailurePolicy::KeepsInputs;
    failure.keeps_inputs = !is_failure_noticed ? KeepsInputs::FirstRun
                           : effects.may_fail_behind_write()
                               ? KeepsInputs::EachRun
                               : KeepsInputs::FirstRunOrBeforeWrite;
    failure.first_write = graph::NodeId(effects.first_write().value_or(0));
  }
  entry->has_calls = graph.call_count() != 0;
  if (program.calls_graph() && graph::only_sets_grad_mode(graph)) {
    const Ref handle = graph::make_handle(std::move(ctx_.owned_graph));
    Ref function = Ref::steal(
        handle ? PyObject_CallMethod(handle, "function", nullptr) : nullptr);
    if (!function) return Compiled::Error;
    program.set_graph(graph::compiled_graph_of(std::move(function)));
  } else if (program.calls_graph()) {
    Ref examples =
        Ref::steal(PyList_New(static_cast<Py_ssize_t>(graph_inputs)));
    if (!examples) return Compiled::Error;
    for (size_t i = 0; i < graph_inputs; ++i)
      PyList_SET_ITEM(examples.get(), static_cast<Py_ssize_t>(i),
                      Ref::share(inputs[i]).release());
    Ref compiled = compile_graph(wanted, std::move(examples), capture, *entry);
    if (!compiled) {
      if (cache_.takes_data != ctx_.takes_data ||
          cache_.takes_lstm != ctx_.takes_lstm)
        return std::nullopt;
      Ref skip = Ref::steal(PyErr_Occurred() ? nullptr : PyList_New(0));
      return skip ? add_plain() : Compiled::Error;
    }
    program.set_graph(graph::compiled_graph_of(std::move(compiled)));
  }
  if (entry->rest) ++counters().graph_breaks;
  if (is_observed())
    report_entry(cache_, *entry, capture.info, symbols.list(ctx_));
  cache_.add(std::move(hold));
  return Compiled::Entry;
}

namespace {

Ref list_of_numbers(std::span<const size_t> numbers) {
  Ref list = Ref::steal(PyList_New(static_cast<Py_ssize_t>(numbers.size())));
  for (size_t i = 0; list && i < numbers.size(); ++i) {
    PyObject* number = PyLong_FromSize_t(numbers[i]);
    if (!number) return nullptr;
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), number);
  }
  return list;
}

}  // namespace

// The backend's callable. Null with a Python error set, or without one if the
// backend refuses the frame, or refuses a graph with numbers out of tensors
// (which the cache then notes).
Ref Compilation::compile_graph(std::span<const guards::Request> requests,
                               Ref examples, const Capture& capture,
                               Entry& entry) {
  Ref backend = backend_of(cache_.settings());
  Ref module = import_module("magneto.backends");
  Ref function = Ref::steal(
      module ? PyObject_GetAttrString(module, "compile_graph") : nullptr);
  Ref handle = graph::make_handle(std::move(ctx_.owned_graph));
  Ref backend_guards = Ref::steal(PyList_New(0));
  Ref written = list_of_numbers(entry.written);
  if (!backend || !function || !handle || !backend_guards || !written)
    return nullptr;
  Details reason;
  reason.add_break(capture.info)
      .add("graph_break", capture.ending == Ending::Break ? Py_True : Py_False)
      .add_place(code_, capture.ending == Ending::Break
                            ? static_cast<int32_t>(capture.index)
                            : request_.start);
  Ref args =
      Ref::steal(PyTuple_Pack(3, backend.get(), handle.get(), examples.get()));
  Ref keywords = Ref::steal(Py_BuildValue(
      "{s:i,s:i,s:i,s:O,s:O,s:O,s:O,s:O,s:O,s:O,s:O}", "frame_id",
      cache_.frame_id, "compile_id", cache_.compilations, "restart",
      cache_.restarts, "reason", reason.dict(), "guards", backend_guards.get(),
      "is_symbolic", ctx_.symbols.exist() ? Py_True : Py_False,
      "may_refuse_data",
      ctx_.symbols.exist_of_data() && !ctx_.must_be_whole ? Py_True : Py_False,
      "must_be_whole", ctx_.must_be_whole ? Py_True : Py_False,
      "differentiates_lstm", ctx_.has_lstm ? Py_True : Py_False,
      "may_refuse_lstm",
      ctx_.has_lstm && !ctx_.must_be_whole ? Py_True : Py_False, "written",
      written.get()));
  Ref exceptions = import_module("magneto.exc");
  Ref skip = Ref::steal(
      exceptions ? PyObject_GetAttrString(exceptions, "SkipFrame") : nullptr);
  Ref data = Ref::steal(
      exceptions ? PyObject_GetAttrString(exceptions, "DataRefused") : nullptr);
  Ref lstm = Ref::steal(
      exceptions ? PyObject_GetAttrString(exceptions, "LstmRefused") : nullptr);
  if (!args || !keywords || !skip || !data || !lstm) return nullptr;
  Ref compiled = Ref::steal(PyObject_Call(function, args, keywords));
  ++counters().graphs;
  if (!compiled) {
    if (PyErr_ExceptionMatches(data)) cache_.takes_data = false;
    if (PyErr_ExceptionMatches(lstm)) cache_.takes_lstm = false;
    if (PyErr_ExceptionMatches(skip) || PyErr_ExceptionMatches(data) ||
        PyErr_ExceptionMatches(lstm))
      PyErr_Clear();
    return nullptr;
  }
  if (!add_backend_guards(ctx_, backend_guards, requests)) return nullptr;
  if (PyList_GET_SIZE(backend_guards.get()) > 0)
    entry.guards = compile_guards(requests);
  return compiled;
}

}  // namespace magneto::entry
