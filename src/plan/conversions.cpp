#include "plan/conversions.h"

#include "plan/relayout.h"

namespace mtf {

ValueId Conversions::add(Value v) {
  program_.values.push_back(std::move(v));
  return {static_cast<int32_t>(program_.values.size()) - 1};
}

ValueId Conversions::convert(ValueId from, Reduction of_partial, const Layout& to, Phase phase) {
  if (program_[from].layout == to)
    return from;
  const Key key{to.split, phase};
  ValueId& known = converted_[from][key];
  if (known.index >= 0)
    return known;
  if (program_[from].storage == Storage::input)
    return known = read_again(from, to);
  ValueId at = from;
  const Value& start = program_[from];
  for (const Action& action : conversion(program_, start.type, of_partial, start.layout, to))
    at = step(at, action, phase);
  return known = at;
}

ValueId Conversions::read_again(ValueId input, const Layout& layout) {
  Value again = program_[input];
  again.layout = layout;
  again.local_sizes = local_sizes(program_, again.type.shape, layout);
  const ValueId v = add(std::move(again));
  program_.inputs.push_back({program_[v].name, v});
  return v;
}

ValueId Conversions::step(ValueId from, const Action& action, Phase phase) {
  Value v = program_[from];
  v.layout = apply(action, v.type.shape, v.layout);
  v.local_sizes = local_sizes(program_, v.type.shape, v.layout);
  v.storage = Storage::temporary;
  v.alias_of = {};
  const Origin& origin = *origins_[static_cast<size_t>(from.index)];
  if (std::holds_alternative<AllGather>(action))
    findings_.gathered(v.name, origin, v.local_bytes());
  const ValueId made = add(std::move(v));
  program_.code.push_back({action, {from}, {made}, origin, phase, 0, 0});
  made_at(made, origin);
  return made;
}

ValueId Conversions::renamed(ValueId v, const Alias& alias, NodeId node) {
  ValueId& known = views_[{v, node}];
  if (known.index >= 0)
    return known;
  Value view = program_[v];
  for (DimId& d : view.type.shape.dims)
    d = alias.from_base(d);
  view.alias_of = v;
  return known = add(std::move(view));
}

}  // namespace mtf
