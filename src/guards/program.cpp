// SPDX-License-Identifier: BSD-3-Clause
// Running a guard program. The precise way, run_nodes(), defines what the
// guards mean; the pins only say when its result can't have changed.
#include "guards/program.h"

#include <algorithm>
#include <new>

#include "guards/check.h"
#include "guards/read.h"

namespace magneto::guards {
namespace {

// A region that is never met twice unchanged is pinned less and less often:
// after 0, 0, 1, 3, 7 ... 63 runs without pins.
constexpr uint32_t kMostDoublings = 6;

uint32_t runs_to_wait(uint32_t useless_pins) {
  if (useless_pins < 2) return 0;
  const uint32_t doublings = std::min(useless_pins - 1, kMostDoublings);
  return (uint32_t{1} << doublings) - 1;
}

// Stops at the first changed word: the addresses after it may be stale.
size_t first_changed(const std::vector<Word>& words, size_t from) {
  const Word* word = words.data() + from;
  const Word* const end = words.data() + words.size();
  while (word != end && word->is_unchanged()) ++word;
  return static_cast<size_t>(word - words.data());
}

size_t first_mismatch(const std::vector<TensorEntry>& tensors) noexcept {
  const TensorHooks& hook = hooks().tensor;
  if (hook.first_mismatch != nullptr) {
    return hook.first_mismatch(tensors.data(), tensors.size());
  }
  size_t i = 0;
  while (i < tensors.size() &&
         hook.matches(tensors[i].tensor, tensors[i].snapshot)) {
    ++i;
  }
  return i;
}

bool has_children(const Node& node, uint32_t number) {
  return node.end > number + 1;
}

}  // namespace

size_t GuardProgram::word_count() const {
  size_t n = 0;
  for (const Region& region : regions_) n += region.words.size();
  return n;
}

bool GuardProgram::run(const CallView& view, PyObject** inputs) noexcept {
  try {
    return all_hold(view, inputs);
  } catch (const std::bad_alloc&) {  // while pinning
    return false;
  }
}

bool GuardProgram::renew_class_facts() noexcept {
  const auto token =
      std::ranges::find(ambients_, Ambient::AbstractClasses, &AmbientGuard::id);
  if (token == ambients_.end() || !can_match()) return false;
  const int64_t now = hooks().ambient[static_cast<size_t>(token->id)].read();
  if (now == token->value) return false;
  for (const ClassFactPtr& fact : class_facts_) {
    if (fact->holds()) continue;
    changed_fact_ = fact.get();
    return false;
  }
  token->value = now;
  return true;
}

bool GuardProgram::all_hold(const CallView& view, PyObject** inputs) {
  if (!alive() || !is_hierarchy_unchanged()) return false;
  for (const AmbientGuard& guard : ambients_) {
    const auto read = hooks().ambient[static_cast<size_t>(guard.id)].read;
    if (read() != guard.value) return false;
  }
  PyObject** slots = slots_.data();
  if (!run_nodes(0, first_pinnable_, slots, view)) return false;
  if (!numbers_.hold_early(slots)) return false;
  for (Region& region : regions_) {
    if (!region_holds(region, view)) return false;
  }
  if (!relations_.hold(slots, epoch_)) return false;
  if (!numbers_.hold_late(slots)) return false;
  for (size_t i = 0; i < input_nodes_.size(); ++i) {
    if (input_nodes_[i] != kNumber) inputs[i] = slots[input_nodes_[i]];
  }
  return true;
}

// ---- The precise way -------------------------------------------------------

bool GuardProgram::checks_hold(const Node& node, PyObject* value) const {
  for (uint32_t i = node.first_check; i < node.last_check; ++i) {
    if (!holds(checks_[i], value)) return false;
  }
  return true;
}

bool GuardProgram::run_node(uint32_t number, PyObject** slots,
                            const CallView& view) {
  const Node& node = nodes_[number];
  const Source& source = node.source;
  const Reading reading = source.base.valid()
                              ? read_step(source, slots[source.base.index])
                              : read_root(source, view);
  slots[number] = reading.value();
  if (node.must_be_absent) return reading.is_absent();
  return reading.is_present() && checks_hold(node, reading.value());
}

bool GuardProgram::run_nodes(uint32_t begin, uint32_t end, PyObject** slots,
                             const CallView& view) {
  for (uint32_t i = begin; i < end; ++i) {
    if (!run_node(i, slots, view)) return false;
  }
  return true;
}

// ---- Regions ---------------------------------------------------------------

bool GuardProgram::region_holds(Region& region, const CallView& view) {
  if (!region.is_pinned || !roots_unchanged(region, view)) {
    return run_precisely(region, view);
  }
  const Renewal words = words_hold(region);
  if (words == Renewal::Fails) return false;
  if (words == Renewal::Unknown) return run_precisely(region, view);
  if (first_mismatch(region.tensors) != region.tensors.size()) return false;
  for (const Range& live : region.live) {
    if (!run_nodes(live.begin, live.end, slots_.data(), view)) return false;
  }
  if (!region.live.empty()) ++epoch_;
  ++region.hits;
  ++counts_.pinned_runs;
  return true;
}

// The roots that the call brings are alive, so comparing their addresses is
// safe; what lies below them, the words say.
bool GuardProgram::roots_unchanged(const Region& region,
                                   const CallView& view) const {
  for (uint32_t root : region.roots) {
    if (read_root(nodes_[root].source, view).value() != slots_[root]) {
      return false;
    }
  }
  return true;
}

// Runs into a second set of slots, so that a failure leaves the pins as they
// were.
bool GuardProgram::run_precisely(Region& region, const CallView& view) {
  ++counts_.precise_runs;
  if (!run_nodes(region.begin, region.end, trial_.data(), view)) return false;
  std::copy(trial_.begin() + region.begin, trial_.begin() + region.end,
            slots_.begin() + region.begin);
  ++epoch_;
  if (region.is_pinned) {
    region.is_pinned = false;
    region.useless_pins = region.hits == 0 ? region.useless_pins + 1 : 0;
    region.wait = runs_to_wait(region.useless_pins);
  }
  if (region.wait > 0) {
    --region.wait;
  } else {
    pin(region);
  }
  return true;
}

// ---- Pins ------------------------------------------------------------------

// What is remembered of a node's value while its region is pinned.
void GuardProgram::keep(uint32_t number) {
  const Node& node = nodes_[number];
  PyObject* value = slots_[number];
  seen_types_[number] = value == nullptr ? nullptr : Py_TYPE(value);
  for (uint32_t i = node.first_check; i < node.last_check; ++i) {
    if (checks_[i].kind == GuardKind::ConstantEquals) {
      kept_[number] = Ref::share(value);
    }
  }
}

void GuardProgram::pin(Region& region) {
  region.words.clear();
  region.groups.clear();
  region.tensors.clear();
  region.tensor_nodes.clear();
  region.live.clear();
  region.hits = 0;
  std::fill(is_live_.begin() + region.begin, is_live_.begin() + region.end, 0);
  for (uint32_t i = region.begin; i < region.end;) {
    const Node& node = nodes_[i];
    if (is_live_[i]) {
      region.live.push_back({i, node.end});
      i = node.end;
      continue;
    }
    keep(i);
    PyObject* value = slots_[i];
    if (value == nullptr) {
      ++i;
      continue;
    }
    if (!node.source.base.valid()) {
      is_stable_[i] = node.source.kind == SourceKind::Constant;
    }
    group_.collect(nodes_, checks_, i, value, is_stable_[i]);
    if (!group_.words().empty()) {
      // The words' addresses rely on the layout of this type.
      watch_.add(reinterpret_cast<PyObject*>(Py_TYPE(value)));
      region.groups.push_back({i, static_cast<uint32_t>(region.words.size())});
      region.words.insert(region.words.end(), group_.words().begin(),
                          group_.words().end());
    }
    traits_[i] = group_.traits();
    if (traits_[i].is_live) region.live.push_back({i, i + 1});
    for (uint32_t child : group_.live_children()) is_live_[child] = 1;
    for (uint32_t c = i + 1; c < node.end; c = nodes_[c].end) {
      is_stable_[c] = group_.gives_stable(nodes_[c].source.kind);
    }
    for (uint32_t k = node.first_check; k < node.last_check; ++k) {
      if (checks_[k].kind != GuardKind::Tensor || traits_[i].covers_tensor) {
        continue;
      }
      region.tensors.push_back({value, checks_[k].snapshot});
      region.tensor_nodes.push_back(i);
    }
    ++i;
  }
  region.is_pinned = true;
}

GuardProgram::Renewal GuardProgram::words_hold(Region& region) {
  size_t at = first_changed(region.words, 0);
  while (at < region.words.size()) {
    const auto after = std::upper_bound(
        region.groups.begin(), region.groups.end(), at,
        [](size_t word, const Group& g) { return word < g.first_word; });
    const auto group = static_cast<size_t>(after - region.groups.begin()) - 1;
    const Renewal renewal = renew(region, group);
    if (renewal != Renewal::Holds) return renewal;
    at = first_changed(region.words, region.groups[group].first_word);
  }
  return Renewal::Holds;
}

// One node's words have changed: does what was read and checked there still
// hold? The words before lead to the node's value, so it is alive. Nothing is
// written before all of it is known to hold.
GuardProgram::Renewal GuardProgram::renew(Region& region, size_t group) {
  const uint32_t number = region.groups[group].node;
  const Node& node = nodes_[number];
  PyObject* value = slots_[number];
  if (Py_TYPE(value) != seen_types_[number]) return Renewal::Unknown;
  if (!checks_hold(node, value)) return Renewal::Fails;
  for (uint32_t c = number + 1; c < node.end; c = nodes_[c].end) {
    const Renewal child = is_live_[c] ? Renewal::Holds : child_holds(c);
    if (child != Renewal::Holds) return child;
  }
  if (!replace_group(region, group)) return Renewal::Unknown;
  for (uint32_t c = number + 1; c < node.end; c = nodes_[c].end) {
    if (is_live_[c] || adopt_child(region, c)) continue;
    // The words say what the slots don't: start again from the root.
    region.is_pinned = false;
    return Renewal::Unknown;
  }
  ++counts_.renewed_groups;
  return Renewal::Holds;
}

// Collects the group's words anew. False, and nothing changed, if they aren't
// of the same shape.
bool GuardProgram::replace_group(Region& region, size_t group) {
  const uint32_t number = region.groups[group].node;
  const size_t begin = region.groups[group].first_word;
  const size_t end = group + 1 < region.groups.size()
                         ? region.groups[group + 1].first_word
                         : region.words.size();
  group_.collect(nodes_, checks_, number, slots_[number], is_stable_[number]);
  if (group_.words().size() != end - begin ||
      group_.traits() != traits_[number]) {
    return false;
  }
  for (uint32_t c = number + 1; c < nodes_[number].end; c = nodes_[c].end) {
    if (is_stable_[c] != group_.gives_stable(nodes_[c].source.kind)) {
      return false;
    }
  }
  for (uint32_t c : group_.live_children()) {
    if (!is_live_[c]) return false;
  }
  std::copy(group_.words().begin(), group_.words().end(),
            region.words.begin() + static_cast<ptrdiff_t>(begin));
  return true;
}

// A leaf may be another object, as long as its checks hold. An object that has
// more below it must be at the same address and of the same type: its own words
// follow and say the rest.
GuardProgram::Renewal GuardProgram::child_holds(uint32_t number) const {
  const Node& node = nodes_[number];
  const Reading reading =
      read_step(node.source, slots_[node.source.base.index]);
  if (node.must_be_absent) {
    return reading.is_absent() ? Renewal::Holds : Renewal::Fails;
  }
  if (!reading.is_present()) return Renewal::Fails;
  PyObject* value = reading.value();
  const bool is_same =
      value == slots_[number] && Py_TYPE(value) == seen_types_[number];
  if (!is_same && has_children(node, number)) return Renewal::Unknown;
  return checks_hold(node, value) ? Renewal::Holds : Renewal::Fails;
}

// Takes over what child_holds() has just accepted. False if a leaf's own words
// aren't of the same shape as those of the leaf before it.
bool GuardProgram::adopt_child(Region& region, uint32_t number) {
  const Node& node = nodes_[number];
  PyObject* value =
      read_step(node.source, slots_[node.source.base.index]).value();
  const bool is_same =
      value == slots_[number] &&
      (value == nullptr || Py_TYPE(value) == seen_types_[number]);
  slots_[number] = value;
  keep(number);
  if (is_same) return true;
  ++epoch_;
  const auto& tensor_nodes = region.tensor_nodes;
  const auto entry =
      std::lower_bound(tensor_nodes.begin(), tensor_nodes.end(), number);
  if (entry != tensor_nodes.end() && *entry == number) {
    region.tensors[static_cast<size_t>(entry - tensor_nodes.begin())].tensor =
        value;
  }
  const auto group =
      std::lower_bound(region.groups.begin(), region.groups.end(), number,
                       [](const Group& g, uint32_t n) { return g.node < n; });
  if (group != region.groups.end() && group->node == number) {
    return replace_group(region,
                         static_cast<size_t>(group - region.groups.begin()));
  }
  // It had no words; it may need some now.
  group_.collect(nodes_, checks_, number, value, is_stable_[number]);
  return group_.words().empty() && group_.traits() == traits_[number];
}

}  // namespace magneto::guards
