// SPDX-License-Identifier: BSD-3-Clause
// The format is cut into its conversions. The text of an object is made by the
// traced program; how it is padded, and numbers, are CPython's own affair.
#include "values/types/percent.h"

#include <cctype>
#include <cstring>
#include <utility>

#include "python/int_conversions.h"
#include "python/names.h"
#include "values/protocol/operands.h"
#include "values/protocol/protocol.h"
#include "values/protocol/symbolic.h"
#include "values/types/digits_limit.h"
#include "values/types/texts.h"

namespace magneto::values {

namespace {

// FVC_STR, FVC_REPR and FVC_ASCII of f-strings.
constexpr int kStr = 1, kRepr = 2, kAscii = 3;

class Percent {
 public:
  Percent(Context& ctx, V format, V values)
      : ctx_(ctx), format_(format->object), values_(ctx.look(values)) {}

  Outcome<V> run();

 private:
  Py_UCS4 at(Py_ssize_t i) const { return PyUnicode_READ_CHAR(format_, i); }
  bool starts_with_flag(Py_ssize_t i) const {
    switch (at(i)) {
      case '-':
      case '+':
      case ' ':
      case '#':
      case '0':
        return true;
      default:
        return false;
    }
  }
  Signal incomplete() {
    return ctx_.raise(PyExc_ValueError, "incomplete format");
  }
  Outcome<V> next_value();
  Status conversion(Py_ssize_t& i);
  Status key(Py_ssize_t& i);
  Status number(Py_ssize_t& i, std::string& spec);
  Status write(const std::string& spec, Py_UCS4 letter, V value,
               Py_ssize_t place);
  V text_of_symbol(const std::string& spec, Py_UCS4 letter, V number);
  Status refuse(Py_UCS4 letter, V value);
  Status append(PyObject* fresh) {
    Ref text = Ref::steal(fresh);
    if (!text) return ctx_.raise_from_python();
    parts_.push_back(ctx_.constant(std::move(text)));
    return done;
  }

