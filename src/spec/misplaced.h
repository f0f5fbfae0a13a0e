// What an unknown key is meant to be: a key of the same map spelt another way, what a neighbouring
// tool calls something of this language, or a key that stands elsewhere.
#pragma once

#include <span>
#include <string>

#include "base/diagnostics.h"
#include "spec/yaml.h"

namespace mtf {

struct MeantKey {
  std::string here;  // the key of the same map that is probably meant; may be empty
  Help help;
};

// `known`: the keys of the map that holds the key; `title`: what the map is called, the last key of
// its path. Where a key belongs to several places, those that `document` has are named.
MeantKey meant_key(const YamlNode::Entry& given, std::string_view title,
                   std::span<const std::string> known, const YamlNode& document);

// "train has no key 'stps'".
Diagnostic unknown_key(std::string_view title, const YamlNode::Key&, Help);

// Reports each key outside of `model:` that is certain to be meant for another of the same map, and
// writes that one in its place; and each `key=value`, which is read as `key: value`.
void mend_keys(YamlNode& document, Diagnostics&);

}  // namespace mtf
