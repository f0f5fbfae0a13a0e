// mtf doctor: what this machine and build have, and whether the laws hold on this processor.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "cli/commands.h"
#include "runtime/machine.h"

namespace mtf {
namespace {

void print_table(std::string_view title, const std::vector<Fact>& facts) {
  fmt::print("{}\n", title);
  for (const Fact& f : facts)
    fmt::print("  {:<18} {}\n", f.what, f.value);
}

}  // namespace

int doctor_command(const Options&) {
  print_table("machine", machine_facts());
  print_table("libraries", library_versions());
  const std::vector<Proof> proofs = prove_laws();
  fmt::print("laws\n");
  for (const Proof& p : proofs)
    fmt::print("  {:<5}  {}\n         {}\n", p.holds ? "holds" : "FAILS", p.what, p.detail);
  const bool sound =
      std::all_of(proofs.begin(), proofs.end(), [](const Proof& p) { return p.holds; });
  return static_cast<int>(sound ? Exit::ok : Exit::environment);
}

}  // namespace mtf
