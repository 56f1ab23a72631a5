// SPDX-License-Identifier: BSD-3-Clause
// How the trace makes values of its own.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "python/ref.h"
#include "shapes/expression.h"
#include "values/model/trace_stores.h"

namespace magneto::values {

class Context;

class ValueFactory : public TraceStores {
 public:
  // Keeps a real object alive until the trace ends and returns it.
  PyObject* keep(Ref object);
  V constant(Ref object);
  V constant_share(PyObject* object) { return constant(Ref::share(object)); }
  // Generic aliases and unions that the trace has made: see aliases.h.
  void remember_alias(PyObject* alias) { made_aliases_.push_back(alias); }
  bool is_made_alias(PyObject* alias) const;
  // A constant of a code object, which keeps it alive.
  V code_constant(PyObject* object);
  V none() const { return none_; }
  V boolean(bool value) const { return value ? true_ : false_; }
  V null() const { return null_; }
  V integer(int64_t value);
  V string(std::string_view text);
  // A tuple of the class `type`. Plain tuples of constants become Constants.
  V tuple(std::span<const V> items, PyTypeObject* type = &PyTuple_Type);
  V list(std::span<const V> items, PyTypeObject* type = &PyList_Type);
  V dict(PyTypeObject* type = &PyDict_Type);
  V set(PyTypeObject* type = &PySet_Type);
  // The same of one that the parts are given of, with its attributes.
  V make_tuple(TupleValue value);
  V slice(V start, V stop, V step);
  V cell(V content);
  V method(V function, V self);
  V super(V type, V self);
  V tensor(Ref fake, graph::NodeRef node, PyTypeObject* type);
  // The same with more of its parts given.
  V tensor(TensorValue value, Ref fake, graph::NodeRef node);
  V function(const FunctionValue& parts);
  // An instance made by the trace, without attributes yet.
  V object(PyTypeObject* type, Kind kind = Kind::Object);
  V iterator(PyTypeObject* type, std::span<const V> slots, int64_t number = 0,
             Kind kind = Kind::Iterator);
  // The tensor value that this fake belongs to, or null.
  V tensor_of(PyObject* fake) const;
  // An object that stands for the identity of a value made by the trace.
  PyObject* identity_token(V value);
  // Keys that hash and compare in Python code of their own, and what stood for
  // them: see key_token().
  struct OwnKey {
    V key;
    PyObject* token;
    Py_hash_t hash;
  };
  std::span<const OwnKey> own_keys() const { return own_keys_; }
  void remember_own_key(const OwnKey& key) { own_keys_.push_back(key); }

 protected:
  explicit ValueFactory(Callers* callers);

  // The trace that this is a part of.
  Context& whole();
  V make(Value value);

  V null_ = nullptr, none_ = nullptr, true_ = nullptr, false_ = nullptr;

 private:
  std::vector<Ref> kept_;
  JournaledList<PyObject*> made_aliases_{journal};
  JournaledList<OwnKey> own_keys_{journal};
  JournaledMap<PyObject*, V> tensors_{journal};  // by their fakes
  JournaledMap<V, PyObject*> tokens_{journal};   // for identity
  V integers_[262] = {};                         // -5 .. 256; never undone
};

}  // namespace magneto::values
