// SPDX-License-Identifier: BSD-3-Clause
// What the room that knows tensors reads is tested there.
#include "graph/tensor_meta.h"

#include "graph/edit.h"
#include "graph/graph_testing.h"

namespace magneto::graph {
namespace {

// Takes lists of numbers for tensors, the first of which is the storage.
class ListReader final : public MetadataReader {
 public:
  bool read(PyObject* object, TensorMeta& meta) const override {
    if (!PyList_CheckExact(object)) return false;
    ++reads;
    meta.storage = PyLong_AsSize_t(PyList_GET_ITEM(object, 0));
    for (Py_ssize_t i = 1; i < PyList_GET_SIZE(object); ++i) {
      meta.sizes.push_back(
          {.value = PyLong_AsLong(PyList_GET_ITEM(object, i))});
    }
    return true;
  }
  mutable int reads = 0;
};

class TensorMetaTest : public testing::Test {
 protected:
  TensorMetaTest() { set_metadata_reader(&reader); }
  ~TensorMetaTest() override { set_metadata_reader(nullptr); }

  NodeId call(NodeId operand, Ref example) {
    return graph.call_function(neg, {operand}, {}, std::move(example));
  }

  ListReader reader;
  Graph graph;
  Ref neg = imported("operator", "neg");
};

TEST_F(TensorMetaTest, IsReadOnceWhenItIsAskedFor) {
  NodeId x = graph.placeholder({.source = 0, .source_name = "L['x']"},
                               evaluate("[1, 2, 3]"));
  NodeId pair = call(x, evaluate("([2, 5], {'k': ([1],)}, 'text')"));
  NodeId unknown = call(x, nullptr);
  graph.output(pair);
  graph.seal();
  ResultMetadata& metadata = metadata_of(graph);
  EXPECT_EQ(reader.reads, 0);
  ASSERT_EQ(metadata.of(x).size(), 1u);
  EXPECT_EQ(metadata.of(x)[0].sizes[1].value, 3);
  EXPECT_TRUE(metadata.of(x)[0].sizes[1].is_known());
  EXPECT_EQ(reader.reads, 1);
  EXPECT_EQ(metadata.of(pair).size(), 2u);
  EXPECT_EQ(&metadata_of(graph), &metadata);
  metadata.of(pair);
  EXPECT_EQ(reader.reads, 3);
  EXPECT_TRUE(metadata.of(unknown).empty());
}

TEST_F(TensorMetaTest, KnowsWhoseMemoryAResultShares) {
  NodeId x = graph.placeholder({.source = 0, .source_name = "L['x']"},
                               evaluate("[1, 2]"));
  NodeId fresh = call(x, evaluate("[2, 2]"));
  NodeId view = call(x, evaluate("[1, 1]"));
  NodeId in_place = call(fresh, graph.node(fresh).example.share());
  NodeId nothing = call(x, evaluate("3"));
  graph.output(in_place);
  graph.seal();
  ResultMetadata& metadata = metadata_of(graph);
  EXPECT_EQ(metadata.storage_owner(fresh), fresh);
  EXPECT_EQ(metadata.storage_owner(view), x);
  EXPECT_EQ(metadata.storage_owner(in_place), fresh);
  EXPECT_FALSE(metadata.storage_owner(nothing).valid());
  EXPECT_EQ(metadata.first_with_same_result(in_place), fresh);
  EXPECT_EQ(metadata.first_with_same_result(view), view);
}

TEST_F(TensorMetaTest, AnEditForgetsIt) {
  NodeId x = graph.placeholder({.source = 0, .source_name = "L['x']"},
                               evaluate("[1, 2]"));
  NodeId first = call(x, evaluate("[2, 2]"));
  NodeId second = call(x, evaluate("[2, 2]"));
  graph.output(second);
  graph.seal();
  EXPECT_EQ(metadata_of(graph).storage_owner(second), first);
  erase(graph, first);
  EXPECT_EQ(metadata_of(graph).storage_owner(second), second);
  const NodeId inserted = insert_before(
      graph, second, [&](Graph&) { return call(x, evaluate("[2, 2]")); });
  EXPECT_EQ(metadata_of(graph).storage_owner(second), inserted);
}

TEST_F(TensorMetaTest, IsForSealedGraphs) {
  Journal journal;
  Graph traced(&journal);
  EXPECT_THROW(metadata_of(traced), InternalError);
}

}  // namespace
}  // namespace magneto::graph
