// SPDX-License-Identifier: BSD-3-Clause
#include "values/model/speculation.h"

#include <algorithm>
#include <utility>

namespace magneto::values {

Speculation::Speculation(Context& ctx)
    : ctx_(ctx),
      begin_(ctx.journal.position()),
      calls_(ctx.graph().call_count()),
      objects_(ctx.heap.size()),
      exception_(ctx.exception()) {}

void Speculation::rollback() {
  ctx_.journal.rollback(begin_);
  ctx_.restore_exception(exception_);
  ctx_.drop_handed();
  if (ctx_.inliner) ctx_.inliner->drop_broken();
}

template <class Visit>
bool Speculation::any_write(const Speculation& outer, Visit visit) const {
  // Objects of the heap are numbered as they are made; of other stores, the
  // records say what is new.
  std::vector<std::pair<const Journaled*, WrittenPart>> made;
  const auto is_new = [&](const Journaled* store, WrittenPart written) {
    if (store == &ctx_.heap)
      return ctx_.heap.is_made_since(HeapId(written.part), outer.objects_);
    written.is_new = true;
    return std::ranges::find(made, std::pair(store, written)) != made.end();
  };
  return ctx_.journal.any_since(begin_, [&](const Journal::Record& record) {
    const auto written = record.store->written(record.a, record.b);
    if (!written) return false;
    if (written->is_new) {
      if (record.store != &ctx_.heap) made.emplace_back(record.store, *written);
      return false;
    }
    return !is_new(record.store, *written) && visit(record, *written);
  });
}

bool Speculation::has_effects(const Journaled* but_in) const {
  return ctx_.graph().call_count() != calls_ ||
         any_write(*this, [&](const Journal::Record& record, WrittenPart) {
           return record.store != but_in;
         });
}

bool Speculation::has_effects_outside(const Speculation& outer) const {
  return ctx_.graph().call_count() != calls_ ||
         any_write(outer, [](const auto&, WrittenPart) { return true; });
}

template <class Visit>
void Speculation::each_change(Visit visit) const {
  std::vector<std::pair<const Journaled*, uint64_t>> seen;
  any_write(*this, [&](const Journal::Record& record, WrittenPart written) {
    const Journaled* store = record.store;
    const std::pair key(store, store == &ctx_.heap
                                   ? ctx_.heap.key_of(HeapId(written.part))
                                   : written.part);
    if (std::ranges::find(seen, key) != seen.end()) return false;
    seen.push_back(key);
    if (!store->is_restored(record.a, record.b)) visit(key, written.part);
    return false;
  });
}

std::vector<WrittenState> Speculation::changes() const {
  std::vector<WrittenState> states;
  each_change([&](const auto& key, uint64_t part) {
    states.push_back(
        {key, key.first->part_name(part), key.first->part_content(part)});
  });
  return states;
}

std::optional<std::vector<HeapId>> Speculation::written_objects() const {
  std::vector<HeapId> objects;
  bool writes_more = false;
  each_change([&](const auto& key, uint64_t part) {
    if (key.first == &ctx_.heap)
      objects.emplace_back(part);
    else
      writes_more = true;
  });
  if (writes_more) return std::nullopt;
  return objects;
}

std::string first_difference(std::span<const WrittenState> first,
                             std::string_view first_name,
                             std::span<const WrittenState> second,
                             std::string_view second_name) {
  const auto only_in = [](const WrittenState& state, std::string_view writer,
                          std::string_view other) {
    return std::string(writer) + " writes to " + state.name + ", which " +
           std::string(other) + " doesn't";
  };
  for (const WrittenState& state : first) {
    const auto same = std::ranges::find(second, state.key, &WrittenState::key);
    if (same == second.end()) return only_in(state, first_name, second_name);
    if (same->content != state.content)
      return std::string(first_name) + " leaves " + state.name + " as " +
             state.content + ", " + std::string(second_name) + " as " +
             same->content;
  }
  for (const WrittenState& state : second)
    if (std::ranges::find(first, state.key, &WrittenState::key) == first.end())
      return only_in(state, second_name, first_name);
  return {};
}

}  // namespace magneto::values
