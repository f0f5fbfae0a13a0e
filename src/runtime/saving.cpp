#include "runtime/saving.h"

#include <algorithm>
#include <list>

#include "base/error.h"
#include "plan/lower.h"
#include "runtime/agreement.h"
#include "runtime/true_part.h"

namespace mtf {
namespace {

constexpr std::string_view parameter_prefix = "parameter:";

bool saved(const Persistent& p) {
  return p.value.storage == Storage::parameter || p.value.storage == Storage::state;
}

std::vector<std::string> names_of_dims(const Program& program, const Value& v) {
  std::vector<std::string> names;
  for (DimId d : v.type.shape.dims)
    names.push_back(program[d].name);
  return names;
}

// What this rank writes: the shards that it speaks for, without padding. `dense` holds what had to
// be copied for that.
std::vector<TensorBox> boxes_of(Session& session, std::list<std::vector<std::byte>>& dense) {
  const Plan& plan = session.plan();
  const int rank = session.communicator().rank();
  std::vector<TensorBox> boxes;
  for (const Persistent& p : plan.resident.list) {
    if (!saved(p) || !speaks_for(plan.mesh, p.value, rank))
      continue;
    const Program& program = program_of(plan, p);
    const View view = view_of(program, p.value, rank);
    const Box part = true_part(view);
    if (elements(part.size) == 0)
      continue;
    boxes.push_back({p.name, view.dtype, names_of_dims(program, p.value), view.whole, part.origin,
                     part.size,
                     packed(view, session.device().resident(p), dense.emplace_back()).data()});
  }
  return boxes;
}

bool is_parameter(const TensorInfo& t) {
  return t.name.starts_with(parameter_prefix);
}

// Evaluation and inference leave out parameters of the model that their outputs do not depend on.
bool is_left_out(const Plan& plan, const TensorInfo& t) {
  return plan.parameters.contains(t.name.substr(parameter_prefix.size())) &&
         !plan.resident.find(t.name);
}

}  // namespace

int64_t saved_bytes(const Plan& plan) {
  int64_t all = 0;
  for (const Persistent& p : plan.resident.list) {
    if (!saved(p))
      continue;
    all += true_elements(plan, p) * size_of(p.value.type.dtype);
  }
  return all;
}

void save(Session& session, const std::string& directory, int64_t step,
          const std::string& rank_0_run_id, const CheckpointState& state, int keep) {
  Communicator& c = session.communicator();
  const bool first = c.rank() == 0;
  std::string run_id = rank_0_run_id;
  spread(c, run_id);
  together(c, [&] {
    if (first)
      prepare_save(directory, step, run_id);
  });
  try {
    ShardRecord mine;
    together(c, [&] {
      std::list<std::vector<std::byte>> dense;
      mine = write_shard(directory, step, run_id, c.rank(), boxes_of(session, dense));
    });
    const Publication publication{step, run_id, state, gather(c, mine), keep};
    together(c, [&] {
      if (first)
        publish(directory, publication);
    });
  } catch (const SharedFailure&) {
    if (first)
      discard_save(directory, step, run_id);
    throw;
  }
}

void load(Session& session, const Checkpoint& checkpoint, bool everything) {
  std::vector<TensorInfo> expected, found;
  for (const Persistent& p : session.plan().resident.list) {
    if (!saved(p) || (p.value.storage == Storage::state && !everything))
      continue;
    const Program& program = program_of(session.plan(), p);
    const View view = view_of(program, p.value, 0);
    expected.push_back({p.name, view.dtype, names_of_dims(program, p.value), view.whole});
  }
  for (const TensorInfo& t : checkpoint.tensors())
    if (everything || (is_parameter(t) && !is_left_out(session.plan(), t)))
      found.push_back(t);
  if (const std::string text = differences(expected, found); !text.empty())
    throw Failure(Exit::bad_input,
                  checkpoint.path() + " is a checkpoint of another model: " + text);
  for (const Persistent& p : session.plan().resident.list) {
    if (!saved(p) || (p.value.storage == Storage::state && !everything))
      continue;
    const Program& program = program_of(session.plan(), p);
    fill_shard(view_of(program, p.value, session.communicator().rank()),
               session.device().resident(p), [&](const Box& part, std::span<std::byte> out) {
                 checkpoint.read(p.name, part.origin, part.size, out);
               });
  }
}

}  // namespace mtf
