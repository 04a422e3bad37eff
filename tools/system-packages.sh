#!/usr/bin/env bash
# What the tests need besides Python: a browser and a PostgreSQL server. What tools/programs.py does not find in any
# version is installed from the system's packages, as root or with sudo; else this prints what to do.
set -euo pipefail

tools=$(dirname "$0")
names=$("${PYTHON:-python3}" "$tools/programs.py" | xargs)
[ -z "$names" ] && exit 0

explain() {
    echo "The tests need ${names// / and }, which this machine does not have and which could not be installed ($1)." >&2
    if command -v apt-get >/dev/null; then
        echo "  Ask an administrator for:  apt-get install --no-install-recommends $names" >&2
    elif command -v dnf >/dev/null; then
        echo "  Ask an administrator for:  dnf install ${names/postgresql/postgresql-server}" >&2
    elif command -v brew >/dev/null; then
        echo "  Run:  brew install $names" >&2
    else
        echo "  Install them with your system's package manager." >&2
    fi
    [[ " $names " == *" chromium "* ]] &&
        echo "  Without an administrator:  .venv/bin/python -m playwright install chromium   or CHROMIUM=/path/to/chrome make test" >&2
    [[ " $names " == *" postgresql "* ]] &&
        echo "  Where a server is elsewhere:  POSTGRESQL_BIN=/path/to/its/bin make test   (the folder with initdb and pg_ctl)" >&2
    exit 1
}

command -v apt-get >/dev/null || explain "no apt-get"
if [ "$(id -u)" -eq 0 ]; then
    as_root=()
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    as_root=(sudo -n)
else
    explain "not root, and sudo is missing or needs a password"
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "Installing $names with apt-get"
SECONDS=0
packages=$names
{
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq
    # Chromium without windows, where the system has it: smaller, and pages open in a third of the time.
    apt-cache show chromium-headless-shell && packages=${names/chromium/chromium-headless-shell}
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages
} >"$log" 2>&1 || { tail -5 "$log" >&2; explain "apt-get failed"; }
echo "Installed $packages in $SECONDS s"
[ -z "$("${PYTHON:-python3}" "$tools/programs.py")" ] || explain "what apt-get installs does not start"
