#include "plan/pack.h"

#include <algorithm>

#include "plan/traffic.h"
#include "plan/uses.h"

namespace mtf {
namespace {

class Packer {
 public:
  explicit Packer(Program& p) : p_(p) {}

  void run() {
    for (Instruction& i : p_.code) {
      close_those_read_by(i);
      if (std::holds_alternative<AllReduce>(i.action) && bytes(i) < most_packed_bytes)
        join(std::move(i));
      else
        out_.push_back(std::move(i));
    }
    for (Instruction& pack : open_)
      emit(std::move(pack));
    p_.code = std::move(out_);
  }

 private:
  int64_t bytes(const Instruction& i) const {
    int64_t sum = 0;
    for (ValueId v : i.inputs)
      sum += p_[v].local_bytes();
    return sum;
  }

  bool fit(const Instruction& pack, const Instruction& i) const {
    const auto& a = std::get<AllReduce>(pack.action);
    const auto& b = std::get<AllReduce>(i.action);
    return a.over == b.over && a.reduction == b.reduction && pack.phase == i.phase &&
           p_[pack.inputs[0]].type.dtype == p_[i.inputs[0]].type.dtype &&
           bytes(pack) + bytes(i) <= most_packed_bytes;
  }

  void join(Instruction i) {
    for (Instruction& pack : open_)
      if (fit(pack, i)) {
        pack.inputs.insert(pack.inputs.end(), i.inputs.begin(), i.inputs.end());
        pack.results.insert(pack.results.end(), i.results.begin(), i.results.end());
        return;
      }
    open_.push_back(std::move(i));
  }

  void close_those_read_by(const Instruction& i) {
    std::vector<Instruction> still;
    for (Instruction& pack : open_) {
      const bool read = std::any_of(i.inputs.begin(), i.inputs.end(), [&](ValueId v) {
        return std::count(pack.results.begin(), pack.results.end(), root(p_, v)) > 0;
      });
      if (read)
        emit(std::move(pack));
      else
        still.push_back(std::move(pack));
    }
    open_ = std::move(still);
  }

  void emit(Instruction pack) {
    auto& a = std::get<AllReduce>(pack.action);
    a.algorithm = choose_algorithm(bytes(pack), p_.mesh.size(a.over));
    out_.push_back(std::move(pack));
  }

  Program& p_;
  std::vector<Instruction> open_, out_;
};

}  // namespace

void pack(Program& p) {
  Packer(p).run();
}

}  // namespace mtf
