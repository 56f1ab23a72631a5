// SPDX-License-Identifier: BSD-3-Clause
#include "bytecode/v311/side_tables.h"

#include <utility>

#include "support/check.h"

namespace magneto::bytecode::v311 {
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

// Walks a line table from front to back.
class LineTableReader {
 public:
  LineTableReader(std::span<const uint8_t> table, int32_t line)
      : table_(table), line_(line) {}

  // Moves to the next entry; false at the end.
  bool next();
  const LineEntry& entry() const { return entry_; }

 private:
  uint8_t byte();
  int32_t varint();
  int32_t signed_varint();

  std::span<const uint8_t> table_;
  size_t at_ = 0;
  int32_t line_;  // of the last entry that had one
  LineEntry entry_;
};

class LineTableWriter {
 public:
  explicit LineTableWriter(int32_t line) : line_(line) {}

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
  const int32_t code = first >> 3 & 15;
  entry_ = {.units = (first & 7) + 1};
  Position& position = entry_.position;
  if (code == kNone) return true;
  MG_CHECK(line_ < static_cast<int32_t>(kTooLarge) &&
               line_ > -static_cast<int32_t>(kTooLarge),
           "a line must lie in a file");
  if (code == kLong) {
    position.line = line_ += signed_varint();
    position.end_line = line_ + varint();
    position.column = varint() - 1;
    position.end_column = varint() - 1;
  } else if (code == kNoColumns) {
    position.line = position.end_line = line_ += signed_varint();
  } else if (code >= kOneLine) {
    position.line = position.end_line = line_ += code - kOneLine;
    position.column = byte();
    position.end_column = byte();
  } else {
    const uint8_t second = byte();
    position.line = position.end_line = line_;
    position.column = code << 3 | second >> 4;
    position.end_column = position.column + (second & 15);
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

}  // namespace

std::vector<RawHandler> read_handlers(std::span<const uint8_t> table) {
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

void write_handler(const RawHandler& handler, std::vector<uint8_t>& table) {
  write_group(static_cast<uint32_t>(handler.start), kEntryStart, table);
  write_group(static_cast<uint32_t>(handler.size), 0, table);
  write_group(static_cast<uint32_t>(handler.target), 0, table);
  write_group(static_cast<uint32_t>(handler.depth) << 1 | handler.push_lasti, 0,
              table);
}

std::vector<LineEntry> read_lines(std::span<const uint8_t> table,
                                  int32_t line) {
  std::vector<LineEntry> entries;
  // A short entry has two bytes.
  entries.reserve(table.size() / 2);
  LineTableReader reader(table, line);
  while (reader.next()) entries.push_back(reader.entry());
  return entries;
}

std::vector<uint8_t> write_lines(std::span<const LineEntry> entries,
                                 int32_t line) {
  LineTableWriter writer(line);
  for (const LineEntry& entry : entries)
    writer.add(entry.units, entry.position);
  return writer.take();
}

}  // namespace magneto::bytecode::v311
