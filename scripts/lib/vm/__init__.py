# SPDX-License-Identifier: GPL-2.0
"""The pieces of scripts/vm, one noun each:

guest    what is put into a guest: kernel, modules, provider, scripts
pcie     the PCIe tree of donors
machine  one guest's QEMU: command line and process
watch    what comes out of the guests: output, exit status, kernel complaints
"""

import os
import subprocess

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../.."))
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or
                     os.path.expanduser("~/.cache"), "srnic")


class VmError(Exception):
    """Something outside the guests is not as it should be."""


def script(name, *args):
    """Run one of scripts/ and return the last line that it printed."""
    done = subprocess.run([os.path.join(TOP, "scripts", name), *args],
                          stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise VmError(f"scripts/{name} failed (status {done.returncode})")
    lines = done.stdout.split("\n")
    return lines[-2] if len(lines) > 1 else ""
