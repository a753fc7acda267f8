// BT (RNR-94-007, section 3): time steps of an implicit scheme, factored into the three dimensions so that
// one block-tridiagonal system remains per line.
//
// Sizes, verification values and tolerance: NPB 3.3, BT/verify.f.
#include "npb/bt/block_tridiagonal.hpp"
#include "npb/multipartition/simulation.hpp"

namespace crosscut::npb::bt {

using namespace multipartition;

namespace {

constexpr PerClass<ProblemSize> sizes{
    {{{{12, 0.01},
       60,
       {1.7034283709541311e-1, 1.2975252070034097e-2, 3.2527926989486055e-2, 2.6436421275166801e-2,
        1.9211784131744430e-1},
       {4.9976913345811579e-4, 4.5195666782961927e-5, 7.3973765172921357e-5, 7.3821238632439731e-5,
        8.9269630987491446e-4}},
      {{24, 0.0008},
       200,
       {0.1125590409344e3, 0.1180007595731e2, 0.2710329767846e2, 0.2469174937669e2, 0.2638427874317e3},
       {0.4419655736008e1, 0.4638531260002, 0.1011551749967e1, 0.9235878729944, 0.1018045837718e2}},
      {{64, 0.0008},
       200,
       {1.0806346714637264e2, 1.1319730901220813e1, 2.5974354511582465e1, 2.3665622544678910e1,
        2.5278963211748344e2},
       {4.2348416040525025, 4.4390282496995698e-1, 9.6692480136345650e-1, 8.8302063039765474e-1,
        9.7379901770829278}},
      {{102, 0.0003},
       200,
       {1.4233597229287254e3, 9.9330522590150238e1, 3.5646025644535285e2, 3.2485447959084092e2,
        3.2707541254659363e3},
       {5.2969847140936856e1, 4.4632896115670668, 1.3122573342210174e1, 1.2006925323559144e1,
        1.2459576151035986e2}},
      {{162, 0.0001},
       200,
       {0.62398116551764615e4, 0.50793239190423964e3, 0.15423530093013596e4, 0.13302387929291190e4,
        0.11604087428436455e5},
       {0.16462008369091265e3, 0.11497107903824313e2, 0.41207446207461508e2, 0.37087651059694167e2,
        0.36211053051841265e3}}}}};

constexpr Problem problem{.sizes = sizes, .operations = {3478.8, -17655.7, 28023.7, 0}};

}  // namespace
}  // namespace crosscut::npb::bt

const crosscut::npb::Benchmark crosscut::npb::benchmark =
    multipartition::benchmark_of<bt::BlockTridiagonal, bt::problem>(
        {.name = "bt",
         .title = "NAS Parallel Benchmark BT: block-tridiagonal systems",
         .operation = "floating point"});
