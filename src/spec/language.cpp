#include "spec/language.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "spec/fields.h"
#include "spec/model_keys.h"

namespace mtf {
namespace {

// The form of a value by its C++ type: a struct of fields.h if it is none of these.
template <class T>
constexpr Form form_of = Form::keys;
template <>
constexpr Form form_of<int64_t> = Form::integer;
template <>
constexpr Form form_of<double> = Form::number;
template <>
constexpr Form form_of<std::string> = Form::text;
template <>
constexpr Form form_of<std::array<double, 2>> = Form::two_numbers;
template <>
constexpr Form form_of<std::vector<std::string>> = Form::texts;
template <>
constexpr Form form_of<YamlNode> = Form::model;
template <>
constexpr Form form_of<std::vector<NamedPath>> = Form::named_paths;
template <>
constexpr Form form_of<std::vector<SyntheticInput>> = Form::named_keys;
template <>
constexpr Form form_of<LearningRate> = Form::rate;
template <>
constexpr Form form_of<Blocks> = Form::block_counts;
template <>
constexpr Form form_of<std::vector<DimSpec>> = Form::dims;
template <>
constexpr Form form_of<Mesh> = Form::mesh;
template <>
constexpr Form form_of<LayoutRules> = Form::layout;
template <>
constexpr Form form_of<std::vector<LayoutRule>> = Form::rules;
template <>
constexpr Form form_of<std::vector<std::pair<std::string, std::vector<LayoutRule>>>> =
    Form::tensor_rules;

std::string shown(int64_t v, Range range) {
  return range.holds(static_cast<double>(v)) ? std::to_string(v) : "";
}
std::string shown(double v, Range range) {
  return range.holds(v) ? fmt::format("{}", v) : "";
}
std::string shown(const std::string& v, Range) {
  return v;
}
std::string shown(const std::array<double, 2>& v, Range) {
  return fmt::format("[{}, {}]", v[0], v[1]);
}
std::string shown(const LearningRate& r, Range) {
  return shown(r.peak, above(0));
}
template <class T>
std::string shown(const T&, Range) {
  return {};
}

// The visitor of fields.h: the rows of one table, and of the tables below it.
class Describer {
 public:
  Describer(std::deque<KeyTable>& all, KeyTable& table) : all_(all), table_(table) {}

  template <class T>
  void field(std::string_view key, T& target, std::string_view summary, Range range = {}) {
    KeyRow& row = add(key, form_of<T>, summary);
    row.range = range;
    if (!row.one_of)
      row.initial = shown(target, range);
    describe_below(row, target);
  }
  template <class T>
  void field(std::string_view key, std::optional<T>&, std::string_view summary, Range range = {}) {
    T fresh{};
    field(key, fresh, summary, range);
    table_.rows.back().initial.clear();
  }
  template <class T>
  void required(std::string_view key, T& target, std::string_view summary, Range range = {}) {
    field(key, target, summary, range);
    table_.rows.back().required = true;
    table_.rows.back().initial.clear();
  }
  template <class E, size_t n>
  void word(std::string_view key, E& target, std::string_view summary, const Word<E> (&words)[n]) {
    KeyRow& row = add(key, Form::word, summary);
    for (const Word<E>& w : words) {
      row.words.push_back(w.text);
      if (w.value == target)
        row.initial = w.text;
    }
  }
  template <class Integer>
  void bytes(std::string_view key, Integer&, std::string_view summary) {
    add(key, Form::bytes, summary);
  }
  void path(std::string_view key, std::string&, std::string_view summary) {
    add(key, Form::path, summary);
  }
  void paths(std::string_view key, std::vector<std::string>&, std::string_view summary) {
    add(key, Form::paths, summary);
  }
  void name_or_path(std::string_view key, std::string& target, std::string_view summary) {
    add(key, Form::name_or_path, summary).initial = target;
  }
  void expression(std::string_view key, std::string&, SourceSpan&, std::string_view summary) {
    add(key, Form::size, summary);
  }
  void group(std::string_view key, std::string_view summary,
             const std::function<void(Describer&)>& inner) {
    KeyRow& row = add(key, Form::keys, summary);
    row.table = &describe(below(key), "", inner);
  }
  void alternative(std::string_view key, const std::function<void()>& choose) {
    choose();  // what is left out may depend on it
    alternatives_.push_back(key);
  }
  void later(std::string_view key) { table_.later.push_back(key); }

 private:
  KeyRow& add(std::string_view key, Form form, std::string_view summary) {
    KeyRow& row = table_.rows.emplace_back(KeyRow{key, summary, form});
    row.one_of = std::find(alternatives_.begin(), alternatives_.end(), key) != alternatives_.end();
    return row;
  }

