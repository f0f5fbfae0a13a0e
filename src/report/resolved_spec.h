// What `mtf config` prints.
#pragma once

#include <string>

#include "base/source.h"
#include "spec/spec.h"

namespace mtf {

// The resolved spec as YAML, each value with the place it comes from; what was left out in a map
// that is there has its default:
//   steps: 10          # command line, argument 3
//   microbatches: 1    # default
// It reads as a spec: input paths are relative to the working directory.
std::string resolved_text(const Spec&, const Sources&);

}  // namespace mtf
