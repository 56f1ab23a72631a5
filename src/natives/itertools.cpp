// SPDX-License-Identifier: BSD-3-Clause
// itertools: generators written in Python (magneto/polyfills/itertools.py).
#include "natives/registry.h"

namespace magneto::natives {

namespace {

constexpr Row polyfilled(const char* name, const char* function) {
  return row::polyfill("itertools", name, function);
}

constexpr Row kRows[] = {
    polyfilled("accumulate", "itertools.accumulate"),
    polyfilled("chain", "itertools.chain"),
    polyfilled("chain.from_iterable", "itertools.chain_from_iterable"),
    polyfilled("combinations", "itertools.combinations"),
    polyfilled("combinations_with_replacement",
               "itertools.combinations_with_replacement"),
    polyfilled("compress", "itertools.compress"),
    polyfilled("count", "itertools.count"),
    polyfilled("cycle", "itertools.cycle"),
    polyfilled("dropwhile", "itertools.dropwhile"),
    polyfilled("filterfalse", "itertools.filterfalse"),
    polyfilled("groupby", "itertools.groupby"),
    polyfilled("islice", "itertools.islice"),
    polyfilled("pairwise", "itertools.pairwise"),
    polyfilled("permutations", "itertools.permutations"),
    polyfilled("product", "itertools.product"),
    polyfilled("repeat", "itertools.repeat"),
    polyfilled("starmap", "itertools.starmap"),
    polyfilled("takewhile", "itertools.takewhile"),
    polyfilled("tee", "itertools.tee"),
    polyfilled("zip_longest", "itertools.zip_longest"),
};

}  // namespace

std::span<const Row> itertools_rows() { return kRows; }

}  // namespace magneto::natives
