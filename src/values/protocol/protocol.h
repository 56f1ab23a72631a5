// SPDX-License-Identifier: BSD-3-Clause
// Python's data model over symbolic values: attribute look-up, calls,
// operators, items and iteration, each implemented once, as CPython defines it,
// for any value. Everything here looks at its operands (Context::look) itself.
#pragma once

#include "values/model/context.h"

namespace magneto::values {

// -- attributes (attributes.cpp, attribute_writes.cpp, descriptors.cpp) -------
Outcome<V> get_attribute(Context& ctx, V object, PyObject* name);
// The same, with null instead of an AttributeError.
Outcome<V> find_attribute(Context& ctx, V object, PyObject* name);
// For LOAD_METHOD: what to call, and *self, null if it takes no receiver.
Outcome<V> load_method(Context& ctx, V object, PyObject* name, V* self);
Status set_attribute(Context& ctx, V object, PyObject* name, V value);
Status delete_attribute(Context& ctx, V object, PyObject* name);
// object.__getattribute__ and object.__setattr__: what the above do unless the
// class says otherwise. A missing attribute is a null value for `generic_get`.
Outcome<V> generic_get(Context& ctx, V object, PyObject* name);
Status generic_set(Context& ctx, V object, PyObject* name, V value);
// The attribute of an object's class, unbound; null if there is none. Guards
// that the class isn't changed.
PyObject* type_lookup(Context& ctx, PyTypeObject* type, PyObject* name);
// What type_lookup finds, if it is the program's own, of whatever kind: a
// function, a descriptor, None. Null for what a class written in C has under
// that name, which the protocol knows.
PyObject* own_special(Context& ctx, PyTypeObject* type, PyObject* name);
// Binds what type_lookup found, as a special method is: never through the
// instance. Null if the class has no such method.
Outcome<V> special_method(Context& ctx, V object, PyObject* name);
// Calls the special method of a class that the protocol itself knows nothing
// of; null if there is none. A method in C whose row comes back to the very
// same question breaks the graph.
Outcome<V> call_special(Context& ctx, V object, PyObject* name,
                        std::initializer_list<V> args);
// What a class attribute `descriptor` gives for `object` of `type`; for a null
// object, what it gives for the class.
// `owner`, if not null: which class a descriptor of the program's is told.
Outcome<V> bind_descriptor(Context& ctx, PyObject* descriptor, V object,
                           PyTypeObject* type, PyObject* name,
                           PyTypeObject* owner = nullptr);
// A TypeError unless the object is of the class whose descriptor in C that is.
Status expect_instance(Context& ctx, PyObject* descriptor, V object);
// The object's instance dictionary as a Dict value; null if it has none.
V attribute_mapping(Context& ctx, V object);
// super(): attribute of `super_value`.
Outcome<V> super_attribute(Context& ctx, V super_value, PyObject* name);

// -- calls (calls.cpp) --------------------------------------------------------
Outcome<V> call(Context& ctx, V callable, const Arguments& args);
Outcome<V> call(Context& ctx, V callable, std::initializer_list<V> args);
Outcome<V> call_method(Context& ctx, V object, PyObject* name,
                       std::initializer_list<V> args);
// Of object.__new__: a TypeError for an abstract class, guarded.
Status expect_concrete(Context& ctx, PyTypeObject* type);
// type.__call__: __new__ and __init__, whatever the metaclass says of calls.
Outcome<V> instantiate(Context& ctx, V class_value, const Arguments& args);

// -- operators (operators.cpp, comparison.cpp, truth.cpp) ---------------------
// `kind` is CPython's NB_* number, in-place forms included.
Outcome<V> binary_operation(Context& ctx, int kind, V left, V right);
enum class Unary : uint8_t { Positive, Negative, Invert };
Outcome<V> unary_operation(Context& ctx, Unary kind, V operand);
// `kind` is Py_LT .. Py_GE.
Outcome<V> compare(Context& ctx, int kind, V left, V right);
Outcome<bool> equal(Context& ctx, V left, V right);
// As containers compare their items: what is one object is equal.
Outcome<bool> identical_or_equal(Context& ctx, V left, V right);
Outcome<bool> truth(Context& ctx, V value);
Outcome<bool> contains(Context& ctx, V container, V item);
// `is`: guarded where it relates two of the caller's objects.
Outcome<bool> identical(Context& ctx, V left, V right);
bool is_instance_of(V value, PyTypeObject* type);
// What the containers' own C code says, whatever a subclass overrides.
Outcome<V> plain_compare(Context& ctx, int kind, V left, V right);
Outcome<bool> plain_contains(Context& ctx, V container, V item);

// -- items (items.cpp) --------------------------------------------------------
Outcome<V> get_item(Context& ctx, V container, V key);
Status set_item(Context& ctx, V container, V key, V value);
Status delete_item(Context& ctx, V container, V key);
Outcome<V> length(Context& ctx, V container);
// Of a tensor's first dimension; it has one.
Outcome<V> first_size(Context& ctx, V tensor);
// operator.index(): a constant int.
Outcome<V> as_index(Context& ctx, V value);
// Whether the class has an __index__.
bool has_index(Context& ctx, PyTypeObject* type);
// What an __index__ of the program's own gives, as a position; null where there
// is none. What is beyond any position breaks the graph.
Outcome<V> own_position(Context& ctx, V value);
// What the containers' own C code does, whatever a subclass overrides:
// dict.__getitem__(d, key).
Outcome<V> plain_get_item(Context& ctx, V container, V key);
Status plain_set_item(Context& ctx, V container, V key, V value);
Status plain_delete_item(Context& ctx, V container, V key);
Outcome<V> plain_length(Context& ctx, V container);
// Mapping reads for natives: null if there is no such key.
Outcome<V> dict_get(Context& ctx, V dict, V key);
Status dict_set(Context& ctx, V dict, V key, V value);
// Removes and returns; null if there is no such key.
Outcome<V> dict_pop(Context& ctx, V dict, V key);
// Keys (and values) in order; completes the mapping.
std::vector<const DictEntry*> dict_entries(Context& ctx, V dict);
V dict_get_string(Context& ctx, V dict, PyObject* key);
// Whether what a dict is updated from, of that class derived from dict's, is
// what that holds, as PyDict_Merge has it; else its keys() and __getitem__ say.
bool is_merged_directly(Context& ctx, PyTypeObject* type);

// -- iteration (iteration.cpp) ------------------------------------------------
Outcome<V> iterate(Context& ctx, V iterable);
// Whether the class has an __iter__, or is a sequence; guarded.
bool is_iterable(Context& ctx, PyTypeObject* type);
// PySequence_Check and PyMapping_Check of an instance; guarded.
bool is_sequence_type(Context& ctx, PyTypeObject* type);
bool is_mapping_type(Context& ctx, PyTypeObject* type);
// The same without __iter__ of a class made in Python: list.__iter__(x).
Outcome<V> plain_iterate(Context& ctx, V iterable);
// Whether iterators of that class count what they have given of a container.
bool goes_by_position(PyTypeObject* type);
// The next value, or null at the end; then `*ended` is what the end brings:
// what a generator returned, or the value of a StopIteration; None if nothing.
Outcome<V> next(Context& ctx, V iterator, V* ended = nullptr);
// What is raised, or the item; a StopIteration ends the iteration as above.
Outcome<V> unless_stopped(Context& ctx, Outcome<V> item, V* ended);
// All values of an iterable.
Status unpack(Context& ctx, V iterable, std::vector<V>& into);
// What is left of an iterator.
Status take_all(Context& ctx, V iterator, std::vector<V>& into);
// The same as list() does it, which asks the iterable how many there are
// (length_hint.cpp).
Status unpack_to_list(Context& ctx, V iterable, std::vector<V>& into);
// What asking for an iterator gives; its TypeError says what `text` gives.
template <class Text>
Outcome<V> iterator_or_error(Context& ctx, Outcome<V> iterator, Text text) {
  if (iterator || iterator.signal() != Signal::Raised ||
      !ctx.exception_is(PyExc_TypeError))
    return iterator;
  (void)ctx.take_exception();
  return ctx.raise(PyExc_TypeError, text());
}
// What the mapping's keys() gives, as PyMapping_Keys() takes it. `method`:
// that, bound.
Status take_keys(Context& ctx, V mapping, V method, std::vector<V>& into);
// iter(iterable), which then has been asked how many there are.
Outcome<V> iterate_and_ask(Context& ctx, V iterable);
// list.extend
Status list_extend(Context& ctx, V list, V iterable);

// The value of an iterator that the caller passes, which may have begun
// (types/caller_iterators.cpp); null if its class isn't known here.
V caller_iterator(Context& ctx, PyObject* object, SourceId source);
// Its next value, read from the real iterator.
Outcome<V> next_begun(Context& ctx, V iterator);
// Whether next_begun() gives its next value. Others (enumerate, zip, map,
// filter, those of itertools) take theirs from further iterators, as those that
// the trace made do.
bool is_begun(V iterator);

// Whether a number that isn't known, or a text with one, is in there: itself,
// or in tuples and lists.
bool holds_symbol(Context& ctx, V value);

// -- the tensor program (record.cpp) ------------------------------------------
// Records a call of `callable` in the graph and runs it on fake tensors.
Outcome<V> record_function(Context& ctx, PyObject* callable,
                           const Arguments& args);
Outcome<V> record_method(Context& ctx, PyObject* name, const Arguments& args);
// Records `callable`, but `run` says what comes out for fake tensors.
Outcome<V> record_function_as(Context& ctx, PyObject* callable, PyObject* run,
                              const Arguments& args);
// The same of a function that the program allows in the graph: a call that
// gives no tensor is there for its effect.
Outcome<V> record_marked(Context& ctx, PyObject* callable,
                         const Arguments& args);
// The same of a call that isn't made while tracing; nobody asks what it gives.
Outcome<V> record_untried(Context& ctx, PyObject* callable,
                          const Arguments& args);
// The value of what a node gives, for which `example` stands; the parts of a
// tuple or list become getitem nodes (those that nobody uses are cleaned up in
// the end).
Outcome<V> value_of_node(Context& ctx, PyObject* example, graph::NodeId node);
// After a call on fakes that has raised. Rules say in words of their own, and
// of symbols, what is wrong: where the program may catch that, the real one
// raises.
Signal refused_by_torch(Context& ctx);
// The same for a call that is made for its effect (operator.setitem): it is in
// the graph although it yields nothing.
Status record_effect(Context& ctx, PyObject* callable, PyObject* run,
                     std::initializer_list<V> args);
// True if a tensor is found in the value, at any depth.
bool contains_tensor(Context& ctx, V value);

// -- constants (constants.cpp) ------------------------------------------------
// A real object equal to `value`, if it consists of constants only (through
// tuples, lists, dicts, sets, slices made by the trace): what pure functions
// are called with. Null if there is none.
PyObject* as_constant(Context& ctx, V value);
// The value of a fresh real object made of constants; containers become heap
// objects.
Outcome<V> from_constant(Context& ctx, Ref object);
// True for types whose operations are C code without side effects.
bool is_safe_type(PyTypeObject* type);

}  // namespace magneto::values
