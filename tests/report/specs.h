// Good specs that together hold every key of the language, and trees that are one change away from
// them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "spec/yaml.h"

namespace mtf {

const std::vector<std::string>& full_specs();  // YAML texts without an error

// Calls `use` with each tree that differs from `root` in one place: a value replaced, a key left
// out, a key too many. `what` names the change: "train.steps := -3".
void for_each_change(
    const YamlNode& root,
    const std::function<void(const YamlNode& changed, const std::string& what)>& use);

std::string flow_yaml(const YamlNode& node);  // on one line, null values included

}  // namespace mtf
