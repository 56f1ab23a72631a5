// SPDX-License-Identifier: BSD-3-Clause
// Decides how each operator is served, and finds the functional form whose rule
// serves an in-place or out= operator.
#include "tensor/op_info.h"

#include <memory>
#include <unordered_map>

#include "tensor/partial_rule.h"

namespace magneto::tensor {
namespace {

constexpr auto kTables = {
    &attention_rules,
    &convolution_rules,
    &copy_rules,
    &data_rules,
    &factory_rules,
    &index_rules,
    &join_rules,
    &like_rules,
    &linalg_rules,
    &loss_rules,
    &matmul_rules,
    &metadata_rules,
    &norm_rules,
    &order_rules,
    &pad_rules,
    &pointwise_rules,
    &pool_rules,
    &reduce_rules,
    &resample_rules,
    &scatter_rules,
    &view_rules,
    // Last, so that the tables above take precedence.
    &structured_rules,
};

using RulesByBase =
    std::unordered_map<std::string_view, std::vector<const Rule*>>;

std::string_view base_name(std::string_view name) {
  return name.substr(0, name.find('.'));
}

// Rules by the operator's name without its overload.
const RulesByBase& rules_by_base() {
  static const RulesByBase* rules = [] {
    auto* index = new RulesByBase;  // leaked: threads may outlive main
    for (auto table : kTables) {
      for (const Rule& row : table()) {
        (*index)[base_name(row.name)].push_back(&row);
      }
    }
    return index;
  }();
  return *rules;
}

c10::OperatorName parse_name(std::string_view name) {
  size_t dot = name.find('.');
  if (dot == std::string_view::npos) return {std::string(name), ""};
  return {std::string(name.substr(0, dot)), std::string(name.substr(dot + 1))};
}

SchemaKind schema_kind(const c10::FunctionSchema& schema, uint32_t& out_begin) {
  const auto& args = schema.arguments();
  for (uint32_t i = 0; i < args.size(); ++i) {
    if (args[i].kwarg_only() && args[i].alias_info() &&
        args[i].alias_info()->isWrite()) {
      out_begin = i;
      return SchemaKind::Out;
    }
  }
  bool in_place = schema.name().ends_with('_') &&
                  !schema.name().ends_with("__") && !args.empty() &&
                  args[0].alias_info() && args[0].alias_info()->isWrite();
  return in_place ? SchemaKind::InPlace : SchemaKind::Functional;
}

// True if a call of `op` carries, in its first arguments, a call of
// `functional`.
bool takes_arguments_of(const c10::FunctionSchema& op,
                        const c10::FunctionSchema& functional, size_t limit) {
  const auto& theirs = functional.arguments();
  const auto& ours = op.arguments();
  if (theirs.size() != limit) return false;
  for (size_t i = 0; i < limit; ++i) {
    if (*theirs[i].type() != *ours[i].type()) return false;
    if (theirs[i].alias_info()) return false;  // a view has no such form
  }
  return true;
}

// The rule of the functional form of an in-place or out= operator, or null.
const Rule* functional_rule(const OpInfo& op) {
  const c10::FunctionSchema& schema = op.handle.schema();
  std::string base = schema.name();
  size_t limit = op.out_begin;
  if (op.kind == SchemaKind::InPlace) {
    base.pop_back();
    limit = op.arity;
  }
  auto found = rules_by_base().find(base);
  if (found == rules_by_base().end()) return nullptr;
  for (const Rule* row : found->second) {
    auto functional =
        c10::Dispatcher::singleton().findSchema(parse_name(row->name));
    if (functional && takes_arguments_of(schema, functional->schema(), limit)) {
      return row;
    }
  }
  return nullptr;
}

}  // namespace

const Rule* find_rule(std::string_view name) {
  auto found = rules_by_base().find(base_name(name));
  if (found == rules_by_base().end()) return nullptr;
  for (const Rule* row : found->second) {
    if (row->name == name) return row;
  }
  return nullptr;
}

OpInfo::OpInfo(const c10::OperatorHandle& op)
    : handle(op), name(c10::toString(op.operator_name())) {
  const c10::FunctionSchema& schema = op.schema();
  const auto& args = schema.arguments();
  arity = static_cast<uint32_t>(args.size());
  kind = schema_kind(schema, out_begin);
  may_draw = op.hasTag(at::Tag::nondeterministic_seeded);
  for (uint32_t i = 0; i < arity; ++i) {
    if (args[i].alias_info() && args[i].alias_info()->isWrite()) {
      written.push_back(i);
    }
  }
  failure = data_failure(name);
  if (const Rule* own = find_rule(name)) {
    route = Route::Rule;
    rule = own->run;
    return;
  }
  if (kind != SchemaKind::Functional) {
    if (const Rule* functional = functional_rule(*this)) {
      route = Route::Rule;
      rule = functional->run;
      delivered = true;
      return;
    }
  }
  using Key = c10::DispatchKey;
  // For an operator that isn't torch's, only the Python mode knows the fake
  // kernel; a kernel that is registered for all backends may read data.
  const bool is_torchs = schema.name().starts_with("aten::") ||
                         schema.name().starts_with("prims::");
  for (Key key :
       {Key::CompositeImplicitAutograd, Key::CompositeExplicitAutograd,
        Key::CompositeExplicitAutogradNonFunctional}) {
    if (!op.hasKernelForDispatchKey(key)) continue;
    if (!is_torchs && key != Key::CompositeImplicitAutograd) continue;
    // If the operator has a kernel for the CPU, too, this one gives the same
    // numbers, but perhaps other strides.
    if (key == Key::CompositeExplicitAutogradNonFunctional &&
        op.hasKernelForDispatchKey(Key::CPU)) {
      continue;
    }
    route = Route::Decompose;
    composite_key = key;
    return;
  }
}

const OpInfo& op_info(const c10::OperatorHandle& op) {
  thread_local std::unordered_map<c10::OperatorHandle, std::unique_ptr<OpInfo>>
      known;
  std::unique_ptr<OpInfo>& slot = known[op];
  if (!slot) slot = std::make_unique<OpInfo>(op);
  return *slot;
}

}  // namespace magneto::tensor
