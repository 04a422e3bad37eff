"""Commands in folders that cannot be written and on disks that are full; root is restricted like everyone."""

import json
import os
import stat
import sys
from contextlib import contextmanager

from tests.support import forked

END = "\0"
COMMANDS = f"""
import json, resource, sys
from bagwise.cli import main
lines, largest = json.loads(sys.argv[1])
if largest is not None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
for command in lines:
    sys.argv, code = ["bagwise", *command], 0
    try:
        main()
    except SystemExit as end:
        code = end.code or 0
    print(code, end={END!r}, flush=True)
"""


def obeying_permissions():
    """Return the start of a command line under which even root cannot write without permission."""
    return ["setpriv", "--bounding-set=-dac_override"] if os.geteuid() == 0 else []


@contextmanager
def read_only(folder):
    """Make the folder read-only for processes that obey permissions."""
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in [folder, *folder.rglob("*")]}
    for path, mode in modes.items():
        path.chmod(mode & ~0o222)
    try:
        yield
    finally:
        for path, mode in modes.items():
            path.chmod(mode)


def commands(*lines, largest_file=None):
    """Run commands one after the other in one new process that obeys permissions; return (exit code, output) of each.

    No file can grow beyond `largest_file` bytes: to a single file, this is a full disk.
    """
    task = json.dumps([[[str(word) for word in line] for line in lines], largest_file])
    command = [*obeying_permissions(), sys.executable, "-c", COMMANDS, task]
    environment = {**os.environ, "COLUMNS": "200"}
    with forked.Popen(command, stdout=forked.PIPE, stderr=forked.STDOUT, env=environment) as process:
        output = process.stdout.read().decode()
    assert process.returncode == 0, output
    ends = [part.rpartition("\n") for part in output.split(END)[:-1]]
    return [(int(code), said) for said, _, code in ends]
