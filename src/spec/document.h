// A spec file, what it extends and the `--set` overrides → one resolved YAML tree, in which every
// node still has the span of the text it came from.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spec/spec.h"
#include "spec/yaml.h"

namespace mtf {

// The null node after an error that leaves nothing to check. Throws Failure if `path` cannot be
// read.
YamlNode read_document(Sources& sources, const std::string& path,
                       const std::vector<Override>& overrides, Diagnostics& diagnostics);

// An input path as written at `where` → one relative to the working directory: paths are relative
// to the file that wrote them.
std::string resolve_path(const Sources& sources, SourceSpan where, const std::string& path);

// Does `extends` replace what lies at this dotted path whole, rather than merge it key by key?
bool is_replaced_whole(std::string_view path);

// The reserved words of `layout:`; any other key is a dim with its axes.
std::span<const std::string_view> layout_words();
bool is_layout_word(std::string_view key);

// Is this layout in its long form, a map of reserved words, rather than the rules themselves?
bool is_long_layout(const YamlNode& layout);

}  // namespace mtf
