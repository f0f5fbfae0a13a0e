// What `mtf doctor` says.
#include <catch2/catch.hpp>

#include <algorithm>

#include "runtime/machine.h"

using namespace mtf;

TEST_CASE("the laws hold on this processor") {
  const std::vector<Proof> proofs = prove_laws();
  CHECK(proofs.size() == 5);
  for (const Proof& p : proofs) {
    INFO(p.what << ": " << p.detail);
    CHECK(p.holds);
  }
}

TEST_CASE("facts and versions have values; MPI is named with its version") {
  std::vector<Fact> all = machine_facts();
  const std::vector<Fact> libraries = library_versions();
  all.insert(all.end(), libraries.begin(), libraries.end());
  for (const Fact& f : all) {
    INFO(f.what);
    CHECK(!f.value.empty());
  }
  CHECK(std::any_of(libraries.begin(), libraries.end(), [](const Fact& f) {
    return f.what == "MPI" && f.value.find_first_of("0123456789") != std::string::npos;
  }));
}
