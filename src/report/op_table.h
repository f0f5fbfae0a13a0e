// The op definitions as what people read: `mtf ops`, and the tables of docs/OPS.md.
#pragma once

#include <string>

namespace mtf {

// One line an op that a spec may name: its name and summary.
std::string ops_as_text();

// One Markdown table a family: operands, attributes, roles of dims, FLOPs, gradient.
std::string ops_as_markdown();

}  // namespace mtf
