// Messages in the memory of GPUs, through CUDA's driver interface. libcuda.so.1 is loaded when a job asks for
// it, so that the core links none. crosscut's tests have no GPU: they run this against a stand-in for the
// driver.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "base/memory.hpp"
#include "program/registry.hpp"

namespace crosscut::measure {

// The parameter of backends that can send from a GPU's memory.
inline const program::Parameter memory_kind{
    .name = "memory-kind",
    .initial = "host",
    .help =
        "where messages lie: host, cuda (the next GPU of the node) or cuda:N; several, as in "
        "host,cuda:0, go to the ranks of a node in turn"};

// The GPU that holds the messages of this rank. Like CUDA's context, it belongs to the thread that makes it.
class Gpu {
 public:
  // Throws UsageError if there is no driver or no such GPU.
  explicit Gpu(int number);

  int number() const { return number_; }
  // Returns memory of this GPU, all zero. This process cannot read it, except by read(). Throws UsageError if
  // there is none left.
  Memory allocate(std::size_t bytes) const;
  // Both return when the last byte has moved.
  void write(std::byte* to, std::span<const std::byte> from) const;
  void read(std::span<std::byte> to, const std::byte* from) const;
  // Returns name, PCI address and the driver's version of CUDA, for the run's attributes.
  json::Value facts() const;

 private:
  struct Context {
    int device = 0;
    bool held = false;
    Context() = default;
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
    ~Context();
  };

  int number_;
  Context context_;
};

// Returns the GPUs of this machine, or why its driver cannot be used; none if it has no driver.
std::vector<program::Device> found_gpus();

// Returns the GPU for the messages of a rank, which is number `place` (from 0) of the ranks on its node; null
// for host memory. Throws UsageError if `kinds` is no list of memory kinds.
std::unique_ptr<Gpu> gpu_of(std::string_view kinds, int place);

}  // namespace crosscut::measure
