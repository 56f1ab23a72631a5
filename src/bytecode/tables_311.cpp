// SPDX-License-Identifier: BSD-3-Clause
#include "bytecode/tables_311.h"

#include <utility>

#include "support/check.h"

namespace magneto::bytecode::cpython_311 {
namespace {

// Exception table: groups of six bits, most significant first, the first byte
// of an entry marked.
constexpr uint8_t kEntryStart = 0x80;
// Both tables: another group follows.
constexpr uint8_t kMore = 0x40;
constexpr uint8_t kGroup = 0x3f;

// How an entry of the line table is written; lower codes are short forms whose
// code is part of the column.
constexpr int32_t kOneLine = 10;  // 10, 11, 12: that many lines further - 10
constexpr int32_t kNoColumns = 13;
constexpr int32_t kLong = 14;
constexpr int32_t kNone = 15;

constexpr int32_t kUnitsOfAnEntry = 8;

// No number of either table is near it; sums of a few stay below 2^31.
constexpr uint32_t kTooLarge = 1u << 28;

void write_group(uint32_t value, uint8_t mark, std::vector<uint8_t>& table) {
  int shift = 30;
  while (shift > 0 && (value >> shift) == 0) shift -= 6;
  for (; shift > 0; shift -= 6) {
    const uint8_t group = (value >> shift) & kGroup;
    table.push_back(mark | kMore | group);
    mark = 0;
  }
  table.push_back(mark | (value & kGroup));
}

}  // namespace

std::vector<RawHandler> read_exception_table(std::span<const uint8_t> table) {
  std::vector<RawHandler> handlers;
  size_t at = 0;
  auto number = [&] {
    uint32_t value = 0;
    while (true) {
      MG_CHECK(at < table.size(), "the exception table ends inside an entry");
      const uint8_t byte = table[at++];
      value = value << 6 | (byte & kGroup);
      if (byte & kMore) continue;
      MG_CHECK(value < kTooLarge, "an exception range must lie in the code");
      return static_cast<int32_t>(value);
    }
  };
  while (at < table.size()) {
    RawHandler handler{};
    handler.start = number();
    handler.size = number();
    handler.target = number();
    const int32_t depth = number();
    handler.depth = depth >> 1;
    handler.push_lasti = depth & 1;
    handlers.push_back(handler);
  }
  return handlers;
}

void write_exception_entry(const RawHandler& handler,
                           std::vector<uint8_t>& table) {
  write_group(static_cast<uint32_t>(handler.start), kEntryStart, table);
  write_group(static_cast<uint32_t>(handler.size), 0, table);
  write_group(static_cast<uint32_t>(handler.target), 0, table);
  write_group(static_cast<uint32_t>(handler.depth) << 1 | handler.push_lasti, 0,
              table);
}

uint8_t LineTableReader::byte() {
  MG_CHECK(at_ < table_.size(), "the line table ends inside an entry");
  return table_[at_++];
}

int32_t LineTableReader::varint() {
  uint32_t value = 0;
  for (int shift = 0;; shift += 6) {
    const uint8_t group = byte();
    if (shift < 32) value |= static_cast<uint32_t>(group & kGroup) << shift;
    if (group & kMore) continue;
    MG_CHECK(value < kTooLarge, "a source range must lie in a file");
    return static_cast<int32_t>(value);
  }
}

int32_t LineTableReader::signed_varint() {
  const auto value = static_cast<uint32_t>(varint());
  const auto magnitude = static_cast<int32_t>(value >> 1);
  return value & 1 ? -magnitude : magnitude;
}

bool LineTableReader::next() {
  if (at_ == table_.size()) return false;
  const uint8_t first = byte();
  end_ += (first & 7) + 1;
  const int32_t code = first >> 3 & 15;
  position_ = {};
  if (code == kNone) return true;
  MG_CHECK(line_ < static_cast<int32_t>(kTooLarge) &&
               line_ > -static_cast<int32_t>(kTooLarge),
           "a line must lie in a file");
  if (code == kLong) {
    position_.line = line_ += signed_varint();
    position_.end_line = line_ + varint();
    position_.column = varint() - 1;
    position_.end_column = varint() - 1;
  } else if (code == kNoColumns) {
    position_.line = position_.end_line = line_ += signed_varint();
  } else if (code >= kOneLine) {
    position_.line = position_.end_line = line_ += code - kOneLine;
    position_.column = byte();
    position_.end_column = byte();
  } else {
    const uint8_t second = byte();
    position_.line = position_.end_line = line_;
    position_.column = code << 3 | second >> 4;
    position_.end_column = position_.column + (second & 15);
  }
  return true;
}

void LineTableWriter::add(int32_t units, const Position& position) {
  for (; units > kUnitsOfAnEntry; units -= kUnitsOfAnEntry) {
    add_entry(kUnitsOfAnEntry, position);
  }
  add_entry(units, position);
}

void LineTableWriter::add_entry(int32_t units, const Position& position) {
  if (position.line < 0) return head(kNone, units);
  const int32_t delta = position.line - std::exchange(line_, position.line);
  const int32_t column = position.column, end_column = position.end_column;
  const bool one_line = position.end_line == position.line;
  if (column < 0 || end_column < 0) {
    if (one_line || position.end_line < 0) {
      head(kNoColumns, units);
      return signed_varint(delta);
    }
  } else if (one_line) {
    const int32_t width = end_column - column;
    if (delta == 0 && column < kOneLine * 8 && width >= 0 && width < 16) {
      head(column >> 3, units);
      table_.push_back(static_cast<uint8_t>((column & 7) << 4 | width));
      return;
    }
    if (delta >= 0 && delta < 3 && column < 128 && end_column < 128) {
      head(kOneLine + delta, units);
      table_.push_back(static_cast<uint8_t>(column));
      table_.push_back(static_cast<uint8_t>(end_column));
      return;
    }
  }
  MG_CHECK(position.end_line >= position.line,
           "an instruction's source range must not end before it starts");
  head(kLong, units);
  signed_varint(delta);
  varint(static_cast<uint32_t>(position.end_line - position.line));
  varint(static_cast<uint32_t>(column + 1));
  varint(static_cast<uint32_t>(end_column + 1));
}

void LineTableWriter::head(int32_t code, int32_t units) {
  table_.push_back(static_cast<uint8_t>(0x80 | code << 3 | (units - 1)));
}

void LineTableWriter::varint(uint32_t value) {
  for (; value > kGroup; value >>= 6) {
    table_.push_back(static_cast<uint8_t>(kMore | (value & kGroup)));
  }
  table_.push_back(static_cast<uint8_t>(value));
}

void LineTableWriter::signed_varint(int32_t value) {
  varint(value < 0 ? static_cast<uint32_t>(-value) << 1 | 1
                   : static_cast<uint32_t>(value) << 1);
}

}  // namespace magneto::bytecode::cpython_311
