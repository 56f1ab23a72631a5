// SPDX-License-Identifier: BSD-3-Clause
// Which sizes and numbers of a call are others than those that a program's
// guards ask for.
#include "guards/check.h"
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
    case IntKind::Size:
      return path + ".size(" + std::to_string(dim) + ")";
    case IntKind::Stride:
      return path + ".stride(" + std::to_string(dim) + ")";
    case IntKind::StorageOffset:
      return path + ".storage_offset()";
  }
  return path;
}

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
        // Others, as strings are, choose what a program does.
        const bool are_numbers = Py_TYPE(value) == Py_TYPE(check.object) &&
                                 PyNumber_Check(value) && !PyBool_Check(value);
        const bool varies = are_numbers && !holds(check, value);
        if (varies) names.push_back(print_path(sources, SourceId(i)));
      } else if (check.kind == GuardKind::Tensor &&
                 hooks().tensor.other_sizes != nullptr) {
        for (uint32_t dimension :
             hooks().tensor.other_sizes(value, check.snapshot))
          names.push_back(
              size_name(print_path(sources, SourceId(i)), dimension));
      }
    }
  }
  return names;
}

}  // namespace magneto::guards
