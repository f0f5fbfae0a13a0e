#include "plan/tile.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "plan/uses.h"

namespace mtf {
namespace {

constexpr int64_t near_cache_bytes = 768 << 10;  // what the values of a tile should fit in
constexpr int64_t fewest_rows = 32;              // of a tile: fewer would pack operands too often

using Dims = std::vector<DimId>;

size_t at(ValueId v) {
  return static_cast<size_t>(v.index);
}
const Compute& compute(const Instruction& i) {
  return std::get<Compute>(i.action);
}

bool may_join(const Instruction& i) {
  const auto* c = std::get_if<Compute>(&i.action);
  return c &&
         (c->call.kernel == "product" || c->call.kernel == "map" || c->call.kernel == "reduce");
}
bool is_product(const Instruction& i) {
  return may_join(i) && compute(i).call.kernel == "product";
}

// What a product multiplies; the operands of its body are not among it.
std::vector<ValueId> factors(const Instruction& product) {
  std::vector<ValueId> out;
  for (const Term& term : compute(product).call.terms)
    for (int operand : {term.a, term.b})
      out.push_back(product.inputs[static_cast<size_t>(operand)]);
  return out;
}

Dims summed(const Instruction& i) {
  Dims out;
  const KernelCall& call = compute(i).call;
  for (const Reduced& r : call.reduced)
    out.push_back(r.dim);
  for (const Term& term : call.terms)
    for (const Reduced& r : term.reduced)
      out.push_back(r.dim);
  return out;
}

bool has_all(const Shape& shape, const Dims& dims) {
  return std::all_of(dims.begin(), dims.end(), [&](DimId d) { return shape.has(d); });
}

// Who makes and who reads the bytes of each value, under any name.
struct Links {
  explicit Links(const Program& p)
      : maker(p.values.size(), none), readers(p.values.size()), output(p.values.size(), 0) {
    for (size_t i = 0; i < p.code.size(); ++i) {
      for (ValueId v : p.code[i].inputs)
        if (std::vector<size_t>& all = readers[at(root(p, v))]; all.empty() || all.back() != i)
          all.push_back(i);
      for (ValueId v : p.code[i].results)
        maker[at(v)] = i;
    }
    for (const Program::Binding& b : p.outputs)
      output[at(root(p, b.value))] = 1;
  }
  static constexpr size_t none = SIZE_MAX;
  std::vector<size_t> maker;
  std::vector<std::vector<size_t>> readers;
  std::vector<char> output;
};

// The instructions that would run together, and how they are tiled.
class Group {
 public:
  Group(const Program& p, const Links& links, size_t seed)
      : p_(p), links_(links), seed_(p[p.code[seed].results[0]]), large_(seed_.type.shape.dims) {
    good_ = add(seed);
    while (good_ && grow()) {
    }
    good_ = good_ && count_products() > 1 && choose_tile();
  }

  bool good() const { return good_; }
  bool has(size_t i) const { return members_.count(i) > 0; }
  bool needs(size_t i) const { return needed_.count(i) > 0; }
  size_t first() const { return *members_.begin(); }
  size_t last() const { return *members_.rbegin(); }

  // All of it as one instruction.
  Instruction joined() const {
    Instruction out = p_.code[last()];
    Compute tiled;
    tiled.call.kernel = "tiled";
    tiled.call.tile = tile_;
    out.inputs.clear();
    out.results.clear();
    out.flops = out.unique_flops = 0;
    std::vector<ValueId> made;
    for (size_t m : members_) {
      const Instruction& i = p_.code[m];
      out.flops += i.flops;
      out.unique_flops += i.unique_flops;
      tiled.label += (tiled.label.empty() ? "" : ", ") + compute(i).label;
      for (ValueId v : i.inputs)
        if (!made_here(v) && std::count(out.inputs.begin(), out.inputs.end(), v) == 0)
          out.inputs.push_back(v);
      for (ValueId v : i.results)
        (seen_outside(v) ? out.results : tiled.inner).push_back(v);
    }
    std::string sizes;
    for (const TileDim& t : tile_)
      sizes += (sizes.empty() ? "" : " ") + fmt::format("{}={}", p_[t.dim].name, t.size);
    tiled.label = fmt::format("tiled [{}] ({})", sizes, tiled.label);
    number_parts(out, tiled);
    place_inner(tiled);
    out.action = std::move(tiled);
    return out;
  }

 private:
  size_t maker_of(ValueId v) const { return links_.maker[at(root(p_, v))]; }
  bool made_here(ValueId v) const { return has(maker_of(v)); }
  bool is_large(ValueId v) const { return has_all(p_[v].type.shape, large_); }

