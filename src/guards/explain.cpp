// SPDX-License-Identifier: BSD-3-Clause
// The guards in words: all of them, and the first that doesn't hold. What holds
// is decided by the functions that a run uses (read.h, check.h, numbers.h), and
// each kind of check has its words beside its predicate (wording.h).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "guards/check.h"
#include "guards/program.h"
#include "guards/read.h"
#include "guards/show.h"
#include "guards/views.h"
#include "guards/wording.h"
#include "shapes/show.h"

namespace magneto::guards {
namespace {

std::string together(const Wording& wording) {
  return wording.claim + ", but " + wording.truth;
}

const char* ambient_name(Ambient id) {
  switch (id) {
#define MG_AMBIENT(Id, printed) \
  case Ambient::Id:             \
    return printed;
#include "guards/ambient.def"
#undef MG_AMBIENT
    case Ambient::Count_:
      break;
  }
  return "?";
}

std::string show_ambient(Ambient id, int64_t value) {
  const auto print = hooks().ambient[static_cast<size_t>(id)].print;
  return print == nullptr ? std::to_string(value) : print(value);
}

}  // namespace

class Explainer {
 public:
  explicit Explainer(const GuardProgram& program) : program_(program) {
    for (const Node& node : program.nodes_) sources_.push_back(node.source);
  }

  std::vector<std::string> describe() const {
    std::vector<std::string> lines;
    for (const AmbientGuard& guard : program_.ambients_) {
      lines.push_back(claim(guard));
    }
    for (uint32_t i = 0; i < program_.nodes_.size(); ++i) {
      const Node& node = program_.nodes_[i];
      if (node.must_be_absent) lines.push_back(absence(i));
      for (uint32_t k = node.first_check; k < node.last_check; ++k) {
        lines.push_back(
            word_check(program_.checks_[k], name(i), nullptr).claim);
      }
    }
    for (shapes::E condition : program_.numbers_.conditions()) {
      lines.push_back(claim(condition));
    }
    for (const SamePair& pair : program_.relations_.same()) {
      lines.push_back(name(pair.a) + " is " + name(pair.b));
    }
    for (const DistinctNodes& nodes : program_.relations_.distinct()) {
      std::string text = "all different objects:";
      for (uint32_t node : members(nodes)) text += " " + name(node);
      lines.push_back(text);
    }
    for (const ViewNodes& views : program_.relations_.views()) {
      for (size_t i = 0; i < views.nodes.size(); ++i)
        lines.push_back(name(views.nodes[i]) +
                        is_view_of(views, i, views.bases[i]));
    }
    return lines;
  }

  std::vector<GuardProgram::Explained> describe_numbers() const {
    std::vector<GuardProgram::Explained> all;
    const std::span<const shapes::E> conditions =
        program_.numbers_.conditions();
    for (size_t i = 0; i < conditions.size(); ++i)
      all.push_back({claim(conditions[i]), program_.numbers_.stack(i)});
    return all;
  }

  GuardProgram::Explained first_failure(const CallView& view) {
    if (!program_.alive()) {
      return {"an object that the guards compare with no longer exists"};
    }
    if (!program_.is_hierarchy_unchanged())
      return {"the __bases__ of a class were written to"};
    if (program_.changed_fact_)
      return {together({program_.changed_fact_->text(),
                        "it is otherwise, since a class was registered"})};
    for (const AmbientGuard& guard : program_.ambients_) {
      const int64_t now = hooks().ambient[static_cast<size_t>(guard.id)].read();
      if (now == guard.value) continue;
      return {together({claim(guard), "it is " + show_ambient(guard.id, now)})};
    }
    slots_.assign(program_.nodes_.size(), nullptr);
    for (uint32_t i = 0; i < program_.nodes_.size(); ++i) {
      std::string text = node_failure(i, view);
      if (!text.empty()) return {std::move(text)};
    }
    GuardProgram::Explained numbers = number_failure();
    if (!numbers.text.empty()) return numbers;
    return {relation_failure()};
  }

 private:
  std::string name(uint32_t node) const {
    return print_path(sources_, SourceId(node));
  }

  std::string absence(uint32_t node) const {
    return print_absence(sources_, SourceId(node));
  }

  std::string node_failure(uint32_t number, const CallView& view) {
    const Node& node = program_.nodes_[number];
    const Source& source = node.source;
    const Reading reading = source.base.valid()
                                ? read_step(source, slots_[source.base.index])
                                : read_root(source, view);
    if (reading.is_unreadable()) {
      return name(number) + " can be read without running Python code, but " +
             "now it can't";
    }
    if (node.must_be_absent) {
      if (reading.is_absent()) return {};
      return together(
          {absence(number), "it is there: " + show(reading.value())});
    }
    if (reading.is_absent()) {
      return together({name(number) + " exists", "it doesn't"});
    }
    slots_[number] = reading.value();
    for (uint32_t k = node.first_check; k < node.last_check; ++k) {
      const Check& check = program_.checks_[k];
      if (holds(check, reading.value())) continue;
      const Wording wording = word_check(check, name(number), reading.value());
      return wording.truth.empty() ? wording.claim : together(wording);
    }
    return {};
  }

