// SPDX-License-Identifier: BSD-3-Clause
#include "entry/frame_rules.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace magneto::entry {
namespace {

using python::FrameAction;

struct Rule {
  std::string path;
  std::string function;  // empty: all that are there
  FrameAction action;
};

// The longest first.
std::vector<Rule>& rules() {
  static std::vector<Rule> rules;
  return rules;
}

std::optional<FrameAction> action_of(long number) {
  switch (number) {
    case static_cast<long>(FrameAction::Evaluate):
    case static_cast<long>(FrameAction::Pause):
    case static_cast<long>(FrameAction::Handle):
    case static_cast<long>(FrameAction::Whole):
    case static_cast<long>(FrameAction::Books):
      return static_cast<FrameAction>(number);
    default:
      return std::nullopt;
  }
}

std::string_view text(PyObject* string) noexcept {
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(string, &size);
  if (data) return {data, static_cast<size_t>(size)};
  PyErr_Clear();  // not UTF-8, which no path in the table is either
  return {};
}

// `path` is the file, or a folder that it is in. Code that is in no file has a
// name like <frozen os>.
bool fits(std::string_view path, std::string_view filename) {
  if (!filename.starts_with(path)) return false;
  return path.starts_with('<') || filename.size() == path.size() ||
         filename[path.size()] == '/';
}

// Class bodies run once, and what a comprehension collects is compiled by
// itself.
bool is_part_of_a_function(PyCodeObject* code) {
  const std::string_view name = text(code->co_name);
  return name.starts_with('<') && name != "<lambda>";
}

}  // namespace

bool set_frame_rules(PyObject* given) {
  std::vector<Rule> found;
  PyObject *path = nullptr, *number = nullptr;
  Py_ssize_t position = 0;
  while (PyDict_Next(given, &position, &path, &number)) {
    const char* name = PyUnicode_AsUTF8(path);
    if (!name) return false;
    const std::optional<FrameAction> action = action_of(PyLong_AsLong(number));
    if (!action) {
      PyErr_Format(PyExc_ValueError, "%R: no action for frames of %U", number,
                   path);
      return false;
    }
    const std::string_view place = name;
    const size_t colons = place.find("::");
    Rule rule{std::string(place.substr(0, colons)), {}, *action};
    if (colons != std::string_view::npos)
      rule.function = place.substr(colons + 2);
    found.push_back(std::move(rule));
  }
  std::ranges::sort(found, std::greater{}, [](const Rule& rule) {
    return rule.path.size() + rule.function.size();
  });
  rules() = std::move(found);
  return true;
}

FrameAction frame_rule(PyCodeObject* code) noexcept {
  const std::string_view filename = text(code->co_filename);
  const std::string_view function = text(code->co_name);
  const auto rule = std::ranges::find_if(rules(), [&](const Rule& each) {
    return fits(each.path, filename) &&
           (each.function.empty() || each.function == function);
  });
  const FrameAction action =
      rule == rules().end() ? FrameAction::Handle : rule->action;
  return action == FrameAction::Handle && is_part_of_a_function(code)
             ? FrameAction::Evaluate
             : action;
}

}  // namespace magneto::entry
