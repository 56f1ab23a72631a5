// SPDX-License-Identifier: BSD-3-Clause
// What the files of torch's rows share.
#pragma once

#include "natives/registry.h"
#include "natives/signature.h"
#include "natives/torch/objects.h"

namespace magneto::natives {

using guards::SourceId;
using values::as;
using values::HeapId;
using values::TensorValue;

// What stands at a dotted path (object_at<"torch.finfo">()), looked up once.
template <Literal path>
PyObject* object_at() {
  static PyObject* const object = [] {
    PyObject* found = find_object(path.text);
    MG_CHECK(found, std::string("torch has no ") + path.text);
    return found;
  }();
  return object;
}

// A call of the function that `path` names, with what fakes and constants the
// arguments are; recorded in the graph if tensors come out.
template <Literal path>
Outcome<V> call_real(Context& ctx, const Arguments& args) {
  return values::record_function(ctx, object_at<path>(), args);
}

// A call of a function of magneto.polyfills with fakes, which isn't recorded;
// null with a Python error.
template <Literal path>
Ref call_on_fakes(std::span<PyObject* const> args) {
  PyObject* function = find_polyfill(path.text);
  return Ref::steal(function ? PyObject_Vectorcall(function, args.data(),
                                                   args.size(), nullptr)
                             : nullptr);
}
template <Literal path>
Ref call_on_fakes(std::initializer_list<PyObject*> args) {
  return call_on_fakes<path>(std::span(args.begin(), args.size()));
}

// Whether the graph computes the tensor, and has used it.
bool is_used_in_graph(Context& ctx, V tensor);

// Guards on all three autocast states.
void guard_autocast(Context& ctx);

}  // namespace magneto::natives
