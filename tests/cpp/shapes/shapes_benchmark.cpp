// SPDX-License-Identifier: BSD-3-Clause
// What it costs to make a comparison of sizes and to decide it, in nanoseconds.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <vector>

#include "shapes/environment.h"
#include "shapes/program.h"

namespace magneto::shapes {
namespace {

double processor_time() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 +
         static_cast<double>(now.tv_nsec);
}

// One call of `body`, best of several rounds.
template <class Body>
double measure(int calls, Body body) {
  double best = 1e18;
  for (int round = 0; round < 15; ++round) {
    const double begin = processor_time();
    for (int i = 0; i < calls; ++i) body();
    best = std::min(best, (processor_time() - begin) / calls);
  }
  return best;
}

void report(const char* what, double nanoseconds) {
  std::printf("%-58s %10.1f ns\n", what, nanoseconds);
}

void bench() {
  Journal journal;
  Environment env(&journal);
  Expressions& x = env.expressions();
  const Range any_size = {2, Range::kMost};
  std::vector<E> sizes;
  for (int64_t i = 0; i < 16; ++i) {
    sizes.push_back(env.backed(Type::Integer, Number::of(i * 8 + 4), any_size));
  }
  const E a = sizes[0], b = sizes[1];
  const E one = x.integer(1), two = x.integer(2), zero = x.integer(0);
  size_t sum = 0;
  const auto begin = journal.position();

  const auto linear = [&] {
    return x.less_equal(x.add(x.multiply(two, a), one), b);
  };
  report("made again: 2 * s0 + 1 <= s1",
         measure(100000, [&] { sum += linear()->id; }));
  report("made and decided again",
         measure(100000, [&] { sum += *env.decide(linear()); }));
  report("s0 == 1, made and decided again",
         measure(100000, [&] { sum += *env.decide(x.equal(a, one)); }));
  const auto even = [&] {
    return x.equal(x.make(Operation::Modulo, a, two), zero);
  };
  report("s0 % 2 == 0, made and decided again",
         measure(100000, [&] { sum += *env.decide(even()); }));
  journal.rollback(begin);
  report("2 * s0 + 1 <= s1, decided first and rolled back", measure(20000, [&] {
           sum += *env.decide(linear());
           journal.rollback(begin);
         }));
  report("s0 == 1 (never), after a fact was learned and undone",
         measure(20000, [&] {
           sum += *env.decide(x.equal(a, one));
           sum += *env.decide(even());
           journal.rollback(begin);
         }));

  // Each comparison is new: other numbers.
  int64_t number = 0;
  const double fresh = measure(2000, [&] {
    ++number;
    const E left = x.add(x.multiply(two, sizes[number % 16]),
                         x.integer(number % 1000 + 100000));
    sum += *env.decide(x.less_equal(left, sizes[(number / 16) % 16]));
    journal.rollback(begin);
  });
  report("2 * s_i + n <= s_j, made first", fresh);

  std::vector<Decision> guards;
  for (size_t i = 0; i + 1 < sizes.size(); ++i) {
    env.decide(x.less(sizes[i], sizes[i + 1]));
    env.decide(x.less(x.integer(static_cast<int64_t>(i)), sizes[i]));
  }
  report("guards() of 46 conditions",
         measure(50, [&] { guards = env.guards(); }));
  Program program;
  for (const Decision& guard : guards) program.check(guard.condition);
  std::vector<Number> values;
  for (size_t i = 0; i < sizes.size(); ++i) {
    values.push_back(*env.hint(sizes[i]));
  }
  report("a program of these guards, run",
         measure(20000, [&] { sum += program.run(values); }));
  std::printf("    %zu guards, %zu expressions (%zu)\n", guards.size(),
              x.size(), sum % 10);
}

}  // namespace
}  // namespace magneto::shapes

int main() { magneto::shapes::bench(); }
