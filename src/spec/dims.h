// Sizes of dims: expressions over dims and integers, exact, and the table that resolves them.
//   expression = term {(+ | -) term};  term = factor {(* | /) factor}
//   factor = number | dim | $option | ( expression ) | ceil ( expression ) | - factor
// Outside ceil every number is an integer and every `/` must divide; inside it, fractions are
// exact.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "spec/spec.h"

namespace mtf {

constexpr int64_t max_dim_size = int64_t{1} << 40;

// Where the names of an expression are looked up. Both report what they do not know, at `where`,
// and then return nullopt. An option's text is itself an expression (without options).
struct DimNames {
  std::function<std::optional<int64_t>(std::string_view dim, SourceSpan where)> size;
  std::function<std::optional<std::string>(std::string_view option, SourceSpan where)> option;
};

// The value of an expression, in 1..max_dim_size; nullopt after a diagnostic. `span` is that of the
// text, so that messages point into it.
std::optional<int64_t> evaluate(std::string_view expression, SourceSpan span, const DimNames&,
                                Diagnostics&);

class DimTable {
 public:
  using Options = decltype(DimNames::option);
  explicit DimTable(Diagnostics& diagnostics, std::span<const DimSpec> dims = {});

  // Adds a dim. A name that is there already stays as it is: a spec's own dims win over the
  // defaults of library files and blocks, whose sizes may hold `$options`.
  void add(const DimSpec& dim, Options options = {});
  const DimSpec* find(std::string_view name) const;

  // The size of a dim, computed at its first use. Unknown names and cycles are reported.
  std::optional<int64_t> size(std::string_view name, SourceSpan where);

  // Reports a name that is none of the known dims and gives the one that is meant, or "" if none is
  // near. The same name is reported again only if one is, and `each_time` is asked for.
  std::string report_missing(std::string_view name, SourceSpan where,
                             std::span<const std::string> known, bool each_time = true);

  // An expression over the dims of this table.
  std::optional<int64_t> evaluate(std::string_view expression, SourceSpan span,
                                  const Options& options = {});

 private:
  enum class State : uint8_t { waiting, running, done };
  struct Entry {
    DimSpec dim;
    Options options;
    State state = State::waiting;
    std::optional<int64_t> size;
  };

  std::optional<int64_t> report_cycle(const Entry& first);

  Diagnostics& diagnostics_;
  std::map<std::string, Entry, std::less<>> entries_;
  std::map<std::string, std::string, std::less<>> missing_;  // and what was meant
  std::vector<const Entry*> running_;  // the chain of dims being computed, outermost first
};

}  // namespace mtf
