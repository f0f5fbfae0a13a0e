// The memory of one rank: one block for each segment of the plan, allocated once.
#pragma once

#include <memory>

#include "plan/plan.h"

namespace mtf {

// What a kind of device does. CpuBackend is the one there is; its memory is the host's.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::byte* allocate(int64_t bytes) = 0;  // zeroed, 64-byte aligned; called by Device only
  virtual void release(std::byte*, int64_t bytes) = 0;
  virtual void upload(std::byte* device, std::span<const std::byte> host) = 0;
  virtual void download(std::span<std::byte> host, const std::byte* device) = 0;
  virtual Kernel prepare(const KernelCall&) = 0;
  virtual Team& team() = 0;
  virtual double peak_flops() = 0;  // f32 FLOP/s, measured now
};

class CpuBackend final : public Backend {
 public:
  CpuBackend(Team& team, Isa isa) : team_(team), isa_(isa) {}
  std::byte* allocate(int64_t bytes) override;
  void release(std::byte*, int64_t bytes) override;
  void upload(std::byte* device, std::span<const std::byte> host) override;
  void download(std::span<std::byte> host, const std::byte* device) override;
  Kernel prepare(const KernelCall& call) override { return prepare_cpu(call, isa_); }
  Team& team() override { return team_; }
  double peak_flops() override { return mtf::peak_flops(isa_, team_); }

 private:
  Team& team_;
  Isa isa_;
};

class Device {
 public:
  // Allocates plan.device_bytes(team size) and nothing ever after.
  Device(const Plan&, Backend&);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  Backend& backend() { return backend_; }
  std::byte* address(const MemoryPlan::Place&) const;
  std::byte* arena() const { return arena_; }
  std::span<std::byte> scratch() const { return {scratch_, static_cast<size_t>(scratch_bytes_)}; }
  int64_t allocated_bytes() const;

  // A value that outlives programs, by name ("parameter:PATH").
  std::span<std::byte> resident(const Persistent&) const;

 private:
  Backend& backend_;
  int64_t resident_bytes_, io_bytes_, arena_bytes_, scratch_bytes_;
  std::byte *resident_, *io_, *arena_, *scratch_;
};

}  // namespace mtf
