// SPDX-License-Identifier: BSD-3-Clause
#include "natives/builtins/descriptor_get.h"

namespace magneto::natives {

Outcome<bool> has_no_object(values::Context& ctx,
                            const values::Arguments& args) {
  const auto is_none = [&](size_t i) {
    return args.count() <= i || ctx.look(args.positional[i])->object == Py_None;
  };
  if (is_none(1) && is_none(2))
    return ctx.raise(PyExc_TypeError, "__get__(None, None) is invalid");
  return is_none(1);
}

}  // namespace magneto::natives
