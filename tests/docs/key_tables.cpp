// The keys of a spec as the tables of docs/LANGUAGE.md, by walking the descriptions of
// spec/fields.h. Every table is a map of the language; a key that holds a map names its table.
#include <fmt/format.h>

#include <cstdio>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "spec/fields.h"

namespace mtf {
namespace {

std::string kind(const int64_t&) {
  return "integer";
}
std::string kind(const double&) {
  return "number";
}
std::string kind(const std::string&) {
  return "text";
}
std::string kind(const std::array<double, 2>&) {
  return "two numbers";
}
std::string kind(const std::vector<std::string>&) {
  return "text, or a list of it";
}
std::string kind(const YamlNode&) {
  return "map, see *Models*";
}
std::string kind(const std::vector<NamedPath>&) {
  return "map of names to paths";
}
std::string kind(const Blocks&) {
  return "power of two, or map of dims to integers";
}
std::string kind(const Mesh&) {
  return "map of axes to sizes";
}
std::string kind(const std::vector<LayoutRule>&) {
  return "layout rules";
}
std::string kind(const std::vector<std::pair<std::string, std::vector<LayoutRule>>>&) {
  return "map of path patterns to layout rules";
}

std::string shown(const int64_t& v) {
  return std::to_string(v);
}
std::string shown(const double& v) {
  return fmt::format("{}", v);
}
std::string shown(const std::string& v) {
  return v;
}
std::string shown(const std::array<double, 2>& v) {
  return fmt::format("[{}, {}]", v[0], v[1]);
}
template <class T>
std::string shown(const T&) {
  return {};
}

class Tables;

// The visitor of fields.h for one map: writes a row for each key.
class Table {
 public:
  Table(Tables& all, std::string title) : all_(all), title_(std::move(title)) {}

  template <class T>
  void field(std::string_view key, T& target, std::string_view summary, Range range = {}) {
    value(key, target, summary, range, false);
  }
  template <class T>
  void required(std::string_view key, T& target, std::string_view summary, Range range = {}) {
    value(key, target, summary, range, true);
  }
  template <class E, size_t n>
  void word(std::string_view key, E& target, std::string_view summary, const Word<E> (&words)[n]) {
    std::string list, initial;
    for (const Word<E>& w : words) {
      list += (list.empty() ? "`" : ", `") + std::string(w.text) + "`";
      if (w.value == target)
        initial = w.text;
    }
    row(key, list, initial, summary);
  }
  template <class Integer>
  void bytes(std::string_view key, Integer&, std::string_view summary) {
    row(key, "size such as 2GiB", "", summary);
  }
  void path(std::string_view key, std::string&, std::string_view s) { row(key, "path", "", s); }
  void paths(std::string_view key, std::vector<std::string>&, std::string_view s) {
    row(key, "path, or a list of paths", "", s);
  }
  void name_or_path(std::string_view key, std::string& target, std::string_view summary) {
    row(key, "name or path", target, summary);
  }
  void expression(std::string_view key, std::string&, SourceSpan&, std::string_view summary) {
    row(key, "size", "", summary);
  }
  void group(std::string_view key, std::string_view summary,
             const std::function<void(Table&)>& inner);
  void alternative(std::string_view key, const std::function<void()>&) {
    alternatives_.insert(std::string(key));
  }
  void later(std::string_view key) { later_.push_back("`" + std::string(key) + "`"); }

  std::string text() const;

 private:
  template <class T>
  void value(std::string_view key, T& target, std::string_view summary, Range range, bool needed);

  std::string below(std::string_view key) const {
    return (title_ == "spec" ? "" : title_ + ".") + std::string(key);
  }

  void row(std::string_view key, std::string type, const std::string& initial,
           std::string_view summary) {
    const bool one_of = alternatives_.contains(std::string(key));
    rows_ += fmt::format("| `{}` | {}{} | {} | {} |\n", key, type, one_of ? " (one of)" : "",
                         initial.empty() ? "" : "`" + initial + "`", summary);
  }

  Tables& all_;
  std::string title_, rows_;
  std::set<std::string> alternatives_;
  std::vector<std::string> later_;
};

class Tables {
 public:
  template <class Describe>
  void add(const std::string& title, const Describe& describe) {
    const size_t place = texts_.size();
    texts_.emplace_back();
    Table table(*this, title);
    describe(table);
    texts_[place] = table.text();
  }
  std::string text() const {
    std::string out;
    for (const std::string& t : texts_)
      out += t;
    return out;
  }

 private:
  std::vector<std::string> texts_;  // in the order in which the maps are met
};

void Table::group(std::string_view key, std::string_view summary,
                  const std::function<void(Table&)>& inner) {
  const std::string title = below(key);
  row(key, "map, table *" + title + "*", "", summary);
  all_.add(title, inner);
}

template <class T>
struct Held {
  using Type = T;
};
template <class T>
struct Held<std::optional<T>> {
  using Type = T;
};

template <class T>
void Table::value(std::string_view key, T& target, std::string_view summary, Range range,
                  bool needed) {
  using Value = typename Held<T>::Type;
  Value fresh{};
  std::string type, initial;
  const std::string title = below(key);
  if constexpr (requires { kind(fresh); }) {
    type = kind(fresh);
    initial = needed || !std::is_same_v<Value, T> ? "" : shown(target);
    if (const std::string limits = range.text(); !limits.empty())
      type += ", " + limits;
  } else if constexpr (std::is_same_v<Value, std::vector<DimSpec>>) {
    type = "map of dims to sizes, or to *" + title + ".DIM*";
    if (title_ == "spec")
      all_.add(title + ".DIM", [](Table& t) {
        DimSpec d;
        fields(t, d);
      });
  } else if constexpr (std::is_same_v<Value, std::vector<SyntheticInput>>) {
    type = "map of inputs to *" + title + ".INPUT*";
    all_.add(title + ".INPUT", [](Table& t) {
      SyntheticInput s;
      fields(t, s);
    });
  } else if constexpr (std::is_same_v<Value, LayoutRules>) {
    type = "layout rules, or map, table *layout*";
    if (title_ == "spec")
      all_.add("layout", [&](Table& t) { fields(t, fresh); });
  } else {
    const bool number = std::is_same_v<Value, LearningRate>;
    type = fmt::format("{}map, table *{}*", number ? "number, or " : "",
                       number ? "learning_rate" : title);
    if (!number)
      all_.add(title, [&](Table& t) { fields(t, fresh); });
  }
  row(key, type + (needed ? ", required" : ""), initial, summary);
}

std::string Table::text() const {
  std::string out = fmt::format(
      "#### {}\n\n| key | value | default | meaning |\n|---|---|---|---|\n{}", title_, rows_);
  if (!later_.empty()) {
    out += "\nNot yet, and refused:";
    for (const std::string& key : later_)
      out += " " + key;
    out += "\n";
  }
  return out + "\n";
}

}  // namespace
}  // namespace mtf

int main() {
  mtf::Tables tables;
  tables.add("spec", [](mtf::Table& t) {
    mtf::Spec spec;
    fields(t, spec);
  });
  tables.add("learning_rate", [](mtf::Table& t) {
    mtf::LearningRate rate;
    fields(t, rate);
  });
  std::fputs(tables.text().c_str(), stdout);
  return 0;
}
