// SPDX-License-Identifier: BSD-3-Clause
// From a guard set to a program: which sources are needed, in which order they
// are read, what is pinned together, and which guards others already imply.
#include <algorithm>

#include "guards/check.h"
#include "guards/program.h"
#include "shapes/environment.h"
#include "support/check.h"

namespace magneto::guards {
namespace {

constexpr uint32_t kNone = SourceId::kNone;

}  // namespace

class GuardProgramBuilder {
 public:
  GuardProgramBuilder(const SourceTable& sources, const GuardSet& guards,
                      const NumberGuards& numbers,
                      std::span<const Request> requests)
      : sources_(sources),
        guards_(guards),
        numbers_(numbers),
        requests_(requests),
        program_(new GuardProgram),
        is_used_(sources.size()),
        node_of_(sources.size(), kNone) {}

  std::unique_ptr<GuardProgram> build() {
    find_symbols();
    mark_used();
    link_children();
    sort_guards();
    add_nodes();
    add_relations();
    add_numbers();
    add_ambients();
    for (const Request& request : requests_) {
      if (request.number) {
        program_->number_inputs_.push_back(
            static_cast<uint32_t>(program_->input_nodes_.size()));
        program_->input_nodes_.push_back(GuardProgram::kNumber);
        continue;
      }
      const uint32_t node = node_of_[request.source.index];
      MG_CHECK(!program_->nodes_[node].must_be_absent,
               "an input of the graph must be there");
      program_->input_nodes_.push_back(node);
    }
    resize_slots();
    return std::move(program_);
  }

 private:
  // Symbols that a condition or a request needs, in their order; and all that
  // are drawn, as the generators must go on.
  void find_symbols() {
    const auto find = [this](shapes::E e) {
      shapes::for_each_symbol(
          e, [this](shapes::SymbolId symbol) { symbols_.push_back(symbol); });
    };
    for (const shapes::Decision& decision : numbers_.conditions)
      find(decision.condition);
    for (const Request& request : requests_)
      if (request.number) find(request.number);
    // What was rolled back has left sources without a symbol.
    for (size_t i = 0; i < numbers_.symbols.size() &&
                       i < numbers_.environment->symbol_count();
         ++i) {
      if (is_drawn(numbers_.symbols[i].kind) &&
          numbers_.environment->symbol(shapes::SymbolId(i)).is_given)
        symbols_.emplace_back(i);
    }
    std::sort(symbols_.begin(), symbols_.end());
    symbols_.erase(std::unique(symbols_.begin(), symbols_.end()),
                   symbols_.end());
  }

  void mark(SourceId id) {
    while (id.valid() && !is_used_[id.index]) {
      is_used_[id.index] = 1;
      id = sources_[id].base;
    }
  }

  // The types of the interpreter's own C code can't be written to.
  bool can_never_fail(const Guard& guard) const {
    if (guard.kind != GuardKind::Identity && guard.kind != GuardKind::Absent) {
      return false;
    }
    const Source& source = sources_[guard.source];
    if (source.kind != SourceKind::TypeAttr &&
        source.kind != SourceKind::TypeOwnAttr) {
      return false;
    }
    const Source& type = sources_[source.base];
    return type.kind == SourceKind::Constant && PyType_Check(type.object) &&
           PyType_HasFeature(reinterpret_cast<PyTypeObject*>(type.object),
                             Py_TPFLAGS_IMMUTABLETYPE);
  }

  void mark_used() {
    for (const Guard& guard : guards_.guards()) {
      if (can_never_fail(guard)) continue;
      mark(guard.source);
    }
    for (const Relation& relation : guards_.relations())
      for (SourceId member : relation.members) mark(member);
    for (shapes::SymbolId symbol : symbols_)
      mark(numbers_.symbols[symbol.index].source);
    for (const Request& request : requests_) mark(request.source);
  }

  // A base has a smaller id than what is read from it; going backwards gives
  // lists in the order of ids.
  void link_children() {
    first_child_.assign(sources_.size(), kNone);
    next_sibling_.assign(sources_.size(), kNone);
    for (uint32_t i = static_cast<uint32_t>(sources_.size()); i-- > 0;) {
      if (!is_used_[i]) continue;
      const SourceId base = sources_[SourceId(i)].base;
      if (!base.valid()) {
        roots_.push_back(i);
        continue;
      }
      next_sibling_[i] = first_child_[base.index];
      first_child_[base.index] = i;
    }
    std::reverse(roots_.begin(), roots_.end());
  }

  // Guards of one source, by source and then rank.
  void sort_guards() {
    for (const Guard& guard : guards_.guards()) {
      if (!can_never_fail(guard)) sorted_.push_back(&guard);
    }
    std::stable_sort(sorted_.begin(), sorted_.end(),
                     [](const Guard* a, const Guard* b) {
                       if (a->source != b->source) return a->source < b->source;
                       return row(a->kind).rank < row(b->kind).rank;
                     });
  }