  Context& ctx_;
  PyObject* format_;
  V values_;
  V keyed_ = nullptr;  // the item that "(key)" names, until it is used
  bool is_tuple_ = false, is_mapping_ = false;
  std::vector<V> items_;
  size_t used_ = 0;
  std::vector<V> parts_;
};

Outcome<V> Percent::next_value() {
  if (keyed_) return std::exchange(keyed_, nullptr);
  if (used_ < items_.size()) return items_[used_++];
  return ctx_.raise(PyExc_TypeError, "not enough arguments for format string");
}

// "(key)": what follows formats that item of the mapping.
Status Percent::key(Py_ssize_t& i) {
  if (!is_mapping_)
    return ctx_.raise(PyExc_TypeError, "format requires a mapping");
  const Py_ssize_t size = PyUnicode_GET_LENGTH(format_);
  const Py_ssize_t start = ++i;
  for (int depth = 1; i < size; ++i) {
    if (at(i) == '(') ++depth;
    if (at(i) == ')' && --depth == 0) break;
  }
  if (i >= size) return ctx_.raise(PyExc_ValueError, "incomplete format key");
  Ref text = Ref::steal(PyUnicode_Substring(format_, start, i++));
  MG_CHECK(text, "out of memory");
  MG_TRY(keyed_, get_item(ctx_, values_, ctx_.constant(std::move(text))));
  // The mapping counts as used up.
  used_ = items_.size();
  return done;
}

// A width or a precision: digits, or "*" for the next value.
Status Percent::number(Py_ssize_t& i, std::string& spec) {
  const Py_ssize_t size = PyUnicode_GET_LENGTH(format_);
  if (i < size && at(i) == '*') {
    ++i;
    MG_TRY(V given, next_value());
    given = ctx_.look(given);
    if (!given->is_constant() || !PyLong_Check(given->object))
      return ctx_.raise(PyExc_TypeError, "* wants int");
    // A negative precision is none; a negative width pads on the right.
    const bool is_precision = !spec.empty() && spec.back() == '.';
    const Py_ssize_t width = is_precision ? python::to_c_int(given->object)
                                          : PyLong_AsSsize_t(given->object);
    if (width == -1 && PyErr_Occurred()) return ctx_.raise_from_python();
    spec +=
        std::to_string(is_precision ? std::max<Py_ssize_t>(width, 0) : width);
    return done;
  }
  for (; i < size && at(i) < 128 && std::isdigit(static_cast<int>(at(i))); ++i)
    spec += static_cast<char>(at(i));
  return done;
}

Status Percent::conversion(Py_ssize_t& i) {
  const Py_ssize_t size = PyUnicode_GET_LENGTH(format_);
  std::string spec = "%";
  ++i;
  if (i < size && at(i) == '(') MG_DO(key(i));
  for (; i < size && starts_with_flag(i); ++i) spec += static_cast<char>(at(i));
  MG_DO(number(i, spec));
  if (i < size && at(i) == '.') {
    spec += '.';
    ++i;
    MG_DO(number(i, spec));
  }
  if (i < size && (at(i) == 'h' || at(i) == 'l' || at(i) == 'L')) ++i;
  if (i >= size) return incomplete();
  const Py_ssize_t place = i;
  const Py_UCS4 letter = at(i++);
  if (letter == '%') return append(PyUnicode_FromString("%"));
  MG_TRY(V value, next_value());
  return write(spec, letter, value, place);
}

Status Percent::write(const std::string& spec, Py_UCS4 letter, V value,
                      Py_ssize_t place) {
  const int text_of = letter == 's'   ? kStr
                      : letter == 'r' ? kRepr
                      : letter == 'a' ? kAscii
                                      : 0;
  if (text_of) {
    MG_TRY(value, ctx_.natives->format(ctx_, value, text_of, nullptr));
    if (spec == "%") {
      parts_.push_back(value);
      return done;
    }
  }
  value = ctx_.look_symbolic(value);
  if (is_symbol(value)) {
    if (V text = text_of_symbol(spec, letter, value)) {
      parts_.push_back(text);
      return done;
    }
    value = ctx_.look(value);
  }
  if (value->kind == Kind::Tensor)
    return ctx_.graph_break("data-dependent", "the text of a tensor",
                            "print or format tensors outside of the compiled "
                            "function");
  PyObject* real = as_constant(ctx_, value);
  const bool is_number = real && (PyLong_Check(real) || PyFloat_Check(real));
  if (!is_number && (!real || !is_safe_type(Py_TYPE(real))))
    return refuse(letter, value);
  // C code asks a class derived from a number's for another number.
  if (is_number && (value->type->tp_flags & Py_TPFLAGS_HEAPTYPE))
    for (PyObject* asked : {interned().dunder_int, interned().dunder_float,
                            interned().dunder_index})
      if (own_special(ctx_, value->type, asked))
        return ctx_.graph_break("c-protocol",
                                std::string("the text of a ") +
                                    value->type->tp_name +
                                    ", which makes numbers itself",
                                "format a plain number");
  Ref format = Ref::steal(PyUnicode_FromFormat("%s%c", spec.c_str(), letter));
  if (letter > 127 || !format) {
    PyErr_Clear();
    format = Ref::steal(PyUnicode_FromString("%s"));
  }
  guard_digits_limit(ctx_, real);
  Ref one = Ref::steal(PyTuple_Pack(1, real));
  Ref text = Ref::steal(one ? PyUnicode_Format(format, one) : nullptr);
  if (text) {
    parts_.push_back(ctx_.constant(std::move(text)));
    return done;
  }
  const bool is_known = letter < 128 && std::strchr("diuoxXeEfFgGcrsa", letter);
  if (is_known || !PyErr_ExceptionMatches(PyExc_ValueError))
    return ctx_.raise_from_python();
  // "unsupported format character ... at index 1": ours is further on.
  PyErr_Clear();
  Ref message = Ref::steal(PyUnicode_FromFormat(
      "unsupported format character '%c' (0x%x) at index %zd",
      letter > 31 && letter < 127 ? static_cast<int>(letter) : '?', letter,
      place));
  return ctx_.raise(PyExc_ValueError, PyUnicode_AsUTF8(message));
}

// What format() says as well: no flags but "0", and none of an int's precision.
V Percent::text_of_symbol(const std::string& spec, Py_UCS4 letter, V number) {
  if (letter > 127) return nullptr;
  const auto kind = static_cast<char>(letter);
  const bool is_real = std::strchr("eEfFgG", kind);
  const bool is_whole =
      std::strchr("dixXo", kind) && number->type != &PyFloat_Type;
  const std::string width = spec.substr(1);
  const size_t plain =
      width.find_first_not_of(is_real ? "0123456789." : "0123456789");
  if ((!is_real && !is_whole) || plain != std::string::npos) return nullptr;
  Ref format = Ref::steal(
      PyUnicode_FromFormat("%s%c", width.c_str(), kind == 'i' ? 'd' : kind));
  MG_CHECK(format, "out of memory");
  return text_of_number(ctx_, number, ctx_.keep(std::move(format)));
}

// Whether C code of the type's makes the number that a letter asks for.
bool turns_into_number(PyTypeObject* type, bool real, bool integral) {
  const PyNumberMethods* methods = type->tp_as_number;
  if (!methods || (type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return false;
  return methods->nb_index || (!integral && methods->nb_float) ||
         (!integral && !real && methods->nb_int);
}

// A number's letter, and an object that is none; it may turn into one by a
// method of its own.
Status Percent::refuse(Py_UCS4 letter, V value) {
  const bool real = letter < 128 && std::strchr("eEfFgG", letter);
  const bool integral = letter < 128 && std::strchr("oxX", letter);
  if (value->type->tp_flags & Py_TPFLAGS_HEAPTYPE) {
    const Names& names = interned();
    const bool any = !real && !integral && letter != 'c';
    // What counts as a number, as a complex one does, may be truncated, too.
    const bool may_truncate =
        any && PyType_IsSubtype(value->type, &PyComplex_Type);
    for (PyObject* asked :
         {any ? names.dunder_int : names.dunder_index, names.dunder_index,
          any || real ? names.dunder_float : names.dunder_index,
          may_truncate ? names.dunder_trunc : names.dunder_index}) {
      MG_TRY(V method, special_method(ctx_, value, asked));
      if (!method) continue;
      return ctx_.graph_break("operator",
                              std::string("% of a ") + value->type->tp_name,
                              "convert it with int() or float()");
    }
  }
  if (turns_into_number(value->type, real, integral || letter == 'c'))
    return ctx_.graph_break("operator",
                            std::string("% of a ") + value->type->tp_name,
                            "convert it with int() or float()");
  if (letter == 'c')
    return ctx_.raise(PyExc_TypeError, "%c requires int or char");
  const std::string type = value->type->tp_name;
  if (real)
    return ctx_.raise(PyExc_TypeError, "must be real number, not " + type);
  return ctx_.raise(PyExc_TypeError,
                    std::string("%") + static_cast<char>(letter) +
                        (integral ? " format: an integer is required, not "
                                  : " format: a real number is required, "
                                    "not ") +
                        type);
}

Outcome<V> Percent::run() {
  is_tuple_ = is_instance_of(values_, &PyTuple_Type);
  if (is_tuple_) {
    // Its own, whatever the __iter__ of its class says.
    items_ = items_of(ctx_, values_);
  } else {
    items_.push_back(values_);
    is_mapping_ = is_mapping_type(ctx_, values_->type) &&
                  !PyType_IsSubtype(values_->type, &PyUnicode_Type);
  }
  const Py_ssize_t size = PyUnicode_GET_LENGTH(format_);
  for (Py_ssize_t i = 0; i < size;) {
    if (at(i) == '%') {
      MG_DO(conversion(i));
      continue;
    }
    const Py_ssize_t start = i;
    while (i < size && at(i) != '%') ++i;
    MG_DO(append(PyUnicode_Substring(format_, start, i)));
  }
  if (used_ < items_.size() && !is_mapping_)
    return ctx_.raise(PyExc_TypeError,
                      "not all arguments converted during string formatting");
  return concatenated(ctx_, parts_);
}

}  // namespace

Outcome<V> percent_format(Context& ctx, V format, V values) {
  MG_TRY(V text, Percent(ctx, format, values).run());
  // Without a conversion it is the format itself.
  PyObject* real = format->object;
  const Py_ssize_t size = PyUnicode_GET_LENGTH(real);
  const Py_ssize_t found = PyUnicode_FindChar(real, '%', 0, size, 1);
  return size > 0 && found == -1 ? format : text;
}

}  // namespace magneto::values
