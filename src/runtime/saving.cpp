#include "runtime/saving.h"

#include <array>
#include <cstring>

#include "base/error.h"
#include "plan/lower.h"

namespace mtf {
namespace {

bool saved(const Persistent& p) {
  return p.value.storage == Storage::parameter || p.value.storage == Storage::state;
}

// Any program that knows the value's dims; persistent values carry ids of the first that has them.
const Program& dims_of(const Plan& plan, const Persistent& p) {
  for (const PlannedProgram& planned : plan.programs) {
    const Program& program = planned.program;
    for (const auto* list : {&program.inputs, &program.outputs})
      for (const Program::Binding& b : *list)
        if (b.name == p.name)
          return program;
  }
  return plan.programs[0].program;
}

std::vector<std::string> names_of_dims(const Program& program, const Value& v) {
  std::vector<std::string> names;
  for (DimId d : v.type.shape.dims)
    names.push_back(program[d].name);
  return names;
}

// Gathers one record of every rank on rank 0, in order of rank.
template <class Record>
std::vector<Record> gather(Communicator& c, const Record& mine) {
  std::vector<Record> all(static_cast<size_t>(c.size()), mine);
  const auto bytes = std::as_bytes(std::span(&mine, 1));
  if (c.rank() != 0) {
    c.exchange(0, bytes, 0, {});
    return all;
  }
  for (int r = 1; r < c.size(); ++r)
    c.exchange(r, {}, r, std::as_writable_bytes(std::span(&all[static_cast<size_t>(r)], 1)));
  return all;
}

// Rank 0's word to all.
template <class Record>
void spread(Communicator& c, Record& word) {
  const auto bytes = std::as_writable_bytes(std::span(&word, 1));
  if (c.rank() != 0)
    return c.exchange(0, {}, 0, bytes);
  for (int r = 1; r < c.size(); ++r)
    c.exchange(r, bytes, r, {});
}

struct Outcome {
  ShardRecord record;
  bool good = false;
};

struct Message {  // of the first rank that failed
  bool good = true;
  char text[400] = {};
};

void note(Message& m, const std::string& text) {
  if (!m.good)
    return;
  m.good = false;
  std::strncpy(m.text, text.c_str(), sizeof m.text - 1);
}

}  // namespace

void save(Session& session, const std::string& directory, int64_t step, const std::string& rank_0_run_id,
          const CheckpointState& state, int keep) {
  Communicator& c = session.communicator();
  std::array<char, 64> id{};
  rank_0_run_id.copy(id.data(), id.size() - 1);
  spread(c, id);
  const std::string run_id = id.data();
  Message word;
  if (c.rank() == 0) {
    try {
      prepare_save(directory, step, run_id);
    } catch (const Failure& f) {
      note(word, f.what());
    }
  }
  spread(c, word);
  if (!word.good)
    throw Failure(Exit::environment, word.text);

  std::vector<TensorBox> boxes;
  for (const Persistent& p : session.plan().resident.list) {
    if (!saved(p) || !speaks_for(session.plan().mesh, p.value, c.rank()))
      continue;
    const Program& program = dims_of(session.plan(), p);
    const View view = view_of(program, p.value, c.rank());
    boxes.push_back({p.name, view.dtype, names_of_dims(program, p.value), view.whole, view.origin, view.size,
                     session.device().resident(p).data()});
  }
  Outcome mine;
  Message trouble;
  try {
    mine = {write_shard(directory, step, run_id, c.rank(), boxes), true};
  } catch (const Failure& f) {
    note(trouble, f.what());
  }
  const std::vector<Outcome> outcomes = gather(c, mine);
  const std::vector<Message> troubles = gather(c, trouble);
  if (c.rank() == 0) {
    Publication publication{step, run_id, state, {}, keep};
    for (size_t r = 0; r < outcomes.size(); ++r) {
      if (!outcomes[r].good)
        note(word, troubles[r].text);
      publication.shards.push_back(outcomes[r].record);
    }
    try {
      if (word.good)
        publish(directory, publication);
      else
        discard_save(directory, step, run_id);
    } catch (const Failure& f) {
      note(word, f.what());
    }
  }
  spread(c, word);
  if (!word.good)
    throw Failure(Exit::environment, word.text);
}

void load(Session& session, const Checkpoint& checkpoint, bool everything) {
  std::vector<TensorInfo> expected, found;
  for (const Persistent& p : session.plan().resident.list) {
    if (!saved(p) || (p.value.storage == Storage::state && !everything))
      continue;
    const Program& program = dims_of(session.plan(), p);
    const View view = view_of(program, p.value, 0);
    expected.push_back({p.name, view.dtype, names_of_dims(program, p.value), view.whole});
  }
  for (const TensorInfo& t : checkpoint.tensors())
    if (everything || t.name.starts_with("parameter:"))
      found.push_back(t);
  if (const std::string text = differences(expected, found); !text.empty())
    throw Failure(Exit::bad_input, checkpoint.path() + " is a checkpoint of another model: " + text);
  for (const Persistent& p : session.plan().resident.list) {
    if (!saved(p) || (p.value.storage == Storage::state && !everything))
      continue;
    const View view = view_of(dims_of(session.plan(), p), p.value, session.communicator().rank());
    checkpoint.read(p.name, view.origin, view.size, session.device().resident(p));
  }
}

}  // namespace mtf