  // "x.size(0) <= y.size(0), but x.size(0) is 8 and y.size(0) is 4".
  GuardProgram::Explained number_failure() const {
    const Numbers& numbers = program_.numbers_;
    std::vector<shapes::Number> values(numbers.symbol_count());
    for (const NumberBinding& binding : numbers.bindings()) {
      if (read_number(binding, slots_[binding.node],
                      &values[binding.symbol.index]))
        continue;
      return {
          together({number_name(binding) + (binding.type == shapes::Type::Float
                                                ? " is a float"
                                                : " is a 64-bit integer"),
                    name(binding.node) + " is " + show(slots_[binding.node])})};
    }
    for (size_t i = 0; i < numbers.conditions().size(); ++i) {
      const shapes::E condition = numbers.conditions()[i];
      shapes::Program program;
      program.check(condition);
      if (program.run(values)) continue;
      std::vector<std::string> truths;
      for (const NumberBinding& binding : numbers.bindings()) {
        bool is_there = false;
        shapes::for_each_symbol(condition, [&](shapes::SymbolId symbol) {
          is_there = is_there || symbol == binding.symbol;
        });
        if (!is_there) continue;
        const shapes::Number value = values[binding.symbol.index];
        truths.push_back(number_name(binding) + " is " +
                         (binding.type == shapes::Type::Float
                              ? fmt::format("{}", value.real())
                              : std::to_string(value.integer())));
      }
      return {together({claim(condition),
                        fmt::format("{}", fmt::join(truths, " and "))}),
              numbers.stack(i)};
    }
    return {};
  }

  std::string relation_failure() const {
    const Relations& relations = program_.relations_;
    for (const SamePair& pair : relations.same()) {
      if (slots_[pair.a] == slots_[pair.b]) continue;
      return together(
          {name(pair.a) + " is " + name(pair.b), "they are two objects"});
    }
    for (const DistinctNodes& nodes : relations.distinct()) {
      std::string text = distinct_failure(members(nodes));
      if (!text.empty()) return text;
    }
    for (const ViewNodes& views : relations.views()) {
      const size_t i = Relations::first_with_other_base(views, slots_.data());
      if (i == views.nodes.size()) continue;
      const uint32_t now = Relations::base_now(views, i, slots_.data());
      return together(
          {name(views.nodes[i]) + is_view_of(views, i, views.bases[i]),
           "it" + is_view_of(views, i, now)});
    }
    return {};
  }

  // What a base_number() of the member `i` says.
  std::string is_view_of(const ViewNodes& views, size_t i,
                         uint32_t base) const {
    const size_t count = views.nodes.size();
    if (base == kNoView) return " is no view";
    if (base < count) return " is a view of " + name(views.nodes[base]);
    if (base == count + i) return " is a view of another tensor";
    return " is a view of the base of " + name(views.nodes[base - count]);
  }

  std::string distinct_failure(const std::vector<uint32_t>& nodes) const {
    for (size_t i = 1; i < nodes.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (slots_[nodes[i]] != slots_[nodes[j]]) continue;
        return together({name(nodes[j]) + " is not " + name(nodes[i]),
                         "they are one object"});
      }
    }
    return {};
  }

  static std::vector<uint32_t> members(const DistinctNodes& nodes) {
    std::vector<uint32_t> all = nodes.early;
    all.insert(all.end(), nodes.late.begin(), nodes.late.end());
    return all;
  }

  std::string number_name(const NumberBinding& binding) const {
    return guards::number_name(name(binding.node), binding.kind, binding.dim);
  }

  std::string claim(shapes::E condition) const {
    return shapes::show(condition, [this](shapes::SymbolId symbol) {
      for (const NumberBinding& binding : program_.numbers_.bindings())
        if (binding.symbol == symbol) return number_name(binding);
      return std::string("?");
    });
  }

  static std::string claim(const AmbientGuard& guard) {
    return std::string(ambient_name(guard.id)) + " is " +
           show_ambient(guard.id, guard.value);
  }

  const GuardProgram& program_;
  std::vector<Source> sources_;
  std::vector<PyObject*> slots_;
};

std::string GuardProgram::explain_failure(const CallView& view) const {
  return first_failure(view).text;
}

GuardProgram::Explained GuardProgram::first_failure(
    const CallView& view) const {
  return Explainer(*this).first_failure(view);
}

std::vector<GuardProgram::Explained> GuardProgram::describe_numbers() const {
  if (!alive()) return {};
  return Explainer(*this).describe_numbers();
}

std::vector<std::string> GuardProgram::describe() const {
  if (!alive()) return {"an object that the guards compare with is gone"};
  return Explainer(*this).describe();
}

}  // namespace magneto::guards