  std::span<const Guard* const> guards_of(uint32_t source) const {
    const auto begin = std::lower_bound(
        sorted_.begin(), sorted_.end(), source,
        [](const Guard* g, uint32_t id) { return g->source.index < id; });
    auto end = begin;
    while (end != sorted_.end() && (*end)->source.index == source) ++end;
    return {begin, end};
  }

  // Arguments that every call brings anew aren't worth pinning: plain values
  // and tensors, and the containers that calls are made with.
  bool is_volatile(uint32_t root) const {
    if (sources_[SourceId(root)].kind != SourceKind::Local) return false;
    if (first_child_[root] == kNone) return true;
    for (const Guard* guard : guards_of(root)) {
      if (guard->kind == GuardKind::Tensor) return true;
      if (guard->kind != GuardKind::TypeIs) continue;
      PyObject* type = guard->object;
      return type == reinterpret_cast<PyObject*>(&PyTuple_Type) ||
             type == reinterpret_cast<PyObject*>(&PyList_Type) ||
             type == reinterpret_cast<PyObject*>(&PyDict_Type);
    }
    return false;
  }

  void add_nodes() {
    program_->nodes_.reserve(static_cast<size_t>(
        std::count(is_used_.begin(), is_used_.end(), uint8_t{1})));
    program_->checks_.reserve(sorted_.size());
    const auto pinnable =
        std::stable_partition(roots_.begin(), roots_.end(),
                              [this](uint32_t r) { return is_volatile(r); });
    for (auto root = roots_.begin(); root != pinnable; ++root) add_node(*root);
    program_->first_pinnable_ = node_count();
    const auto fixed =
        std::stable_partition(pinnable, roots_.end(), [this](uint32_t r) {
          return sources_[SourceId(r)].kind == SourceKind::Local;
        });
    for (auto root = pinnable; root != fixed; ++root)
      add_region(root, root + 1);
    add_region(fixed, roots_.end());
  }

  template <class Iterator>
  void add_region(Iterator root, Iterator end) {
    if (root == end) return;
    GuardProgram::Region region{.begin = node_count()};
    for (; root != end; ++root) {
      if (sources_[SourceId(*root)].kind != SourceKind::Constant) {
        region.roots.push_back(node_count());
      }
      add_node(*root);
    }
    region.end = node_count();
    program_->regions_.push_back(std::move(region));
  }

  uint32_t node_count() const {
    return static_cast<uint32_t>(program_->nodes_.size());
  }

  // The source and those that are read from it: a list that is linked through
  // its items is as deep as it is long.
  void add_node(uint32_t id) {
    struct Open {
      uint32_t node;
      uint32_t next_child;
    };
    std::vector<Open> open;
    auto begin = [&](uint32_t source) {
      const uint32_t node = push_node(source);
      open.push_back({node, first_child_[source]});
    };
    begin(id);
    while (!open.empty()) {
      const auto [node, child] = open.back();
      if (child != kNone) {
        open.back().next_child = next_sibling_[child];
        begin(child);
      } else {
        program_->nodes_[node].end = node_count();
        open.pop_back();
      }
    }
  }

  uint32_t push_node(uint32_t id) {
    const uint32_t number = node_count();
    node_of_[id] = number;
    Source source = sources_[SourceId(id)];
    if (source.base.valid()) {
      source.base = SourceId(node_of_[source.base.index]);
    }
    if (source.object != nullptr) program_->watch_.add(source.object);
    const auto first = static_cast<uint32_t>(program_->checks_.size());
    const bool must_be_absent = add_checks(id);
    program_->nodes_.push_back(
        {.source = source,
         .end = 0,
         .first_check = first,
         .last_check = static_cast<uint32_t>(program_->checks_.size()),
         .must_be_absent = must_be_absent});
    return number;
  }

  // True if the source must be absent; then it has no checks.
  bool add_checks(uint32_t id) {
    const auto guards = guards_of(id);
    KindSet implied = bit(GuardKind::Present);  // its read fails by itself
    for (const Guard* guard : guards) implied |= row(guard->kind).implied;
    for (const Guard* guard : guards) {
      if (guard->kind == GuardKind::Absent) {
        MG_CHECK(guards.size() == 1 && first_child_[id] == kNone,
                 "a source is absent or has a value, not both");
        return true;
      }
      if ((implied & bit(guard->kind)) == 0) add_check(*guard);
    }
    return false;
  }

