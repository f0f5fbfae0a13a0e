#include "runtime/session.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "plan/lower.h"

namespace mtf {

Session::Session(const Plan& plan, Backend& backend, Communicator& communicator)
    : plan_(plan), communicator_(communicator), device_(plan, backend) {
  for (const PlannedProgram& p : plan.programs)
    executors_[p.program.name] = std::make_unique<Executor>(p, device_, communicator_);
}

Executor& Session::operator[](std::string_view program) {
  const auto it = executors_.find(program);
  CHECK(it != executors_.end(), std::string(program));
  return *it->second;
}

void Session::set(std::string_view program, std::string_view input, double value) {
  Executor& e = (*this)[program];
  for (const Program::Binding& b : e.program().inputs) {
    if (b.name != input)
      continue;
    std::byte* out = e.bytes(b.value).data();
    const DType type = e.program()[b.value].type.dtype;
    if (type == DType::f64) {
      std::memcpy(out, &value, sizeof value);
    } else if (type == DType::i32) {
      const auto i = static_cast<int32_t>(value);
      std::memcpy(out, &i, sizeof i);
    } else {
      const auto f = static_cast<float>(value);
      std::memcpy(out, &f, sizeof f);
    }
  }
}

double Session::get(std::string_view program, std::string_view output) {
  Executor& e = (*this)[program];
  for (const Program::Binding& b : e.program().outputs) {
    if (b.name != output)
      continue;
    const std::byte* in = e.bytes(b.value).data();
    const DType type = e.program()[b.value].type.dtype;
    double d;
    float f;
    int32_t i;
    switch (type) {
      case DType::f64:
        std::memcpy(&d, in, sizeof d);
        return d;
      case DType::i32:
        std::memcpy(&i, in, sizeof i);
        return i;
      default:
        std::memcpy(&f, in, sizeof f);
        return f;
    }
  }
  return std::nan("");
}

void Session::zero(std::string_view prefix) {
  for (const Persistent& p : plan_.resident.list)
    if (p.name.starts_with(prefix)) {
      const std::span<std::byte> bytes = device_.resident(p);
      std::memset(bytes.data(), 0, bytes.size());
    }
}

bool speaks_for(const Mesh& mesh, const Value& v, int rank) {
  const std::vector<int> at = mesh.coordinates(rank);
  for (size_t axis = 0; axis < mesh.axes.size(); ++axis) {
    const AxisId id{static_cast<int8_t>(axis)};
    const bool splits = std::any_of(
        v.layout.split.begin(), v.layout.split.end(),
        [id](const AxisList& axes) { return std::count(axes.begin(), axes.end(), id) > 0; });
    if (!splits && at[axis] != 0)
      return false;
  }
  return true;
}

}  // namespace mtf
