#include "spec/misplaced.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <limits>

#include "base/text.h"
#include "mesh/mesh.h"
#include "spec/document.h"
#include "spec/language.h"
#include "spec/scalars.h"

namespace mtf {
namespace {

// What other tools (PyTorch Lightning, Hugging Face, DeepSpeed, Megatron, torchrun) call what a
// spec says: a key, wherever it stands, or a path.
struct Synonym {
  std::string_view theirs, ours;
  bool same_value = true;  // so that only the name has to change
};
constexpr Synonym synonyms[] = {{"lr", "learning_rate"},
                                {"eps", "epsilon"},
                                {"wd", "weight_decay"},
                                {"warmup_steps", "warmup"},
                                {"num_warmup_steps", "warmup"},
                                {"lr_scheduler", "decay", false},
                                {"max_lr", "peak"},
                                {"max_steps", "train.steps"},
                                {"num_steps", "train.steps"},
                                {"train_steps", "train.steps"},
                                {"epochs", "train.steps", false},
                                {"num_epochs", "train.steps", false},
                                {"max_epochs", "train.steps", false},
                                {"gradient_accumulation_steps", "train.microbatches"},
                                {"accumulate_grad_batches", "train.microbatches"},
                                {"grad_clip", "train.clip.global_norm"},
                                {"max_grad_norm", "train.clip.global_norm"},
                                {"gradient_clipping", "train.clip.global_norm"},
                                {"logging_steps", "train.log_every"},
                                {"eval_steps", "train.eval_every"},
                                {"save_steps", "train.checkpoint.every"},
                                {"save_every", "train.checkpoint.every"},
                                {"save_total_limit", "train.checkpoint.keep"},
                                {"output_dir", "train.checkpoint.directory"},
                                {"random_seed", "train.seed"},
                                {"max_new_tokens", "infer.max_tokens"},
                                {"precision", "numerics.compute", false},
                                {"dtype", "numerics.compute", false},
                                {"dataset", "data", false},
                                {"batch_size", "dims.batch"},
                                {"global_batch_size", "dims.batch"},
                                {"train_batch_size", "dims.batch"},
                                {"seq_len", "dims.length"},
                                {"seq_length", "dims.length"},
                                {"max_seq_len", "dims.length"},
                                {"context_length", "dims.length"},
                                {"hidden_size", "dims.d_model"},
                                {"num_layers", "dims.layers"},
                                {"n_layers", "dims.layers"},
                                {"num_heads", "dims.heads"},
                                {"n_heads", "dims.heads"},
                                {"vocab_size", "dims.vocab"},
                                {"devices", "mesh", false},
                                {"num_devices", "mesh", false},
                                {"gpus", "mesh", false},
                                {"num_gpus", "mesh", false},
                                {"world_size", "mesh", false},
                                {"nproc_per_node", "mesh", false},
                                {"mesh_shape", "mesh", false},
                                {"sharding", "layout", false},
                                {"layout_rules", "layout"}};

// learning-rate, learningRate and "learning rate" are learning_rate.
std::string snake(std::string_view text) {
  std::string out;
  for (char c : text) {
    const bool capital = std::isupper(static_cast<unsigned char>(c));
    if (capital && !out.empty() && out.back() != '_')
      out += '_';
    out += c == '-' || c == ' ' || c == '.'
               ? '_'
               : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

std::string_view parent(std::string_view path) {
  const size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
}

// Has the document a map at this path? A component in capitals is any key.
bool has_map(const YamlNode& node, std::string_view path) {
  if (path.empty())
    return node.is_map();
  const std::string_view first = path.substr(0, path.find('.'));
  const std::string_view rest = path.substr(std::min(path.size(), first.size() + 1));
  const bool any = std::isupper(static_cast<unsigned char>(first[0]));
  return std::any_of(node.entries.begin(), node.entries.end(), [&](const auto& entry) {
    return (any || entry.first.text == first) && has_map(entry.second, rest);
  });
}

// The maps that have such a key: of those, the ones that the document has most of the way to.
std::vector<std::string> places_of(std::string_view key, const YamlNode& value,
                                   const YamlNode& document) {
  bool fits_any = false;
  for_each_key([&](const std::string&, const KeyRow& row) {
    fits_any = fits_any || (row.name == key && fits(value, row.form));
  });
  std::vector<std::string> nearest;
  int least = std::numeric_limits<int>::max();  // maps that are not there yet
  for_each_key([&](const std::string& path, const KeyRow& row) {
    if (row.name != key || parent(path).empty() || (fits_any && !fits(value, row.form)))
      return;
    int missing = 0;
    for (auto map = parent(path); !map.empty() && !has_map(document, map); map = parent(map))
      ++missing;
    if (missing < least)
      nearest.clear();
    least = std::min(least, missing);
    if (missing == least)
      nearest.emplace_back(parent(path));
  });
  return nearest;
}

std::vector<std::string> all_keys() {
  std::vector<std::string> keys;
  for_each_key([&](const std::string&, const KeyRow& row) { keys.emplace_back(row.name); });
  return keys;
}

MeantKey this_key(const YamlNode::Key& given, const std::string& key) {
  return {key, {fmt::format("did you mean '{}'?", key), {{given.span, key}}}};
}

bool stands_at_top(std::string_view key) {
  return language().front().find(key) != nullptr;
}

// `learning_rate: {peak: 0.1, warmup: 10}`, where the document has no such map, or only the peak.
std::string long_form(const YamlNode& document, const std::string& place, std::string_view key,
                      const YamlNode& value) {
  const YamlNode* there = document.at(place);
  if (there && there->is_map())
    return "";
  std::string first;
  for_each_key([&](const std::string& path, const KeyRow& row) {
    if (path == place && row.form == Form::rate)
      first = fmt::format("{}: {}, ", row.table->rows[0].name,
                          there && there->is_scalar() ? there->text : "...");
  });
  return fmt::format(": write `{}: {{{}{}: {}}}`", place.substr(place.rfind('.') + 1), first, key,
                     value.is_scalar() ? value.text : "...");
}

std::string belongs(std::string_view key, const YamlNode& value, const YamlNode& document) {
  std::vector<std::string> places = places_of(key, value, document);
  if (stands_at_top(key))
    return fmt::format("'{}' belongs at the top of the spec", key);
  if (places.size() > 4)
    places.resize(4);
  return fmt::format("'{}' belongs in {}{}", key, listed(places),
                     places.size() == 1 ? long_form(document, places[0], key, value) : "");
}

// ": this mesh has 4 x 2 = 8 ranks"; empty if its sizes are missing or wrong.
std::string ranks_of(const YamlNode& document) {
  const YamlNode* mesh = document.find("mesh");
  if (!mesh || !mesh->is_map())
    return {};
  std::vector<std::string> sizes;
  int64_t ranks = 1;
  for (const auto& [axis, node] : mesh->entries) {
    if (node.is_null())
      continue;
    Diagnostics none;
    const double most = static_cast<double>(max_ranks / ranks);
    const std::optional<int64_t> size = read_integer(node, axis.text, between(1, most), none);
    if (!size)
      return {};
    ranks *= *size;
    sizes.push_back(std::to_string(*size));
  }
  return fmt::format(": this mesh has {}{}{} rank{}", fmt::join(sizes, " x "),
                     sizes.size() > 1 ? " = " : "", sizes.size() == 1 ? "" : std::to_string(ranks),
                     ranks == 1 ? "" : "s");
}

class Mender {
 public:
  Mender(const YamlNode& document, Diagnostics& diagnostics)
      : document_(document), diagnostics_(diagnostics) {}

  void mend_equals_signs(YamlNode& node) {
    for (YamlNode& item : node.items)
      mend_equals_signs(item);
    for (auto& [key, value] : node.entries) {
      if (value.is_null())
        mend_equals_sign(key, value);
      mend_equals_signs(value);
    }
  }

  void mend(YamlNode& map, std::string_view title, const KeyTable& table) {
    std::vector<std::string> known = table.names();
    known.insert(known.end(), table.later.begin(), table.later.end());
    for (YamlNode::Entry& entry : map.entries) {
      auto& [key, value] = entry;
      if (std::find(known.begin(), known.end(), key.text) == known.end()) {
        if (++unknown_ > most_mended)
          continue;
        MeantKey meant = meant_key(entry, title, known, document_);
        const KeyRow* row = table.find(meant.here);
        if (meant.help.edits.empty() || !row || !fits(value, row->form) || map.find(meant.here))
          continue;
        diagnostics_.add(unknown_key(title, key, std::move(meant.help)));
        key.text = meant.here;
      }
      if (const KeyRow* row = table.find(key.text))
        mend_value(value, key.text, *row);
    }
  }

 private:
  void mend_value(YamlNode& value, std::string_view key, const KeyRow& row) {
    if (!row.table || !value.is_map() || row.form == Form::model)
      return;
    if (row.form == Form::layout && !is_long_layout(value))
      return;
    if (row.table->entry.empty())
      return mend(value, key, *row.table);
    for (auto& [name, inner] : value.entries)
      if (inner.is_map())
        mend(inner, name.text, *row.table);
  }

  void mend_equals_sign(YamlNode::Key& key, YamlNode& value) {
    const size_t sign = key.text.find('=');
    if (sign == std::string::npos)
      return;
    const std::string name = key.text.substr(0, key.text.find_last_not_of(" =", sign) + 1);
    const size_t begin = key.text.find_first_not_of(" =", sign);
    if (!is_name(name) || begin == std::string::npos)
      return;
    value.kind = YamlNode::Kind::scalar;
    value.text = key.text.substr(begin);
    value.span = key.span;
    const std::string meant = fmt::format("{}: {}", name, value.text);
    diagnostics_.add({Code::yaml_syntax,
                      fmt::format("expected `: ` between '{}' and its value", name),
                      key.span,
                      {},
                      {fmt::format("write `{}`", meant), {{key.span, meant}}}});
    key.text = name;
  }

  static constexpr int most_mended = 100;  // nobody reads more, and each looks at all keys

  const YamlNode& document_;
  Diagnostics& diagnostics_;
  int unknown_ = 0;
};

}  // namespace

Diagnostic unknown_key(std::string_view title, const YamlNode::Key& key, Help help) {
  return {Code::spec_unknown_key,
          fmt::format("{} has no key '{}'", title, key.text),
          key.span,
          {},
          std::move(help)};
}

void mend_keys(YamlNode& document, Diagnostics& diagnostics) {
  if (!document.is_map())
    return;
  Mender mender(document, diagnostics);
  mender.mend_equals_signs(document);
  mender.mend(document, "the spec", language().front());
}

MeantKey meant_key(const YamlNode::Entry& given, std::string_view title,
                   std::span<const std::string> known, const YamlNode& document) {
  const auto& [key, value] = given;
  auto is_known = [&](std::string_view word) {
    return std::find(known.begin(), known.end(), word) != known.end();
  };
  const std::string plain = snake(key.text);
  if (is_known(plain))
    return this_key(key, plain);
  const auto* synonym = std::find_if(std::begin(synonyms), std::end(synonyms),
                                     [&](const Synonym& s) { return s.theirs == plain; });
  const bool foreign = synonym != std::end(synonyms);
  if (foreign) {
    const std::string_view ours = synonym->ours, map = parent(ours);
    const std::string last(ours.substr(map.empty() ? 0 : map.size() + 1));
    const bool here = map.empty() || map.substr(map.rfind('.') + 1) == title;
    if (here && is_known(last) && synonym->same_value)
      return this_key(key, last);
    if (here && last == title && !known.empty())  // learning_rate: {lr: 0.1}
      return this_key(key, known[0]);
    if (ours == "mesh")
      return {"",
              "the ranks are those of `mesh`, which gives each axis its size" + ranks_of(document)};
    if (!map.empty() || stands_at_top(ours))
      return {"", fmt::format("it is called {} here", ours)};
    return {"", fmt::format("it is called '{}' here; {}", ours, belongs(ours, value, document))};
  }
  const std::vector<std::string> keys = all_keys();
  if (std::find(keys.begin(), keys.end(), plain) != keys.end())
    return {"", belongs(plain, value, document)};
  if (const std::vector<std::string> near = nearest(key.text, known); !near.empty())
    return {near[0], suggest(key.text, key.span, known)};
  // Short words are near to anything, and so are words that begin another way (recompute).
  if (plain.size() >= 6)
    if (const std::vector<std::string> near = nearest(plain, keys);
        !near.empty() && near[0][0] == plain[0])
      return {"", fmt::format("did you mean '{}'? {}", near[0], belongs(near[0], value, document))};
  return {"", "its keys are " + listed(known)};
}

}  // namespace mtf
