#!/usr/bin/env bash
# What the tests need beside Python: a real browser and a real PostgreSQL server, from Debian's packages.
set -euo pipefail

missing=()
command -v chromium >/dev/null || missing+=(chromium)
compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || missing+=(postgresql)
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" -eq 0 ]; then as_root=(); else as_root=(sudo -n); fi
install() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq &&
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
}
echo "Installing ${missing[*]} for the tests"
if ! install >/tmp/bagwise-apt.log 2>&1; then
    tail -5 /tmp/bagwise-apt.log >&2
    echo "Could not install ${missing[*]}: install them yourself, then run make test again." >&2
    exit 1
fi
