// SPDX-License-Identifier: BSD-3-Clause
#include "values/types/type_table.h"

#include <array>
#include <cstring>
#include <string_view>
#include <unordered_map>

#include "support/forever.h"

namespace magneto::values {

#define MG_TYPES(function) std::span<const TypeRow> function();
#include "values/types/types.def"
#undef MG_TYPES

namespace {

constexpr size_t kKinds = static_cast<size_t>(Kind::Super) + 1;

struct TypeTable {
  std::unordered_map<PyTypeObject*, const TypeRow*> by_type;
  std::unordered_map<std::string_view, const TypeRow*> by_name;
  std::array<TypeRow, kKinds> by_kind;
  std::vector<Ref> kept;  // classes that were found by their names

  void add(std::span<const TypeRow> rows) {
    for (const TypeRow& row : rows) {
      if (row.kind != Kind::Null)
        by_kind[static_cast<size_t>(row.kind)] = row;
      else if (row.name)
        by_name.emplace(row.name, &row);
      else
        by_type.emplace(row.type ? row.type : row.find_type(), &row);
    }
  }
};

TypeTable& table() {
  static TypeTable* const made = forever([] {
    TypeTable all;
#define MG_TYPES(function) all.add(function());
#include "values/types/types.def"
#undef MG_TYPES
    return all;
  }());
  return *made;
}

}  // namespace

const TypeRow* row_of(PyTypeObject* type) {
  TypeTable& all = table();
  if (auto found = all.by_type.find(type); found != all.by_type.end())
    return found->second;
  // A class made in Python has no module in its tp_name.
  if (!std::strchr(type->tp_name, '.')) return nullptr;
  auto found = all.by_name.find(type->tp_name);
  if (found == all.by_name.end()) return nullptr;
  // The row stays valid for this address only as long as the class is there.
  all.kept.push_back(Ref::share(reinterpret_cast<PyObject*>(type)));
  all.by_type.emplace(type, found->second);
  return found->second;
}

const TypeRow& row_of(Kind kind) {
  return table().by_kind[static_cast<size_t>(kind)];
}

}  // namespace magneto::values
