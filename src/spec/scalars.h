// Scalars of YAML → values of C++, strictly: no octal, no yes/no, no .inf, no quoted numbers. Each
// function returns nullopt after a diagnostic that calls the value by `key`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/diagnostics.h"
#include "base/range.h"
#include "spec/yaml.h"

namespace mtf {

std::optional<int64_t> read_integer(const YamlNode&, std::string_view key, Range, Diagnostics&);
std::optional<double> read_number(const YamlNode&, std::string_view key, Range, Diagnostics&);
std::optional<bool> read_boolean(const YamlNode&, std::string_view key, Diagnostics&);
std::optional<std::string> read_text(const YamlNode&, std::string_view key, Diagnostics&);
std::optional<int64_t> read_bytes(const YamlNode&, std::string_view key, Diagnostics&);  // "2GiB"

// The boolean that a reader of YAML 1.1 would take for this word (yes, Off, ...); "" for others.
std::string_view boolean_meant(std::string text);

// A name as dims and axes have: letters, digits and _, no digit first.
bool is_name(std::string_view text);

// Does a plain scalar read as a number or a boolean (so that text must be quoted)?
bool reads_as_number(std::string_view text);

// "a list", "the text 'ten'": what stands where something else was expected.
std::string describe(const YamlNode&);

void report_type(const YamlNode&, std::string_view key, std::string_view expected, Diagnostics&,
                 Help help = {});

void report_word(const YamlNode&, std::string_view key, std::span<const std::string> allowed,
                 Diagnostics&);

// Help that gives another text for a scalar: "take the quotes off: 5", with the edit.
Help rewritten(const YamlNode&, std::string_view words, std::string text);

}  // namespace mtf