  bool add(size_t i) {
    if (!may_join(p_.code[i]) || (!members_.empty() && p_.code[i].phase != p_.code[first()].phase))
      return false;
    members_.insert(i);
    return true;
  }

  // Read by others, or by an output of the program.
  bool seen_outside(ValueId v) const {
    const std::vector<size_t>& readers = links_.readers[at(v)];
    return links_.output[at(v)] ||
           std::any_of(readers.begin(), readers.end(), [&](size_t r) { return !has(r); });
  }

  // Adds what the members so far ask for: makers and readers of large values, and what lies between
  // members. False if nothing is missing; good_ is false if something cannot be had.
  bool grow() {
    const size_t before = members_.size();
    for (size_t m : std::set<size_t>(members_)) {
      const Instruction& i = p_.code[m];
      for (ValueId v : i.inputs) {
        const bool renamed = root(p_, v) != v;
        if (maker_of(v) != Links::none && is_large(v))
          good_ = good_ && add(maker_of(v));
        good_ = good_ && !(renamed && made_here(v));
      }
      for (ValueId v : i.results)
        if (is_large(v)) {
          for (size_t r : links_.readers[at(v)])
            good_ = good_ && add(r);
          good_ = good_ && !seen_outside(v);
        }
    }
    good_ = good_ && add_between();
    return good_ && members_.size() > before;
  }

  // What depends on a member and is needed by one has to join; what is only needed runs before.
  bool add_between() {
    std::set<size_t> after, needed;
    for (size_t i = first(); i <= last(); ++i) {
      const std::vector<ValueId>& inputs = p_.code[i].inputs;
      if (has(i) || std::any_of(inputs.begin(), inputs.end(),
                                [&](ValueId v) { return after.count(maker_of(v)) > 0; }))
        after.insert(i);
    }
    for (size_t i = last() + 1; i-- > first();) {
      if (!has(i) && needed.count(i) == 0)
        continue;
      if (after.count(i) > 0 && !has(i) && !add(i))
        return false;
      for (ValueId v : p_.code[i].inputs)
        needed.insert(maker_of(v));
    }
    needed_ = std::move(needed);
    return true;
  }

  int count_products() const {
    return static_cast<int>(std::count_if(members_.begin(), members_.end(),
                                          [&](size_t m) { return is_product(p_.code[m]); }));
  }

  // Dims that every result has: tiles are independent along them. Those that all operands of the
  // products have too cost nothing to cut; of the others tiles keep as much as stays in cache.
  bool choose_tile() {
    Dims free;
    for (DimId d : large_) {
      const bool kept = std::all_of(members_.begin(), members_.end(), [&](size_t m) {
        const Dims gone = summed(p_.code[m]);
        return p_[p_.code[m].results[0]].type.shape.has(d) &&
               std::count(gone.begin(), gone.end(), d) == 0;
      });
      if (kept)
        free.push_back(d);
    }
    bool independent = false;
    for (DimId d : free) {
      const bool shared = std::all_of(members_.begin(), members_.end(), [&](size_t m) {
        const std::vector<ValueId> read =
            is_product(p_.code[m]) ? factors(p_.code[m]) : std::vector<ValueId>();
        return std::all_of(read.begin(), read.end(),
                           [&](ValueId v) { return p_[v].type.shape.has(d); });
      });
      independent = independent || shared;
      tile_.push_back({d, shared ? 1 : local_size(d)});
    }
    while (independent && tile_bytes() > near_cache_bytes && halve_rows()) {
    }
    return independent;
  }

  bool halve_rows() {
    int64_t rows = 1;
    for (const TileDim& t : tile_)
      rows *= t.size;
    auto longest =
        std::max_element(tile_.begin(), tile_.end(),
                         [](const TileDim& a, const TileDim& b) { return a.size < b.size; });
    if (rows < 2 * fewest_rows || longest->size % 2 != 0)
      return false;
    longest->size /= 2;
    return true;
  }

  int64_t local_size(DimId d) const {
    return seed_.local_sizes[static_cast<size_t>(seed_.type.shape.find(d))];
  }

  // Bytes of a tile of v.
  int64_t bytes(ValueId v) const {
    const Value& value = p_[v];
    int64_t n = size_of(value.type.dtype);
    for (size_t i = 0; i < value.local_sizes.size(); ++i) {
      const auto t = std::find_if(tile_.begin(), tile_.end(), [&](const TileDim& d) {
        return d.dim == value.type.shape.dims[i];
      });
      n *= t == tile_.end() ? value.local_sizes[i] : t->size;
    }
    return (n + 63) / 64 * 64;
  }

