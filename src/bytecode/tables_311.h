// SPDX-License-Identifier: BSD-3-Clause
// The two side tables of a CPython 3.11 code object: exception table and line
// table. Offsets are in code units.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "bytecode/instruction.h"

namespace magneto::bytecode::cpython_311 {

struct RawHandler {
  int32_t start;
  int32_t size;
  int32_t target;
  int32_t depth;
  bool push_lasti;
};

std::vector<RawHandler> read_exception_table(std::span<const uint8_t> table);
void write_exception_entry(const RawHandler& handler,
                           std::vector<uint8_t>& table);

// Walks a line table from front to back.
class LineTableReader {
 public:
  LineTableReader(std::span<const uint8_t> table, int32_t first_line)
      : table_(table), line_(first_line) {}

  // Moves to the next entry; false at the end.
  bool next();
  // One past the last code unit that the entry speaks of.
  int32_t end() const { return end_; }
  const Position& position() const { return position_; }

 private:
  uint8_t byte();
  int32_t varint();
  int32_t signed_varint();

  std::span<const uint8_t> table_;
  size_t at_ = 0;
  int32_t line_;  // of the last entry that had one
  int32_t end_ = 0;
  Position position_;
};

class LineTableWriter {
 public:
  explicit LineTableWriter(int32_t first_line) : line_(first_line) {}

  // Says that the next `units` code units come from `position`.
  void add(int32_t units, const Position& position);
  std::vector<uint8_t> take() { return std::move(table_); }

 private:
  void add_entry(int32_t units, const Position& position);
  void head(int32_t code, int32_t units);
  void varint(uint32_t value);
  void signed_varint(int32_t value);

  std::vector<uint8_t> table_;
  int32_t line_;
};

}  // namespace magneto::bytecode::cpython_311
