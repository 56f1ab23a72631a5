// SPDX-License-Identifier: BSD-3-Clause
#include "values/types/dict_views.h"

#include "guards/read.h"
#include "values/model/callers_objects.h"
#include "values/protocol/protocol.h"
#include "values/types/construction.h"
#include "values/types/dict_iterators.h"
#include "values/types/type_table.h"

namespace magneto::values {

namespace {

struct DictViewType {
  PyTypeObject* plain;
  PyTypeObject* ordered;
  const char* method;
};
const DictViewType kViews[] = {
    {&PyDictKeys_Type, &PyODictKeys_Type, "keys"},
    {&PyDictValues_Type, &PyODictValues_Type, "values"},
    {&PyDictItems_Type, &PyODictItems_Type, "items"},
};

}  // namespace

V dict_view(Context& ctx, V dict, std::string_view method) {
  for (const auto& [plain, ordered, name] : kViews)
    if (method == name)
      return ctx.iterator(is_instance_of(dict, &PyODict_Type) ? ordered : plain,
                          {&dict, 1}, 0, Kind::Object);
  MG_CHECK(false, "dicts have these three views");
}

namespace {

std::optional<Construction> construct_view(Context& ctx, V view) {
  for (const auto& [plain, ordered, name] : kViews) {
    if (view->type != plain && view->type != ordered) continue;
    PyTypeObject* type = view->type == plain ? &PyDict_Type : &PyODict_Type;
    return Construction{method_of(ctx, type, name), ctx.heap[view->heap].slots};
  }
  return std::nullopt;
}

Construction of_iteration(Context& ctx, const DictIteration& iteration) {
  const auto& [dict, part, backwards, passed] = iteration;
  if (part == DictPart::Keys) {
    PyTypeObject* type =
        is_instance_of(dict, &PyODict_Type) ? &PyODict_Type : &PyDict_Type;
    return advanced(
        ctx, method_of(ctx, type, backwards ? "__reversed__" : "__iter__"),
        dict, passed);
  }
  V view = dict_view(ctx, dict, part == DictPart::Items ? "items" : "values");
  return advanced(
      ctx,
      attribute_of_module(ctx, "builtins", backwards ? "reversed" : "iter"),
      view, passed);
}

std::optional<Construction> construct_iterator(Context& ctx, V iterator) {
  auto iteration = dict_iteration(ctx, iterator);
  if (!iteration) return std::nullopt;
  if (iteration->passed < 0) {
    const bool ordered = is_instance_of(iteration->dict, &PyODict_Type);
    iteration->dict = ctx.dict(ordered ? &PyODict_Type : &PyDict_Type);
    iteration->passed = 0;
  }
  return of_iteration(ctx, *iteration);
}

V wrap_proxy(Context& ctx, PyObject* object, SourceId source) {
  using guards::SourceKind;
  const guards::Reading target =
      guards::read_field(SourceKind::MappingProxyTarget, object);
  MG_CHECK(target.is_present(), "a proxy shows something");
  V made = callers_object(ctx, Kind::Object, object, source);
  ctx.heap.initial(made->heap).slots = {
      ctx.lazy(target.value(),
               ctx.sources.field(source, SourceKind::MappingProxyTarget))};
  return made;
}

}  // namespace

std::span<const TypeRow> dict_view_types() {
  static const TypeRow rows[] = {
      {.type = &PyDictKeys_Type, .construct = construct_view},
      {.type = &PyDictValues_Type, .construct = construct_view},
      {.type = &PyDictItems_Type, .construct = construct_view},
      {.type = &PyODictKeys_Type, .construct = construct_view},
      {.type = &PyODictValues_Type, .construct = construct_view},
      {.type = &PyODictItems_Type, .construct = construct_view},
      {.type = &PyDictIterKey_Type, .construct = construct_iterator},
      {.type = &PyDictIterValue_Type, .construct = construct_iterator},
      {.type = &PyDictIterItem_Type, .construct = construct_iterator},
      {.type = &PyDictRevIterKey_Type, .construct = construct_iterator},
      {.type = &PyDictRevIterValue_Type, .construct = construct_iterator},
      {.type = &PyDictRevIterItem_Type, .construct = construct_iterator},
      {.type = &PyODictIter_Type, .construct = construct_iterator},
      {.type = &PyDictProxy_Type, .wrap = wrap_proxy, .construct = of_class},
  };
  return rows;
}

}  // namespace magneto::values
