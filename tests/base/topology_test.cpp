#include "base/topology.h"

#include <array>
#include <barrier>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace diptych::base {
namespace {

using testing::ElementsAre;

Topology nodes(std::vector<std::vector<uint32_t>> cores) {
  Topology topology;
  for (size_t i = 0; i < cores.size(); ++i) {
    topology.nodes.push_back({NumaNode(static_cast<uint32_t>(i)), std::move(cores[i])});
  }
  return topology;
}

Placement placed(const Topology& topology, const PlacementOptions& options = {}) {
  auto placement = place(topology, options);
  EXPECT_TRUE(placement.ok()) << (placement.ok() ? "" : placement.error().message);
  return placement.ok() ? *placement : Placement();
}

TEST(Placement, OneCoreIsShared) {
  const Placement placement = placed(nodes({{5}}));
  EXPECT_THAT(placement.oltp.cores, ElementsAre(5));
  EXPECT_THAT(placement.olap.cores, ElementsAre(5));
  EXPECT_EQ(placement.oltp.threads, 1u);
  EXPECT_EQ(placement.olap.threads, 1u);
}

TEST(Placement, TwoCoresAreSplit) {
  const Placement placement = placed(nodes({{0, 1}}));
  EXPECT_THAT(placement.oltp.cores, ElementsAre(0));
  EXPECT_THAT(placement.olap.cores, ElementsAre(1));
  EXPECT_EQ(placement.to_string(),
            "OLTP  1 thread on core 0 (node 0)\n"
            "OLAP  1 thread on core 1 (node 0)\n");
}

TEST(Placement, QueriesAloneHaveTheLastCores) {
  const Topology topology = nodes({{0, 2}, {1, 3}});
  EXPECT_THAT(cores_for_queries(topology, 1), ElementsAre(3));
  EXPECT_THAT(cores_for_queries(topology, 3), ElementsAre(2, 1, 3));
  EXPECT_THAT(cores_for_queries(topology, 0), ElementsAre(0, 2, 1, 3));
  EXPECT_THAT(cores_for_queries(topology, 9), ElementsAre(0, 2, 1, 3));
}

TEST(Placement, AnOddCoreGoesToOlap) {
  const Placement placement = placed(nodes({{0, 1, 2}}));
  EXPECT_THAT(placement.oltp.cores, ElementsAre(0));
  EXPECT_THAT(placement.olap.cores, ElementsAre(1, 2));
}

TEST(Placement, TwoNodesGiveOneEach) {
  const Placement placement = placed(nodes({{0, 2}, {1, 3}}));
  EXPECT_THAT(placement.oltp.cores, ElementsAre(0, 2));
  EXPECT_THAT(placement.olap.cores, ElementsAre(1, 3));
  EXPECT_EQ(placement.oltp.node, NumaNode(0));
  EXPECT_EQ(placement.olap.node, NumaNode(1));
}

TEST(Placement, OfFourNodesOlapGetsThree) {
  const Placement placement = placed(nodes({{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
  EXPECT_THAT(placement.oltp.cores, ElementsAre(0, 1));
  EXPECT_THAT(placement.olap.cores, ElementsAre(2, 3, 4, 5, 6, 7));
  EXPECT_EQ(placement.to_string(),
            "OLTP  2 threads on cores 0-1 (node 0)\n"
            "OLAP  6 threads on cores 2-7 (node 1)\n");
}

TEST(Placement, ThreadsMayExceedTheCores) {
  const Placement placement = placed(nodes({{0, 1}}), {.oltp_workers = 4, .olap_threads = 3});
  EXPECT_EQ(placement.oltp.threads, 4u);
  EXPECT_EQ(placement.olap.threads, 3u);
  EXPECT_THAT(placement.oltp.cores, ElementsAre(0));
}

TEST(Placement, AnOverrideOfOneSideLeavesTheRestToTheOther) {
  const Topology one_node = nodes({{0, 1, 2, 3}});
  EXPECT_THAT(placed(one_node, {.oltp_cores = {3}}).olap.cores, ElementsAre(0, 1, 2));
  EXPECT_THAT(placed(one_node, {.olap_cores = {0}}).oltp.cores, ElementsAre(1, 2, 3));
  EXPECT_THAT(placed(one_node, {.oltp_cores = {3, 1, 2, 0}}).olap.cores, ElementsAre(0, 1, 2, 3));

  const Topology two_nodes = nodes({{0, 1}, {2, 3}});
  EXPECT_THAT(placed(two_nodes, {.oltp_cores = {0}}).olap.cores, ElementsAre(2, 3));
  EXPECT_THAT(placed(two_nodes, {.oltp_cores = {0, 2}}).olap.cores, ElementsAre(3));
  EXPECT_THAT(placed(two_nodes, {.oltp_cores = {2, 3}}).olap.cores, ElementsAre(0, 1));
}

TEST(Placement, BothSidesMayBeOverriddenAndOverlap) {
  const Placement placement = placed(nodes({{0, 1}}), {.oltp_cores = {1, 0, 1}, .olap_cores = {0}});
  EXPECT_THAT(placement.oltp.cores, ElementsAre(0, 1));
  EXPECT_THAT(placement.olap.cores, ElementsAre(0));
  EXPECT_EQ(placement.oltp.threads, 2u);
}

TEST(Placement, AnAbsentCoreIsRefused) {
  const auto oltp = place(nodes({{0, 1, 4}}), {.oltp_cores = {2}});
  ASSERT_FALSE(oltp.ok());
  EXPECT_EQ(oltp.code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(oltp.error().message, "OLTP cores: this process may not use core 2; it has 0-1,4");
  const auto olap = place(nodes({{0}}), {.olap_cores = {9}});
  ASSERT_FALSE(olap.ok());
  EXPECT_EQ(olap.error().message, "OLAP cores: this process may not use core 9; it has 0");
}

TEST(Topology, TheMachineHasCoresAndCanBePlacedOn) {
  const Topology topology = Topology::detect();
  EXPECT_GE(topology.core_count(), 1u);
  EXPECT_TRUE(place(topology, {}).ok());
}

// In a process of its own, so that these are its first: libnuma's tables are not guarded, and one
// that two threads allocate is found as a leak.
TEST(Topology, ConcurrentDetectionsAgree) {
  std::array<Topology, 4> topologies;
  std::barrier together(std::ssize(topologies));
  std::vector<std::thread> threads;
  for (Topology& topology : topologies) {
    threads.emplace_back([&] {
      together.arrive_and_wait();
      topology = Topology::detect();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Topology& topology : topologies) {
    EXPECT_EQ(topology.core_count(), topologies[0].core_count());
    EXPECT_EQ(topology.nodes.size(), topologies[0].nodes.size());
  }
}

TEST(CoreList, ReadsNumbersAndRanges) {
  EXPECT_THAT(*parse_core_list("0-3,8"), ElementsAre(0, 1, 2, 3, 8));
  EXPECT_THAT(*parse_core_list("7"), ElementsAre(7));
  EXPECT_THAT(*parse_core_list("3,1-2,2"), ElementsAre(1, 2, 3));
}

TEST(CoreList, ErrorsNameThePosition) {
  const auto fault = [](std::string_view text) {
    const auto cores = parse_core_list(text);
    return cores.ok() ? "no error" : cores.error().message;
  };
  EXPECT_EQ(fault(""), "core list \"\": a core number is expected at character 1");
  EXPECT_EQ(fault("0-"), "core list \"0-\": a core number is expected at character 3");
  EXPECT_EQ(fault("0,x"), "core list \"0,x\": a core number is expected at character 3");
  EXPECT_EQ(fault("0;1"), "core list \"0;1\": a comma is expected at character 2");
  EXPECT_EQ(fault("1,3-2"), "core list \"1,3-2\": a range runs backwards at character 3");
  EXPECT_EQ(fault("99999"), "core list \"99999\": a core number is expected at character 1");
  EXPECT_EQ(fault("-1"), "core list \"-1\": a core number is expected at character 1");
}

TEST(MachineMemory, IsSomeAndNotMoreThanIsInstalled) {
  const auto installed =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  EXPECT_GE(machine_memory_bytes(), size_t{16} << 20);
  EXPECT_LE(machine_memory_bytes(), installed);
}

}  // namespace
}  // namespace diptych::base