  std::string below(std::string_view key) const {
    return all_.size() > 0 && &table_ == &all_[0] ? std::string(key)
                                                  : fmt::format("{}.{}", table_.title, key);
  }

  template <class Inner>
  const KeyTable& describe(const std::string& title, std::string entry, const Inner& inner) {
    for (const KeyTable& known : all_)  // several keys share it
      if (known.title == title)
        return known;
    KeyTable& table = all_.emplace_back(KeyTable{title, std::move(entry), {}, {}});
    Describer describer(all_, table);
    inner(describer);
    return table;
  }

  template <class T>
  void describe_below(KeyRow& row, T& target) {
    auto visit = [](auto& value) { return [&](Describer& d) { fields(d, value); }; };
    if constexpr (std::is_same_v<T, std::vector<DimSpec>>) {
      DimSpec dim;
      row.table = &describe("dims.DIM", "DIM", visit(dim));
    } else if constexpr (std::is_same_v<T, std::vector<SyntheticInput>>) {
      SyntheticInput input;
      row.table = &describe(below(row.name) + ".INPUT", "INPUT", visit(input));
    } else if constexpr (std::is_same_v<T, LearningRate>) {
      LearningRate rate;
      row.table = &describe("learning_rate", "", visit(rate));
    } else if constexpr (std::is_same_v<T, YamlNode>) {
      row.table = &add_model_tables(all_);
    } else if constexpr (form_of<T> == Form::keys || std::is_same_v<T, LayoutRules>) {
      const bool shared = std::is_same_v<T, LayoutRules>;
      row.table = &describe(shared ? "layout" : below(row.name), "", visit(target));
    }
  }

  std::deque<KeyTable>& all_;
  KeyTable& table_;
  std::vector<std::string_view> alternatives_;
};

void walk(const KeyTable& table, const std::string& prefix,
          const std::function<void(const std::string&, const KeyRow&)>& visit) {
  for (const KeyRow& row : table.rows) {
    const std::string path = prefix + std::string(row.name);
    visit(path, row);
    if (row.table)
      walk(*row.table, path + "." + (row.table->entry.empty() ? "" : row.table->entry + "."),
           visit);
  }
}

}  // namespace

bool fits(const YamlNode& value, Form form) {
  switch (form) {
    case Form::keys:
    case Form::dims:
    case Form::mesh:
    case Form::named_paths:
    case Form::named_keys:
    case Form::tensor_rules:
    case Form::model:
    case Form::options:
    case Form::tensors:
    case Form::choices:
    case Form::named_value:
      return value.is_map();
    case Form::layout:
    case Form::rules:
      return !value.is_scalar();
    case Form::rate:
    case Form::size:
    case Form::block_counts:
    case Form::results:
      return !value.is_list();
    case Form::texts:
    case Form::paths:
    case Form::dim_names:
      return !value.is_map();
    case Form::values:
      return !value.is_map() && std::all_of(value.items.begin(), value.items.end(),
                                            [](const YamlNode& item) { return item.is_scalar(); });
    case Form::two_numbers:
    case Form::fan_pair:
    case Form::steps:
      return value.is_list();
    default:
      return value.is_scalar();
  }
}

bool has_user_keys(Form form) {
  switch (form) {
    case Form::dims:
    case Form::mesh:
    case Form::named_paths:
    case Form::named_keys:
    case Form::layout:
    case Form::block_counts:
    case Form::options:
    case Form::tensors:
    case Form::choices:
    case Form::named_value:
      return true;
    default:
      return false;
  }
}

const KeyRow* KeyTable::find(std::string_view name) const {
  auto row =
      std::find_if(rows.begin(), rows.end(), [&](const KeyRow& r) { return r.name == name; });
  return row == rows.end() ? nullptr : &*row;
}

std::vector<std::string> KeyTable::names() const {
  std::vector<std::string> out;
  for (const KeyRow& row : rows)
    out.emplace_back(row.name);
  return out;
}

const std::deque<KeyTable>& language() {
  static const std::deque<KeyTable> tables = [] {
    std::deque<KeyTable> all;
    KeyTable& root = all.emplace_back(KeyTable{"spec", "", {}, {}});
    Spec spec;
    Describer describer(all, root);
    fields(describer, spec);
    root.rows.push_back({"extends", "the spec from which this one starts", Form::path});
    return all;
  }();
  return tables;
}

const KeyTable& key_table(std::string_view title) {
  auto table = std::find_if(language().begin(), language().end(),
                            [&](const KeyTable& t) { return t.title == title; });
  CHECK(table != language().end());
  return *table;
}

void for_each_key(const std::function<void(const std::string&, const KeyRow&)>& visit) {
  walk(language().front(), "", visit);
}

}  // namespace mtf
