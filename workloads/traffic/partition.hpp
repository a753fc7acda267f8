// Which rank has which junctions: orthogonal recursive bisection. The region is cut across its longer side
// into parts that have as many junctions as they have ranks, in proportion, and each part so again.
#pragma once

#include <vector>

#include "traffic/road_network.hpp"

namespace crosscut::traffic {

// By junction: its rank. The links into a junction are that rank's, too.
std::vector<int> bisect(const RoadNetwork& roads, int ranks);

}  // namespace crosscut::traffic
