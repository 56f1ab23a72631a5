// SPDX-License-Identifier: BSD-3-Clause
#include "tensor/composite.h"

#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <cstring>

namespace magneto::tensor {
namespace {

bool is_symbolic(const c10::IValue& value) {
  return value.isSymInt() || value.isSymIntList();
}

}  // namespace

c10::IValue with_plain_numbers(const c10::IValue& value) {
  if (value.isSymInt()) return value.toSymInt().guard_int(__FILE__, __LINE__);
  if (value.isSymFloat())
    return value.toSymFloat().guard_float(__FILE__, __LINE__);
  if (value.isSymBool())
    return value.toSymBool().guard_bool(__FILE__, __LINE__);
  if (value.isSymIntList()) {
    c10::List<int64_t> list;
    for (const c10::SymInt& each : value.toSymIntVector())
      list.push_back(each.guard_int(__FILE__, __LINE__));
    return list;
  }
  return value;
}

void run_composite_kernel(const OpInfo& op, c10::DispatchKey key,
                          torch::jit::Stack& stack) {
  c10::impl::IncludeDispatchKeyGuard include(kFakeKey);
  const torch::jit::Stack args(stack.end() - op.arity, stack.end());
  if (std::none_of(args.begin(), args.end(), is_symbolic))
    return op.handle.callBoxedForDispatchKey(key, stack);
  const size_t below = stack.size() - op.arity;
  try {
    op.handle.callBoxedForDispatchKey(key, stack);
  } catch (const c10::Error& error) {
    // What the generated code says that hands plain lists to such a kernel.
    if (!std::strstr(error.what(), "to contain only concrete integers")) throw;
    stack.resize(below);
    for (const c10::IValue& value : args)
      stack.push_back(with_plain_numbers(value));
    op.handle.callBoxedForDispatchKey(key, stack);
  }
}

}  // namespace magneto::tensor
