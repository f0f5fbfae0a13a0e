#!/usr/bin/env bash
# Installs the Debian packages that building (and with --tests, testing) mtf needs.
set -euo pipefail
packages=(g++ cmake ninja-build libfmt-dev libyaml-cpp-dev libcli11-dev nlohmann-json3-dev libsleef-dev
          libopenmpi-dev openmpi-bin)
[ "${1:-}" = --tests ] && packages+=(catch2 libvalijson-dev ccache python3 python3-numpy python3-yaml python3-jsonschema)
missing=()
for p in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'install ok installed' || missing+=("$p")
done
[ ${#missing[@]} -eq 0 ] && exit 0
sudo=; [ "$(id -u)" -eq 0 ] || sudo=sudo
$sudo apt-get update -qq
DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
