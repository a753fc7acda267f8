#include "npb/bt/jacobian.hpp"

namespace crosscut::npb::bt {

using namespace multipartition;

// The flux: density w; momentum w + pressure along the dimension; (energy + pressure) w, where w is the
// velocity along the dimension and pressure = k2 (energy - kinetic).
void flux_jacobian(const Point& point, std::size_t dimension, Matrix& result) {
  constexpr double k = heat_ratio_less_one;
  result = {};
  const std::size_t along = momentum(dimension);
  const Pair w = point.velocity[dimension];
  result.at[density][along] = Pair{} + 1.0;
  for (std::size_t d = 0; d < dimensions; ++d) {
    auto& row = result.at[momentum(d)];
    row[density] = -point.velocity[d] * w;
    row[momentum(d)] = w;
    row[along] += point.velocity[d];
  }
  auto& pressed = result.at[along];
  pressed[density] += k * point.kinetic;
  for (std::size_t d = 0; d < dimensions; ++d) pressed[momentum(d)] -= k * point.velocity[d];
  pressed[energy] = Pair{} + k;
  auto& row = result.at[energy];
  const Pair enthalpy = heat_ratio * point.specific_energy - k * point.kinetic;
  row[density] = (k * point.kinetic - enthalpy) * w;
  for (std::size_t d = 0; d < dimensions; ++d) row[momentum(d)] = -k * point.velocity[d] * w;
  row[along] += enthalpy;
  row[energy] = heat_ratio * w;
}

// Viscosity acts on velocities; heat conduction on the energy of a unit of mass without that of its motion.
void viscous_jacobian(const Point& point, std::size_t dimension, Matrix& result) {
  result = {};
  auto& row = result.at[energy];
  row[density] = -conductivity * viscosity * point.inverse_density * point.specific_energy;
  for (std::size_t d = 0; d < dimensions; ++d) {
    const double viscous = viscosity * (d == dimension ? stretching : 1);
    const double heating = viscous - conductivity * viscosity;
    const Pair velocity = point.velocity[d] * point.inverse_density;
    result.at[momentum(d)][density] = -viscous * velocity;
    result.at[momentum(d)][momentum(d)] = viscous * point.inverse_density;
    row[density] -= heating * velocity * point.velocity[d];
    row[momentum(d)] = heating * velocity;
  }
  row[energy] = conductivity * viscosity * point.inverse_density;
}

}  // namespace crosscut::npb::bt
