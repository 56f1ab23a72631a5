// SPDX-License-Identifier: BSD-3-Clause
// How an object of the caller's becomes a value, and what is guarded of it;
// what it has under names and keys; and what it means to drop it.
#pragma once

#include <unordered_map>
#include <vector>

#include "guards/read.h"
#include "values/model/value_factory.h"

namespace magneto::values {

class Wrapping : public ValueFactory, public Backing, public Callers {
 public:
  // A value for a real object found at `source`, not yet looked at.
  V lazy(PyObject* object, SourceId source);
  // A value for a real object whose identity is certain already (found under a
  // guard on a class, say): no guard for the identity.
  V known(PyObject* object, SourceId source);
  // The same of what is there in each call; a new one is kept alive.
  V known(PyObject* object) { return known(object, sources.constant(object)); }
  V known(Ref object) { return known(keep(std::move(object))); }
  // A value for an object that is the same in each call, as a key that a guard
  // compares by identity: only what is read of it is guarded.
  V fixed(PyObject* object);
  // A Dict for a mapping whose items are read one by one.
  V wrap_mapping(PyObject* object, SourceId source);
  // What a value is if it has been looked at, or itself. Guards nothing.
  V looked_at(V value) const;
  // The value itself, guarded: every operation on a value looks at it first.
  // A number that isn't known (and a text with one) becomes that of the call
  // which is traced, under a guard: few need to know of symbols.
  V look(V value) {
    if (value->kind == Kind::Lazy) value = look_lazy(value);
    return is_open(value) || is_any_function(value) ? specialized(value)
                                                    : value;
  }
  // The same, but a number may be a Symbol.
  V look_symbolic(V value) {
    value = look_open(value);
    return value->kind == Kind::Text ? specialized(value) : value;
  }
  // The same, but a number may be a Symbol, and a str a Text.
  V look_open(V value) {
    value = look_function(value);
    return is_any_function(value) ? specialized(value) : value;
  }
  // The same, but a function may be any with the same code (a Function with an
  // object): local functions are made anew for each call. Its type is known.
  V look_function(V value) {
    if (value->kind == Kind::Lazy) value = look_lazy(value);
    return value->kind == Kind::Symbol ? simplified(value) : value;
  }
  // Makes the attribute mapping of an object that has none yet; invalid if
  // objects of this kind have no instance dictionary.
  HeapId make_attributes(V object);
  // An attribute that a Constant (a function, a module) has itself, or null.
  V constant_attribute(V constant, PyObject* name);
  // The dictionary of a Constant that is a function or a module, or null.
  V constant_namespace(V constant);
  // `cls.__dict__` of a class that is guarded as a whole; and the class that
  // such a Constant belongs to, null if it isn't one.
  V class_namespace(PyTypeObject* type);
  PyTypeObject* class_of_namespace(V constant) const;
  // The attributes that a class has itself, for writes: see
  // class_attributes.h. Null for a class whose __dict__ the program has got.
  V class_attributes(PyTypeObject* type);
  // The same, null for a class that hasn't been written to.
  V written_class(PyTypeObject* type) const;
  // Whether class_attributes() was ever called, even if it was rolled back.
  bool has_written_classes() const { return has_written_classes_; }
  // Guards what the class has under that name in its MRO.
  void guard_type_attribute(PyTypeObject* type, PyObject* name,
                            PyObject* found);

  // -- Backing
  V read(HeapId dict, V key, PyObject* token) override;
  std::vector<V> keys(HeapId dict) override;

  // -- Callers
  std::vector<V> items(V list) override;
  // For what the program drops (finalization.cpp). Breaks the graph if the
  // value has a finalizer, since the program must see that run here; else
  // guards that it has none.
  void check_drop(V value) override;
  std::string describe(V value) const override;
  // The same for what the caller's mapping has under a key that wasn't read.
  void check_drop_unread(HeapId dict, V key, PyObject* token);
  // Guards that the value has no finalizer, unless it has one in this call.
  void guard_no_finalizer(V value);

 protected:
  Wrapping() : ValueFactory(this) {}

 private:
  // Where the caller's mapping has its value under `token`, and what is there.
  // The source is invalid where the mapping surely has no such key.
  struct KeyPlace {
    SourceId source;
    guards::Reading reading = guards::Reading::absent();
  };
  KeyPlace place_of(HeapId dict, V key, PyObject* token);
  V look_lazy(V value);
  V specialized(V open);
  V simplified(V symbol);
  V wrap(PyObject* object, SourceId source, bool known);
  V wrap_tensor(PyObject* object, SourceId source);
  V wrap_function(PyObject* object, SourceId source);

  JournaledMap<PyObject*, V> seen_{journal};  // objects that have an identity
  JournaledMap<V, V> looked_{journal};        // lazy -> looked at
  // Instances' dictionaries -> the instance. Not undone: an entry too many only
  // concerns a dictionary that is an instance's anyway.
  std::unordered_map<PyObject*, PyObject*> instance_dicts_;
  // Classes' dictionaries that the program asked for -> the class. Not undone.
  std::unordered_map<PyObject*, PyTypeObject*> class_dicts_;
  bool has_written_classes_ = false;
};

}  // namespace magneto::values
