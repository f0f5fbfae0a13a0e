// Options of blocks and families: `$name` in a body is replaced by the value that was given.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "spec/yaml.h"

namespace mtf {

// `defaults` with `given` over it; maps merge by key. An option that has no default is reported.
YamlNode merged_options(const YamlNode* defaults, const YamlNode* given, const std::string& whose,
                        Diagnostics&);

// `body` with every `$name` and `$name.key` replaced. Such a scalar may stand for any node and is
// spliced where it stands in a list and is one; within a longer text, and in a key, the option must
// be a scalar. Names that `options` lacks are reported at their place; those that are used are
// put into `used`.
YamlNode expanded(const YamlNode& body, const YamlNode& options, Diagnostics&,
                  std::set<std::string, std::less<>>* used = nullptr);

}  // namespace mtf
