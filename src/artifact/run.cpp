// SPDX-License-Identifier: BSD-3-Clause
// Running direct programs: the loop over the steps and what each step does.
#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "artifact/program.h"
#include "artifact/raw_writes.h"
#include "python/frame.h"
#include "python/hashed_dict.h"
#include "python/iterator_layout.h"
#include "python/itertools_layout.h"
#include "python/layout.h"
#include "python/sequences.h"
#include "python/set_table.h"
#include "tensor/fake_tensor.h"

namespace magneto::artifact {

namespace {

// A step's operands, resolved. Most steps have few.
class Operands {
 public:
  PyObject*& operator[](size_t i) { return data_[i]; }
  PyObject** data() { return data_; }
  // False with a Python error set.
  bool resize(size_t count) {
    if (count > inline_.size()) {
      heap_.reset(new (std::nothrow) PyObject*[count]);
      if (!heap_) {
        PyErr_NoMemory();
        return false;
      }
      data_ = heap_.get();
    }
    count_ = count;
    return true;
  }
  std::span<PyObject* const> from(size_t first) const {
    return {data_ + first, count_ - first};
  }

 private:
  std::array<PyObject*, 16> inline_;
  std::unique_ptr<PyObject*[]> heap_;
  PyObject** data_ = inline_.data();
  size_t count_ = 0;
};

Ref make_set(std::span<PyObject* const> items, bool frozen) {
  Ref set = Ref::steal(frozen ? PyFrozenSet_New(nullptr) : PySet_New(nullptr));
  if (!set) return nullptr;
  for (PyObject* item : items)
    if (PySet_Add(set, item) != 0) return nullptr;
  return set;
}

// class.__new__(class, items): tuple and frozenset subclasses, named tuples,
// torch.Size, torch.return_types.
Ref make_of(PyObject* type, std::span<PyObject* const> items) {
  Ref tuple = python::tuple_of(items);
  if (!tuple) return nullptr;
  Ref args = Ref::steal(PyTuple_Pack(1, tuple.get()));
  if (!args) return nullptr;
  return new_instance(reinterpret_cast<PyTypeObject*>(type), args);
}

bool advance(PyObject* iterator, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; ++i) {
    Ref item = Ref::steal(PyIter_Next(iterator));
    // At its end an iterator stays there.
    if (!item) return !PyErr_Occurred();
  }
  return true;
}

// Classes that programs can derive from are read by the base class's own
// function; a method of the derived class was called while tracing.
Ref iterator_of(PyObject* iterable) {
  for (PyTypeObject* base :
       {&PyTuple_Type, &PyList_Type, &PyUnicode_Type, &PyBytes_Type})
    if (PyObject_TypeCheck(iterable, base))
      return Ref::steal(base->tp_iter(iterable));
  return Ref::steal(PyObject_GetIter(iterable));
}

Ref make_iterator(PyObject* iterable, PyObject* position) {
  Ref iterator = iterator_of(iterable);
  if (!iterator || !advance(iterator, PyLong_AsSsize_t(position)))
    return nullptr;
  return iterator;
}

Ref make_instance(PyObject* type) {
  Ref args = Ref::steal(PyTuple_New(0));
  if (!args) return nullptr;
  return new_instance(reinterpret_cast<PyTypeObject*>(type), args);
}

bool set_closure(PyObject* function, std::span<PyObject* const> cells) {
  Ref closure = python::tuple_of(cells);
  return closure && PyFunction_SetClosure(function, closure) == 0;
}

bool fill_generator(PyObject* generator, PyObject* phase, PyObject* unit,
                    std::span<PyObject* const> operands) {
  std::vector<PyObject*> values(operands.begin(), operands.end());
  std::replace(values.begin(), values.end(), null_token(),
               static_cast<PyObject*>(nullptr));
  python::fill_generator(
      generator, static_cast<python::GeneratorPhase>(PyLong_AsLong(phase)),
      static_cast<int32_t>(PyLong_AsLong(unit)), values[0], values[1],
      std::span(values).subspan(2));
  return true;
}

// `annotations`: a dict, or a tuple of name, value, name, value, ... as
// MAKE_FUNCTION takes it.
bool set_annotations(PyObject* function, PyObject* annotations) {
  if (!PyTuple_Check(annotations))
    return PyFunction_SetAnnotations(function, annotations) == 0;
  Ref dict = Ref::steal(PyDict_New());
  if (!dict) return false;
  for (Py_ssize_t i = 0; i + 1 < PyTuple_GET_SIZE(annotations); i += 2)
    if (PyDict_SetItem(dict, PyTuple_GET_ITEM(annotations, i),
                       PyTuple_GET_ITEM(annotations, i + 1)) != 0)
      return false;
  return PyFunction_SetAnnotations(function, dict) == 0;
}

// What a step makes; null with a Python error set. A step without a case
// doesn't compile, here and in act().
Ref make(StepOp op, Operands& o, size_t count) {
  switch (op) {
    case StepOp::MakeTuple:
      return python::tuple_of(o.from(0));
    case StepOp::MakeTupleOf:
      return make_of(o[0], o.from(1));
    case StepOp::MakeList:
      return python::list_of(o.from(0));
    case StepOp::MakeDict:
      return Ref::steal(PyDict_New());
    case StepOp::MakeSet:
      return make_set(o.from(0), false);
    case StepOp::MakeFrozenSet:
      return make_set(o.from(0), true);
    case StepOp::MakeSlice:
      return Ref::steal(PySlice_New(o[0], o[1], o[2]));
    case StepOp::MakeCell:
      return Ref::steal(PyCell_New(nullptr));
    case StepOp::MakeMethod:
      return Ref::steal(PyMethod_New(o[0], o[1]));
    case StepOp::MakeFunction:
      return Ref::steal(PyFunction_NewWithQualName(o[0], o[1], o[2]));
    case StepOp::MakeInstance:
      return make_instance(o[0]);
    case StepOp::MakeIterator:
      return make_iterator(o[0], o[1]);
    case StepOp::MakeGenerator:
      return Ref::steal(
          python::make_generator(reinterpret_cast<PyCodeObject*>(o[0]), o[1]));
    case StepOp::CallFunction:
      return Ref::steal(
          PyObject_Vectorcall(o[0], o.data() + 1, count - 1, nullptr));
    case StepOp::CallGraph:
#define MG_STEP(name, result) MG_CASE_##result(name)
#define MG_CASE_0(name) case StepOp::name:
#define MG_CASE_1(name)
#include "values/model/steps.def"
#undef MG_CASE_0
#undef MG_CASE_1
#undef MG_STEP
      break;
  }
  PyErr_SetString(PyExc_SystemError, "not a step that makes an object");
  return nullptr;
}

// The arguments by keyword come last.
Ref called(PyObject* function, PyObject* names,
           std::span<PyObject* const> arguments) {
  const auto by_name = static_cast<size_t>(PyTuple_GET_SIZE(names));
  return Ref::steal(PyObject_Vectorcall(function, arguments.data(),
                                        arguments.size() - by_name,
                                        by_name ? names : nullptr));
}

// The result is known, so it is ignored, and so is an Exception. False with a
// Python error set that is no Exception.
bool use_cache(PyObject* function, PyObject* names,
               std::span<PyObject* const> arguments) {
  const Ref result = called(function, names, arguments);
  if (!result && PyErr_ExceptionMatches(PyExc_Exception)) PyErr_Clear();
  return !PyErr_Occurred();
}

// False with a Python error set.
bool act(StepOp op, Operands& o) {
  switch (op) {
    case StepOp::UseCache:
      return use_cache(o[0], o[1], o.from(2));
    case StepOp::CallForEffect:
      return static_cast<bool>(called(o[0], o[1], o.from(2)));
    case StepOp::AssignList:
      return assign_items(o[0], o.from(1));
    case StepOp::SetDequeItem:
      return set_deque_item(o[0], o[1], o[2]);
    case StepOp::ShiftDeque:
      return shift_deque(o[0], o[1], o.from(2));
    case StepOp::SetItem:
      return write_item(o[0], o[1], o[2]);
    case StepOp::SetHashedItem:
      return python::set_item_with_hash(o[0], o[1], o[2],
                                        PyLong_AsSsize_t(o[3]));
    case StepOp::SpliceList:
      return splice_list(o[0], o[1], o[2], o.from(3));
    case StepOp::DropItem:
      return write_item(o[0], o[1], nullptr);
    case StepOp::ClearDict:
      return clear_dict(o[0]);
    case StepOp::MoveToEnd:
      return move_to_end(o[0], o[1]);
    case StepOp::ClearSet:
      return PySet_Clear(o[0]) == 0;
    case StepOp::AddHashedItem:
      return python::add_with_hash(o[0], o[1], PyLong_AsSsize_t(o[2]));
    case StepOp::AddItems:
      return add_items(o[0], o.from(1));
    case StepOp::DiscardItems:
      return discard_items(o[0], o.from(1));
    case StepOp::SetAttribute:
      return write_attribute(o[0], o[1], o[2]);
    case StepOp::DropAttribute:
      return write_attribute(o[0], o[1], nullptr);
    case StepOp::ClearAttributes:
      return clear_attributes(o[0]);
    case StepOp::SetGradient:
      tensor::set_gradient(o[0], o[1]);
      return true;
    case StepOp::SetCell:
      return PyCell_Set(o[0], o[1]) == 0;
    case StepOp::ClearCell:
      return PyCell_Set(o[0], nullptr) == 0;
    case StepOp::SetContextVar:
      return static_cast<bool>(Ref::steal(PyContextVar_Set(o[0], o[1])));
    case StepOp::AdvanceIterator:
      python::advance_iterator(o[0], PyLong_AsSsize_t(o[1]));
      return true;
    case StepOp::SetIteratorWord:
      python::set_iterator_word(
          o[0], PyLong_AsSize_t(o[1]),
          o[2] == null_token() ? nullptr : static_cast<PyObject*>(o[2]));
      return true;
    case StepOp::SetEnumerate:
      python::set_enumerate_position(o[0], PyLong_AsSsize_t(o[1]));
      return true;
    case StepOp::SetDefaults:
      return PyFunction_SetDefaults(o[0], o[1]) == 0;
    case StepOp::SetKwDefaults:
      return PyFunction_SetKwDefaults(o[0], o[1]) == 0;
    case StepOp::SetAnnotations:
      return set_annotations(o[0], o[1]);
    case StepOp::SetClosure:
      return set_closure(o[0], o.from(1));
    case StepOp::FillGenerator:
      return fill_generator(o[0], o[1], o[2], o.from(3));
#define MG_STEP(name, result) MG_CASE_##result(name)
#define MG_CASE_0(name)
#define MG_CASE_1(name) case StepOp::name:
#include "values/model/steps.def"
#undef MG_CASE_0
#undef MG_CASE_1
#undef MG_STEP
      break;
  }
  PyErr_SetString(PyExc_SystemError, "not a step that acts");
  return false;
}

}  // namespace

