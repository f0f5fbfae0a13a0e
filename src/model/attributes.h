// Attributes of a step: from YAML to what the op's definition asks for.
#pragma once

#include <functional>

#include "ops/op.h"
#include "spec/yaml.h"

namespace mtf {

using FindDim = std::function<DimId(const std::string& name, SourceSpan where)>;
using Entry = YamlNode::Entry;

// Every mistake is reported; nullopt after one. Dims are looked up by `find_dim`, which reports the
// ones it does not know. Null values are absent.
std::optional<Attrs> read_attributes(const OpDef& op, const std::vector<const Entry*>& given,
                                     const FindDim& find_dim, Diagnostics& diagnostics);

// A dim's name, or a list of them, called `key` in messages. Dims that do not exist have index -1.
std::optional<std::vector<DimId>> read_dims(const YamlNode& node, std::string_view key,
                                            const FindDim& find_dim, Diagnostics& diagnostics);

// f32, f64, bf16, i32, u8 or bool.
std::optional<DType> read_dtype(const YamlNode& node, std::string_view key,
                                Diagnostics& diagnostics);

}  // namespace mtf
