// SPDX-License-Identifier: BSD-3-Clause
// Where in the program the calls of a graph stand. Where a graph can't be run
// again in plain Python, what it raises is the program's error; the frames in
// which the program makes the call are added to the traceback.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "python/pending_error.h"

namespace magneto::entry {

class CallPlaces {
 public:
  CallPlaces() = default;
  explicit CallPlaces(const graph::Graph& graph);

  // To an error of the graph. Which call has failed tells a GraphRunner, or, of
  // what the graph asserts in the program's own words (torch._check), the text.
  // `globals`: those of the outermost frame. `of_inlined`: only those of
  // inlined calls, since the outermost one goes on by itself; gives the code
  // unit that it is at, or -1.
  int add_frames(python::PendingError& error, PyObject* globals,
                 bool of_inlined) const;

 private:
  struct Frame {
    Ref code;  // a weak reference: this is kept with the code
    int instruction;
    graph::LocationId caller;
  };
  graph::LocationId failed(python::PendingError& error) const;

  std::vector<Frame> frames_;                 // by LocationId
  std::vector<graph::LocationId> locations_;  // by NodeId
  std::vector<std::pair<std::string, graph::LocationId>> assertions_;
};

}  // namespace magneto::entry