  void add_check(const Guard& guard) {
    Check check{.kind = guard.kind, .number = guard.number};
    switch (row(guard.kind).keeps) {
      case Keeps::Nothing:
        break;
      case Keeps::Identity: {
        Fields fields;
        if (!fields_of(guard.object, fields)) {
          keep_object(check, guard.object);
          break;
        }
        check.object = guard.object;
        check.keys = add_keys(fields);
        break;
      }
      case Keeps::Held:
        check.object = guard.object;
        program_->watch_.hold(guard.object);
        break;
      case Keeps::Object:
      case Keeps::Constant:
        keep_object(check, guard.object);
        break;
      case Keeps::Items:
        if (is_constant(guard.object)) {
          keep_object(check, guard.object);
          break;
        }
        [[fallthrough]];
      case Keeps::Keys:
        check.keys = add_items(guard.object);
        break;
      case Keeps::Snapshot:
        MG_CHECK(hooks().tensor.matches != nullptr,
                 "tensor guards need the tensor room's hooks");
        check.snapshot = guard.snapshot.get();
        program_->snapshots_.push_back(guard.snapshot);
        break;
    }
    program_->checks_.push_back(check);
  }

  void keep_object(Check& check, PyObject* object) {
    check.object = object;
    program_->watch_.add(object);
  }

  // The items of a tuple or frozenset, without keeping it: it may hold objects
  // of the user's.
  KeyList add_items(PyObject* items) {
    Ref list = Ref::steal(PySequence_List(items));
    if (!list) PyErr_Clear();
    MG_CHECK(list, "out of memory");
    return add_keys({reinterpret_cast<PyListObject*>(list.get())->ob_item,
                     static_cast<size_t>(PyList_GET_SIZE(list.get()))});
  }

  KeyList add_keys(KeyList objects) {
    auto keys = std::make_unique<PyObject*[]>(objects.size());
    std::copy(objects.begin(), objects.end(), keys.get());
    for (PyObject* key : objects) {
      if (key != nullptr) program_->watch_.add(key);
    }
    const KeyList view(keys.get(), objects.size());
    program_->key_lists_.push_back(std::move(keys));
    return view;
  }

  void add_relations() {
    Relations& relations = program_->relations_;
    for (const Relation& relation : guards_.relations()) {
      std::vector<uint32_t> nodes;
      for (SourceId id : relation.members) nodes.push_back(node_of_[id.index]);
      switch (relation.kind) {
        case RelationKind::SameObject:
          relations.add_same({nodes[0], nodes[1]});
          break;
        case RelationKind::Distinct:
          relations.add_distinct(std::move(nodes));
          break;
        case RelationKind::Views:
          relations.add_views({std::move(nodes), relation.bases});
          break;
      }
    }
    relations.seal(program_->first_pinnable_);
  }

  void add_numbers() {
    if (symbols_.empty()) return;
    std::vector<NumberBinding> bindings;
    for (shapes::SymbolId symbol : symbols_) {
      const IntSource& source = numbers_.symbols[symbol.index];
      bindings.push_back({symbol, numbers_.environment->symbol(symbol).type,
                          source.kind, node_of_[source.source.index],
                          source.dim, source.draw});
    }
    std::vector<shapes::E> results;
    for (const Request& request : requests_)
      if (request.number) results.push_back(request.number);
    program_->numbers_.compile(numbers_, std::move(bindings), results,
                               program_->first_pinnable_);
  }

  void add_ambients() {
    program_->hierarchy_ = guards_.hierarchy();
    for (const AmbientGuard& guard : guards_.ambients()) {
      MG_CHECK(hooks().ambient[static_cast<size_t>(guard.id)].read != nullptr,
               "an ambient guard needs its hook");
      program_->ambients_.push_back(guard);
    }
    const auto facts = guards_.class_facts();
    program_->class_facts_.assign(facts.begin(), facts.end());
  }

  void resize_slots() {
    const size_t n = program_->nodes_.size();
    program_->slots_.resize(n);
    program_->trial_.resize(n);
    program_->seen_types_.resize(n);
    program_->is_stable_.resize(n);
    program_->is_live_.resize(n);
    program_->traits_.resize(n);
    program_->kept_.resize(n);
  }

  const SourceTable& sources_;
  const GuardSet& guards_;
  const NumberGuards& numbers_;
  std::span<const Request> requests_;
  std::vector<shapes::SymbolId> symbols_;
  std::unique_ptr<GuardProgram> program_;
  std::vector<uint8_t> is_used_;
  std::vector<uint32_t> node_of_;  // by source
  std::vector<uint32_t> first_child_;
  std::vector<uint32_t> next_sibling_;
  std::vector<uint32_t> roots_;
  std::vector<const Guard*> sorted_;
};

std::unique_ptr<GuardProgram> compile(const SourceTable& sources,
                                      const GuardSet& guards,
                                      const NumberGuards& numbers,
                                      std::span<const Request> requests) {
  return GuardProgramBuilder(sources, guards, numbers, requests).build();
}

}  // namespace magneto::guards
