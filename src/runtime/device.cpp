#include "runtime/device.h"

#include <sys/mman.h>

#include <cstring>

#include "base/error.h"
#include "base/text.h"

namespace mtf {

// Pages come zeroed from the kernel and count as resident only when touched.
std::byte* CpuBackend::allocate(int64_t bytes) {
  if (bytes == 0)
    return nullptr;
  void* p = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED)
    throw Failure(Exit::environment,
                  "this machine cannot give " + in_bytes(bytes) + " of memory to one rank");
  madvise(p, static_cast<size_t>(bytes), MADV_HUGEPAGE);
  return static_cast<std::byte*>(p);
}

void CpuBackend::release(std::byte* p, int64_t bytes) {
  if (p)
    munmap(p, static_cast<size_t>(bytes));
}

void CpuBackend::upload(std::byte* device, std::span<const std::byte> host) {
  std::memcpy(device, host.data(), host.size());
}

void CpuBackend::download(std::span<std::byte> host, const std::byte* device) {
  std::memcpy(host.data(), device, host.size());
}

Device::Device(const Plan& plan, Backend& backend)
    : backend_(backend),
      resident_bytes_(plan.resident.bytes),
      io_bytes_(plan.io_bytes),
      arena_bytes_(plan.arena_bytes),
      scratch_bytes_(backend.team().size * plan.scratch_bytes),
      resident_(backend.allocate(resident_bytes_)),
      io_(backend.allocate(io_bytes_)),
      arena_(backend.allocate(arena_bytes_)),
      scratch_(backend.allocate(scratch_bytes_)) {}

Device::~Device() {
  backend_.release(resident_, resident_bytes_);
  backend_.release(io_, io_bytes_);
  backend_.release(arena_, arena_bytes_);
  backend_.release(scratch_, scratch_bytes_);
}

std::byte* Device::address(const MemoryPlan::Place& place) const {
  std::byte* const segment = place.segment == MemoryPlan::Segment::resident ? resident_
                             : place.segment == MemoryPlan::Segment::io     ? io_
                                                                            : arena_;
  return segment + place.offset;
}

int64_t Device::allocated_bytes() const {
  return resident_bytes_ + io_bytes_ + arena_bytes_ + scratch_bytes_;
}

std::span<std::byte> Device::resident(const Persistent& p) const {
  return {resident_ + p.offset, static_cast<size_t>(p.value.local_bytes())};
}

}  // namespace mtf