// One run of a program.
class Run {
 public:
  Run(const DirectProgram& program, PyObject** slots)
      : program_(program), slots_(slots) {
    for (size_t i = 0; i < program_.input_count_; ++i)
      (void)Ref::share(slots_[i]).release();
    std::fill(slots_ + program_.input_count_, slots_ + program_.slot_count_,
              nullptr);
  }
  ~Run() {
    for (size_t i = 0; i < program_.slot_count_; ++i)
      Ref dead = Ref::steal(std::exchange(slots_[i], nullptr));
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  bool step(const Step& step) {
    if (step.op == StepOp::CallGraph) return call_graph(step);
    Operands operands;
    if (!operands.resize(step.count)) return false;
    for (uint32_t i = 0; i < step.count; ++i)
      operands[i] = at(program_.operands_[step.first + i]);
    if (step.target < 0) return act(step.op, operands);
    slots_[step.target] = make(step.op, operands, step.count).release();
    return slots_[step.target] != nullptr;
  }

  PyObject* at(SlotOrConstant operand) const {
    return operand >= 0 ? slots_[operand]
                        : program_.constants_[constant_index(operand)].get();
  }

 private:
  bool call_graph(const Step& step) {
    return program_.graph_->run(
        {slots_, program_.graph_input_count_},
        {slots_ + std::max(step.target, 0), program_.graph_output_count_});
  }

  const DirectProgram& program_;
  PyObject** slots_;
};

PyObject* null_token() {
  static PyObject* const token =
      PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type));
  return token;
}

RunEnd DirectProgram::run(PyObject** slots, PyObject** results) const noexcept {
  Run run(*this, slots);
  for (const Step& step : steps_)
    if (!run.step(step))
      return step.op == StepOp::CallGraph ? RunEnd::GraphFailed
                                          : RunEnd::Failed;
  for (size_t i = 0; i < results_.size(); ++i)
    results[i] = Ref::share(run.at(results_[i])).release();
  return RunEnd::Done;
}

}  // namespace magneto::artifact
