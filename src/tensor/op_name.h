// SPDX-License-Identifier: BSD-3-Clause
// Names of operators, as tables write them.
#pragma once

#include <string_view>

namespace magneto::tensor {

// "index_add" of "aten::index_add_.out": without an overload, and without the
// "_" of the in-place form. Empty for what isn't torch's own.
constexpr std::string_view plain_name(std::string_view name) {
  constexpr std::string_view kSpace = "aten::";
  if (!name.starts_with(kSpace)) return {};
  name.remove_prefix(kSpace.size());
  name = name.substr(0, name.find('.'));
  if (name.ends_with('_')) name.remove_suffix(1);
  return name;
}

}  // namespace magneto::tensor
