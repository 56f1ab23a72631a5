// SPDX-License-Identifier: BSD-3-Clause
#include "guards/show.h"

#include <string_view>

#include "guards/namespace.h"

namespace magneto::guards {
namespace {

constexpr size_t kLongestRepr = 200;

std::string utf8(PyObject* text) {
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(text, &size);
  if (data == nullptr) {  // a lone surrogate
    PyErr_Clear();
    return "?";
  }
  return {data, static_cast<size_t>(size)};
}

std::string constant_repr(PyObject* value) {
  Ref repr = Ref::steal(PyObject_Repr(value));
  if (!repr) {
    PyErr_Clear();
    return "?";
  }
  std::string text = utf8(repr);
  if (text.size() > kLongestRepr) {
    text.resize(kLongestRepr);
    while (!text.empty() && (text.back() & 0xc0) == 0x80) text.pop_back();
    text += "...";
  }
  return text;
}

std::string module_name(PyObject* module) {
  Ref name = Ref::steal(PyModule_GetNameObject(module));
  if (!name || !PyUnicode_Check(name)) {
    PyErr_Clear();
    return "?";
  }
  return utf8(name);
}

// A key or index that prints as an attribute in the user's terms, because it
// is looked up in one of nn.Module's registries.
bool is_module_registry(std::span<const Source> sources, const Source& dict) {
  if (dict.kind != SourceKind::InstanceAttr) return false;
  const std::string name = utf8(dict.object);
  return name == "_modules" || name == "_parameters" || name == "_buffers";
}

std::string registry_item(const std::string& owner, PyObject* key,
                          const std::string& registry) {
  if (PyUnicode_CheckExact(key)) {
    const std::string name = utf8(key);
    if (PyUnicode_IsIdentifier(key)) return owner + "." + name;
    if (!name.empty() &&
        name.find_first_not_of("0123456789") == std::string::npos) {
      return owner + "[" + name + "]";
    }
  }
  return owner + "." + registry + "[" + show(key) + "]";
}

std::string operand_name(const Source& source) {
  if (source.object == nullptr) return "?";
  if (source.kind == SourceKind::SlotMember) {
    return utf8(reinterpret_cast<PyDescrObject*>(source.object)->d_name);
  }
  return PyUnicode_Check(source.object) ? utf8(source.object) : "?";
}

// The row's printed form with its holes filled in.
std::string fill(std::string_view form, const Source& source,
                 const std::string& base) {
  std::string text;
  for (size_t i = 0; i < form.size(); ++i) {
    if (form[i] != '{') {
      text += form[i];
      continue;
    }
    const char hole = form[i + 1];
    if (hole == 'b') text += base;
    if (hole == 'i') text += std::to_string(source.index);
    if (hole == 'n') text += operand_name(source);
    if (hole == 'o') text += show(source.object);
    i += 2;
  }
  return text;
}

std::string_view row_form(SourceKind kind) {
  switch (kind) {
#define MG_SOURCE(Kind, operand, printed) \
  case SourceKind::Kind:                  \
    return printed;
#include "guards/sources.def"
#undef MG_SOURCE
  }
  return "?";
}

// What the user's form says differently from the row; empty if nothing.
std::string user_form(std::span<const Source> sources, const Source& source) {
  if (source.kind == SourceKind::Local) return operand_name(source);
  if (!source.base.valid()) return {};
  const Source& base = sources[source.base.index];
  if (source.kind == SourceKind::DictItem) {
    if (is_module_registry(sources, base)) {
      return registry_item(print_path(sources, base.base), source.object,
                           operand_name(base));
    }
    if (!PyUnicode_CheckExact(source.object)) return {};
    if (base.kind == SourceKind::Builtins) {
      return "builtins." + utf8(source.object);
    }
    PyObject* module = base.kind == SourceKind::Constant
                           ? module_of_namespace(base.object)
                           : nullptr;
    if (module != nullptr) {
      return module_name(module) + "." + utf8(source.object);
    }
  }
  return {};
}

}  // namespace

std::string show_type(PyTypeObject* type) {
  if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0) return type->tp_name;
  auto* heap = reinterpret_cast<PyHeapTypeObject*>(type);
  return utf8(heap->ht_qualname);
}

std::string show(PyObject* value) {
  if (is_constant(value)) return constant_repr(value);
  if (PyType_Check(value)) {
    return show_type(reinterpret_cast<PyTypeObject*>(value));
  }
  if (PyFunction_Check(value)) {
    return utf8(reinterpret_cast<PyFunctionObject*>(value)->func_qualname);
  }
  if (PyCFunction_Check(value)) {
    return reinterpret_cast<PyCFunctionObject*>(value)->m_ml->ml_name;
  }
  if (PyCode_Check(value)) {
    auto* code = reinterpret_cast<PyCodeObject*>(value);
    return "the code of " + utf8(code->co_qualname);
  }
  if (PyModule_CheckExact(value)) return module_name(value);
  if (PyObject* module = module_of_namespace(value)) {
    return "vars(" + module_name(module) + ")";
  }
  const std::string type = show_type(Py_TYPE(value));
  const bool vowel =
      std::string_view("AEIOUaeiou").find(type[0]) != std::string_view::npos;
  return (vowel ? "an " : "a ") + type + " object";
}

std::string print_absence(std::span<const Source> sources, SourceId id) {
  const Source& source = sources[id.index];
  if (source.kind == SourceKind::DictItem) {
    return show(source.object) + " not in " + print_path(sources, source.base);
  }
  if (source.kind == SourceKind::InstanceAttr) {
    return show(source.object) + " not in vars(" +
           print_path(sources, source.base) + ")";
  }
  return print_path(sources, id) + " is absent";
}

std::string print_path(std::span<const Source> sources, SourceId id,
                       PathStyle style) {
  const Source& source = sources[id.index];
  if (style == PathStyle::User) {
    std::string text = user_form(sources, source);
    if (!text.empty()) return text;
  }
  // A variable of the closure reads as the variable that it is to the user.
  if (source.kind == SourceKind::CellContents) {
    const Source& cell = sources[source.base.index];
    if (cell.kind == SourceKind::ClosureCell) {
      const std::string name = operand_name(cell);
      return style == PathStyle::User ? name : "L['" + name + "']";
    }
  }
  std::string base;
  if (source.base.valid()) base = print_path(sources, source.base, style);
  return fill(row_form(source.kind), source, base);
}

}  // namespace magneto::guards
