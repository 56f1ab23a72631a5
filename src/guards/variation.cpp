// SPDX-License-Identifier: BSD-3-Clause
// Which sizes, numbers and other constants of a call are others than those that
// a program's guards ask for.
#include "guards/check.h"
#include "guards/constant.h"
#include "guards/program.h"
#include "guards/read.h"
#include "guards/show.h"

namespace magneto::guards {

std::string size_name(const std::string& path, size_t dimension) {
  return number_name(path, IntKind::Size, static_cast<int64_t>(dimension));
}

std::string number_name(const std::string& path, IntKind kind, int64_t dim) {
  switch (kind) {
    case IntKind::Value:
      return path;
    case IntKind::Length:
      return "len(" + path + ")";
    case IntKind::Position:
      return "next(" + path + ")";
    case IntKind::Word:
      return path + ".part" + std::to_string(dim);
    case IntKind::Size:
      return path + ".size(" + std::to_string(dim) + ")";
    case IntKind::Stride:
      return path + ".stride(" + std::to_string(dim) + ")";
    case IntKind::StorageOffset:
      return path + ".storage_offset()";
    case IntKind::Address:
      return "id(" + path + ")";
    case IntKind::Random:
      return "random()";
    case IntKind::Below:
      return "randrange(" + std::to_string(dim) + ")";
    case IntKind::RandomBits:
      return "getrandbits(" + std::to_string(dim) + ")";
    case IntKind::Draw:
      return "a draw of " + path;
  }
  return path;
}

std::string item_name(const std::string& path, Py_ssize_t index) {
  return path + "[" + std::to_string(index) + "]";
}

bool is_number(PyObject* value) {
  return PyNumber_Check(value) && !PyBool_Check(value);
}

namespace {

// The names of `value`, at `path`, and of what is in it, that aren't as in
// `wanted`.
void add_variations(PyObject* wanted, PyObject* value, const std::string& path,
                    std::vector<std::string>& names) {
  if (same_constant(wanted, value)) return;
  if (Py_TYPE(value) != Py_TYPE(wanted)) {
    // An int in one call, a float in the next.
    if (is_number(value) && is_number(wanted)) names.push_back(path);
    return;
  }
  names.push_back(path);
  if (!PyTuple_Check(value)) return;
  const Py_ssize_t count = PyTuple_GET_SIZE(value);
  if (count != PyTuple_GET_SIZE(wanted)) return;
  for (Py_ssize_t i = 0; i < count; ++i)
    add_variations(PyTuple_GET_ITEM(wanted, i), PyTuple_GET_ITEM(value, i),
                   item_name(path, i), names);
}

}  // namespace

std::vector<std::string> GuardProgram::variations(const CallView& view) const {
  std::vector<std::string> names;
  if (!alive()) return names;
  std::vector<Source> sources;
  std::vector<PyObject*> values(nodes_.size(), nullptr);
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    const Source& source = nodes_[i].source;
    sources.push_back(source);
    if (source.base.valid() && !values[source.base.index]) continue;
    const Reading reading = source.base.valid()
                                ? read_step(source, values[source.base.index])
                                : read_root(source, view);
    if (!reading.is_present()) continue;
    PyObject* value = values[i] = reading.value();
    for (uint32_t k = nodes_[i].first_check; k < nodes_[i].last_check; ++k) {
      const Check& check = checks_[k];
      if (check.kind == GuardKind::ConstantEquals) {
        if (!holds(check, value))
          add_variations(check.object, value, print_path(sources, SourceId(i)),
                         names);
      } else if (check.kind == GuardKind::Tensor &&
                 hooks().tensor.other_sizes != nullptr) {
        for (uint32_t dimension :
             hooks().tensor.other_sizes(value, check.snapshot))
          names.push_back(
              size_name(print_path(sources, SourceId(i)), dimension));
        if (hooks().tensor.other_strides == nullptr) continue;
        for (uint32_t dimension :
             hooks().tensor.other_strides(value, check.snapshot))
          names.push_back(number_name(print_path(sources, SourceId(i)),
                                      IntKind::Stride, dimension));
      }
    }
  }
  return names;
}

}  // namespace magneto::guards
