// SPDX-License-Identifier: BSD-3-Clause
// collections.deque: a List whose slot 0 is its maxlen, and whose number says
// how often its length has changed.
#pragma once

#include "values/model/context.h"

namespace magneto::values {

// Whether the deque has got another length since the iterator was made. Its
// slots: the deque, the deque's number and its length then; its number: how
// many items it has passed.
bool is_outdated(const Context& ctx, V deque_iterator);

}  // namespace magneto::values
