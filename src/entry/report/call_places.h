// SPDX-License-Identifier: BSD-3-Clause
// Where in the program the calls of a graph stand. Where a graph can't be run
// again in plain Python, what it raises is the program's error, and the frames
// in which the program makes the call are added to the error's traceback.
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

  // Adds the frames of the failed call to the traceback of `error`. Which call
  // has failed is known from the GraphRunner or, for a torch._check, from the
  // error's text, which is the program's own. `globals`: those of the outermost
  // frame. `of_inlined`: only the frames of inlined calls are added, since the
  // outermost frame goes on by itself. Gives the code unit that the
  // outermost frame is at, or -1 if the call isn't known.
  int add_frames(python::PendingError& error, PyObject* globals,
                 bool of_inlined) const;

 private:
  // A graph::Location that doesn't keep the code alive.
  struct WeakLocation {
    Ref code;  // a weak reference, since the code keeps the CallPlaces
    int instruction;
    graph::LocationId caller;
  };
  graph::LocationId failed(python::PendingError& error) const;

  std::vector<WeakLocation> locations_;            // by LocationId
  std::vector<graph::LocationId> node_locations_;  // by NodeId
  std::vector<std::pair<std::string, graph::LocationId>> assertions_;
};

}  // namespace magneto::entry
