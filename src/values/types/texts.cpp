// SPDX-License-Identifier: BSD-3-Clause
#include "values/types/texts.h"

#include "support/check.h"
#include "values/protocol/sequence_operators.h"
#include "values/types/type_table.h"

namespace magneto::values {

namespace {

V text_value(Context& ctx, std::span<const TextPart> parts) {
  TextValue value{};
  value.kind = Kind::Text;
  value.type = &PyUnicode_Type;
  value.parts = ctx.arena.copy(parts);
  return ctx.arena.make<TextValue>(value);
}

Ref joined(const std::vector<PyObject*>& texts) {
  Ref list = Ref::steal(PyList_New(static_cast<Py_ssize_t>(texts.size())));
  MG_CHECK(list, "out of memory");
  for (size_t i = 0; i < texts.size(); ++i)
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i),
                    Ref::share(texts[i]).release());
  Ref empty = Ref::steal(PyUnicode_New(0, 0));
  return Ref::steal(empty ? PyUnicode_Join(empty, list) : nullptr);
}

// Some number of that class.
Ref example(PyTypeObject* type) {
  if (type == &PyBool_Type) return Ref::share(Py_True);
  return Ref::steal(type == &PyFloat_Type ? PyFloat_FromDouble(0.5)
                                          : PyLong_FromLong(2));
}

}  // namespace

bool is_text(V value) {
  return value->kind == Kind::Text ||
         (value->is_constant() && PyUnicode_Check(value->object));
}

V text_of_number(Context& ctx, V number, PyObject* format) {
  if (format) {
    const Py_ssize_t length = PyUnicode_GET_LENGTH(format);
    // Not every number is that of a character.
    if (length && PyUnicode_READ_CHAR(format, length - 1) == 'c')
      return nullptr;
    Ref one = example(number->type);
    Ref text = Ref::steal(one ? PyObject_Format(one, format) : nullptr);
    if (!text) {
      PyErr_Clear();
      return nullptr;
    }
    if (!length) format = nullptr;
  }
  const TextPart part{.value = number, .format = format};
  return text_value(ctx, {&part, 1});
}

Outcome<V> concatenated(Context& ctx, std::span<const V> texts) {
  std::vector<TextPart> parts;
  std::vector<PyObject*> known;  // since the last number
  const auto close = [&]() -> Status {
    if (known.empty()) return done;
    Ref text = joined(known);
    if (!text) return ctx.raise_from_python();
    known.clear();
    parts.push_back({.value = ctx.constant(std::move(text))});
    return done;
  };
  for (V text : texts) {
    text = ctx.look_open(text);
    if (text->kind != Kind::Text) {
      MG_CHECK(text->is_constant() && PyUnicode_Check(text->object), "a str");
      known.push_back(text->object);
      continue;
    }
    for (const TextPart& part : as<TextValue>(text)->parts) {
      if (part.value->is_constant()) {
        known.push_back(part.value->object);
        continue;
      }
      MG_DO(close());
      parts.push_back(part);
    }
  }
  MG_DO(close());
  if (parts.empty()) return ctx.string("");
  if (parts.size() == 1 && parts[0].value->is_constant()) return parts[0].value;
  return text_value(ctx, parts);
}

V known_text(Context& ctx, V text) {
  std::vector<Ref> written;
  std::vector<PyObject*> all;
  for (const TextPart& part : as<TextValue>(text)->parts) {
    PyObject* real = ctx.look(part.value)->object;
    if (is_text(part.value)) {
      all.push_back(real);
      continue;
    }
    written.push_back(Ref::steal(PyObject_Format(real, part.format)));
    MG_CHECK(written.back(), "text_of_number has tried that");
    all.push_back(written.back());
  }
  Ref whole = joined(all);
  MG_CHECK(whole, "out of memory");
  return ctx.constant(std::move(whole));
}

namespace {

// Of constants, where a derived class has declined. A class that has an
// operator of its own has not the slot of the base's.
Outcome<V> concatenate(Context& ctx, V left, V right, bool in_place) {
  const PySequenceMethods* methods = left->type->tp_as_sequence;
  PyTypeObject* base = PyType_IsSubtype(left->type, &PyUnicode_Type)
                           ? &PyUnicode_Type
                           : &PyBytes_Type;
  if (!left->is_constant() || !right->is_constant() || !methods->sq_concat ||
      !PyType_IsSubtype(Py_TYPE(right->object), base))
    return nullptr;
  Ref joined = Ref::steal(methods->sq_concat(left->object, right->object));
  if (!joined) return ctx.raise_from_python();
  return ctx.constant(std::move(joined));
}

Outcome<V> repeat_text(Context& ctx, V sequence, V other, bool in_place) {
  if (!sequence->is_constant()) return nullptr;
  MG_TRY(V count, repetitions(ctx, other));
  if (!count) return nullptr;
  const Py_ssize_t times =
      PyNumber_AsSsize_t(count->object, PyExc_OverflowError);
  if (times == -1 && PyErr_Occurred()) return ctx.raise_from_python();
  Ref all = Ref::steal(
      sequence->type->tp_as_sequence->sq_repeat(sequence->object, times));
  if (!all) return ctx.raise_from_python();
  return ctx.constant(std::move(all));
}

}  // namespace

std::span<const TypeRow> text_types() {
  static const TypeRow rows[] = {
      {.type = &PyUnicode_Type,
       .derived = true,
       .concatenate = concatenate,
       .repeat = repeat_text},
      {.type = &PyBytes_Type,
       .derived = true,
       .concatenate = concatenate,
       .repeat = repeat_text},
  };
  return rows;
}

}  // namespace magneto::values
