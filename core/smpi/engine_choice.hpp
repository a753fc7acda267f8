// A simulated session's ranks under the engine that each job asks for.
#pragma once

#include "smpi/smpi_ranks.hpp"

namespace crosscut::smpi {

class EngineChoice final : public session::RankGroup {
 public:
  EngineChoice(backends::sim::SimulatedRanks& max_min, SmpiRanks& smpi) : max_min_(max_min), smpi_(smpi) {}

  Rank ranks() const override { return max_min_.ranks(); }
  std::vector<std::int32_t> nodes() const override { return max_min_.nodes(); }
  json::Object attributes() const override { return max_min_.attributes(); }
  json::Object begin(const conduct::Job& job) override {
    const auto engine = job.backend_parameters.find("engine");
    const bool smpi = engine != job.backend_parameters.end() && engine->second == "smpi";
    chosen_ = smpi ? static_cast<session::RankGroup*>(&smpi_) : &max_min_;
    return chosen_->begin(job);
  }
  session::BlockOutcome run(const session::BlockRequest& request) override { return chosen_->run(request); }
  json::Object end() override { return chosen_->end(); }
  void reset() override { chosen_->reset(); }
  const std::vector<session::LostRank>& lost() const override { return chosen_->lost(); }
  bool real_time() const override { return chosen_->real_time(); }

 private:
  backends::sim::SimulatedRanks& max_min_;
  SmpiRanks& smpi_;
  session::RankGroup* chosen_ = &max_min_;
};

}  // namespace crosscut::smpi