  int64_t tile_bytes() const {
    Compute all;
    for (size_t m : members_)
      for (ValueId v : p_.code[m].results)
        if (!seen_outside(v))
          all.inner.push_back(v);
    place_inner(all);
    return all.call.workspace_bytes;
  }

  void number_parts(const Instruction& whole, Compute& tiled) const {
    std::map<ValueId, int> number;
    for (const auto& values : {whole.inputs, whole.results, tiled.inner})
      for (ValueId v : values)
        number.emplace(v, static_cast<int>(number.size()));
    for (size_t m : members_) {
      TiledPart part{compute(p_.code[m]).call, {}, {}};
      for (ValueId v : p_.code[m].inputs)
        part.inputs.push_back(number.at(v));
      for (ValueId v : p_.code[m].results)
        part.results.push_back(number.at(v));
      tiled.call.parts.push_back(std::move(part));
    }
  }

  struct Slot {
    int64_t begin, end;
    size_t last;  // the instruction that reads it last
    ValueId value;
  };

  // Each inner value at the lowest offset that is free while it lives; a map's result over an
  // operand of its shape that dies there.
  void place_inner(Compute& tiled) const {
    std::vector<Slot> live;  // by offset
    std::map<ValueId, int64_t> placed;
    const std::set<ValueId> inner(tiled.inner.begin(), tiled.inner.end());
    for (size_t m : members_) {
      std::erase_if(live, [m](const Slot& s) { return s.last < m; });
      for (ValueId v : p_.code[m].results) {
        if (inner.count(v) == 0)
          continue;
        const size_t last = links_.readers[at(v)].empty() ? m : links_.readers[at(v)].back();
        if (const auto old = dying(live, p_.code[m], m, v); old != live.end()) {
          *old = {old->begin, old->end, last, v};
          placed[v] = old->begin;
        } else {
          placed[v] = insert(live, {0, bytes(v), last, v});
        }
        tiled.call.workspace_bytes = std::max(tiled.call.workspace_bytes, placed[v] + bytes(v));
      }
    }
    for (ValueId v : tiled.inner)
      tiled.call.inner_at.push_back(placed.at(v));
  }

  std::vector<Slot>::iterator dying(std::vector<Slot>& live, const Instruction& i, size_t m,
                                    ValueId v) const {
    return std::find_if(live.begin(), live.end(), [&](const Slot& s) {
      return compute(i).in_place && s.last == m &&
             p_[s.value].type.shape.dims == p_[v].type.shape.dims &&
             p_[s.value].type.dtype == p_[v].type.dtype;
    });
  }

  static int64_t insert(std::vector<Slot>& live, Slot slot) {
    auto next = live.begin();
    for (; next != live.end() && next->begin < slot.begin + slot.end; ++next)
      slot = {next->end, slot.end, slot.last, slot.value};
    slot.end += slot.begin;
    return live.insert(next, slot)->begin;
  }

  const Program& p_;
  const Links& links_;
  const Value& seed_;
  const Dims& large_;  // what has all these dims is large
  std::set<size_t> members_, needed_;
  std::vector<TileDim> tile_;
  bool good_ = false;
};

int64_t elements(const Program& p, const std::vector<ValueId>& values) {
  int64_t n = 0;
  for (ValueId v : values)
    n += p[v].local_elements();
  return n;
}

}  // namespace

// A group stands in one place: after what it needs, before all else that stood between its members.
void tile(Program& p) {
  const Links links(p);
  std::vector<Instruction> code;
  size_t done = 0;  // instructions before it are in `code`
  for (size_t i = 0; i < p.code.size(); ++i) {
    const Instruction& seed = p.code[i];
    if (i < done || !is_product(seed) ||
        elements(p, {seed.results[0]}) <= elements(p, factors(seed)))
      continue;
    const Group group(p, links, i);
    if (!group.good() || group.first() < done)
      continue;
    Instruction joined = group.joined();
    std::vector<Instruction> rest;
    for (; done <= group.last(); ++done)
      if (!group.has(done))
        (done < group.first() || group.needs(done) ? code : rest).push_back(p.code[done]);
    code.push_back(std::move(joined));
    std::move(rest.begin(), rest.end(), std::back_inserter(code));
  }
  std::move(p.code.begin() + static_cast<int64_t>(done), p.code.end(), std::back_inserter(code));
  p.code = std::move(code);
}

}  // namespace mtf
