// SPDX-License-Identifier: BSD-3-Clause
#include "guards/numbers.h"

#include <algorithm>

#include "guards/check.h"
#include "guards/draw.h"
#include "python/iterator_layout.h"
#include "python/itertools_layout.h"
#include "python/random_generator.h"

namespace magneto::guards {
namespace {

// -1 stands for "no such number" in the tensor room's answers.
bool found(int64_t answer, shapes::Number* result) {
  *result = shapes::Number::of(answer);
  return answer != -1;
}

}  // namespace

bool read_number(const NumberBinding& binding, PyObject* value,
                 shapes::Number* result) noexcept {
  const TensorHooks& tensor = hooks().tensor;
  switch (binding.kind) {
    case IntKind::Value: {
      if (binding.type == shapes::Type::Float) {
        if (!PyFloat_CheckExact(value)) return false;
        *result = shapes::Number::of(PyFloat_AS_DOUBLE(value));
        return true;
      }
      if (!PyLong_CheckExact(value)) return false;
      int overflow = 0;
      *result = shapes::Number::of(
          static_cast<int64_t>(PyLong_AsLongLongAndOverflow(value, &overflow)));
      return overflow == 0;
    }
    case IntKind::Length:
      return found(plain_length(value), result);
    case IntKind::Position: {
      const auto iterator = python::counting_iterator(value);
      *result = shapes::Number::of(iterator.next);
      return iterator.is_one;
    }
    case IntKind::Word: {
      int64_t number = 0;
      const bool is_one = python::iterator_number(
          value, static_cast<size_t>(binding.dim), &number);
      *result = shapes::Number::of(number);
      return is_one;
    }
    case IntKind::Size:
      return tensor.size != nullptr &&
             found(tensor.size(value, binding.dim), result);
    case IntKind::Stride:
      return tensor.stride != nullptr &&
             found(tensor.stride(value, binding.dim), result);
    case IntKind::StorageOffset:
      return tensor.storage_offset != nullptr &&
             found(tensor.storage_offset(value), result);
    case IntKind::Address:
      *result = shapes::Number::of(
          static_cast<int64_t>(reinterpret_cast<intptr_t>(value)));
      return value != nullptr;
    case IntKind::Random: {
      double number = 0;
      if (!python::draw_random(value, &number)) return false;
      *result = shapes::Number::of(number);
      return true;
    }
    case IntKind::Below:
    case IntKind::RandomBits: {
      int64_t number = 0;
      if (!(binding.kind == IntKind::Below
                ? python::draw_below
                : python::draw_bits)(value, binding.dim, &number))
        return false;
      *result = shapes::Number::of(number);
      return true;
    }
    case IntKind::Draw:
      return draw_number(*binding.draw, value, result);
  }
  return false;
}

void Numbers::compile(const NumberGuards& guards,
                      std::vector<NumberBinding> bindings,
                      std::span<const shapes::E> results,
                      uint32_t volatile_nodes) {
  environment_ = guards.environment;
  const auto drawn = std::stable_partition(
      bindings.begin(), bindings.end(),
      [](const NumberBinding& binding) { return !is_drawn(binding.kind); });
  drawn_.assign(drawn, bindings.end());
  bindings.erase(drawn, bindings.end());
  bindings_ = std::move(bindings);
  values_.assign(guards.symbols.size(), {});
  std::vector<bool> is_early(guards.symbols.size());
  for (const NumberBinding& binding : bindings_) {
    const bool early = binding.node < volatile_nodes;
    is_early[binding.symbol.index] = early;
    (early ? early_ : late_).bindings.push_back(binding);
  }
  for (const shapes::Decision& decision : guards.conditions) {
    bool early = true;
    shapes::for_each_symbol(decision.condition, [&](shapes::SymbolId symbol) {
      early = early && is_early[symbol.index];
    });
    (early ? early_ : late_).checks.check(decision.condition);
    conditions_.push_back(decision.condition);
  }
  stacks_.assign(guards.stacks.begin(), guards.stacks.end());
  for (shapes::E result : results) {
    registers_.push_back(results_.add(result));
    types_.push_back(result->type);
  }
}

bool Numbers::Part::holds(PyObject* const* slots,
                          std::vector<shapes::Number>& values) noexcept {
  for (const NumberBinding& binding : bindings)
    if (!read_number(binding, slots[binding.node],
                     &values[binding.symbol.index]))
      return false;
  return checks.is_empty() || checks.run(values);
}

bool Numbers::calls_to_draw() const {
  return std::ranges::any_of(drawn_, [](const NumberBinding& binding) {
    return binding.kind == IntKind::Draw;
  });
}

bool Numbers::draw(PyObject* const* slots) noexcept {
  // What runs meanwhile may check these guards for a call of its own.
  std::vector<shapes::Number> values = values_;
  std::vector<Ref> generators;
  for (const NumberBinding& binding : drawn_)
    generators.push_back(Ref::share(slots[binding.node]));
  for (size_t i = 0; i < drawn_.size(); ++i)
    if (!read_number(drawn_[i], generators[i], &values[drawn_[i].symbol.index]))
      return false;
  values_ = std::move(values);
  return registers_.empty() || results_.run(values_);
}

bool Numbers::make_up_drawn() noexcept {
  for (const NumberBinding& binding : drawn_)
    values_[binding.symbol.index] =
        binding.kind == IntKind::Random ? shapes::Number::of(0.5)
        : binding.kind == IntKind::Draw ? binding.draw->sample
        : binding.kind == IntKind::Below
            ? shapes::Number::of(binding.dim / 2)
            : shapes::Number::of((int64_t{1} << binding.dim) / 2);
  return registers_.empty() || results_.run(values_);
}

}  // namespace magneto::guards
