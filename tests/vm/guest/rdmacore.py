#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Run rdma-core's own tests on a device, each file in a process of its own.

    rdmacore.py DIR DEV GID-INDEX EXPECTED

DIR has rdma-core's tests/. TAP: one result per test file. EXPECTED lists the
tests that may skip or fail, as 'skip|fail NAME  # why' with * in names; any
other that skips or fails is a failure here, and so is a line that no test
needs, so that the list can't outlive what it excuses.
"""

import fnmatch
import os
import re
import signal
import subprocess
import sys

# Other vendors' devices, and CUDA: nothing of it is here.
FOREIGN = re.compile(r"mlx5|efa|irdma|cuda|rss_traffic|tag_matching")
RESULT = re.compile(r"^(test_\w+) \(([\w.]+)\).*?\.\.\. *(.*)$")
VERDICT = re.compile(r"(?:^|.*\s)(ok|FAIL|ERROR|skipped .*|expected failure)$")


class Expected:
    """The list of what may skip or fail."""

    def __init__(self, path):
        self.rows = []
        with open(path, encoding="utf-8") as file:
            for line in file:
                words = line.split("#")[0].split()
                if words:
                    self.rows.append([words[0], words[1], 0])

    def has(self, what, name):
        found = False
        for row in self.rows:
            if row[0] == what and fnmatch.fnmatch(name, row[1]):
                row[2] += 1
                found = True
        return found

    def unused(self):
        return [f"{row[0]} {row[1]}" for row in self.rows if not row[2]]


def results(text):
    """Yield (name, ok|skip|fail, reason) from the output of unittest -v."""
    name = None
    for line in text.splitlines():
        start = re.match(r"^(test_\w+) \(([\w.]+)\)", line)
        if start:
            name = ".".join(start.group(2).split(".")[-2:])
            if not name.endswith(start.group(1)):
                name += "." + start.group(1)
        verdict = VERDICT.match(line)
        if name and verdict:
            word = verdict.group(1)
            yield (name, {"ok": "ok", "s": "skip"}.get(word if word == "ok" else word[0],
                                                       "fail"), word)
            name = None
    if name:
        yield name, "fail", "never ended"


def main():
    where, dev, gid, path = sys.argv[1:]
    expected = Expected(path)
    number = failed = 0
    total = {"ok": 0, "skip": 0, "fail": 0}
    for file in sorted(os.listdir(f"{where}/tests")):
        module = file[:-3]
        if not re.match(r"test_.*\.py$", file) or FOREIGN.search(module):
            continue
        done = subprocess.run(
            [sys.executable, "-c", "import sys; sys.path.insert(0, 'tests');"
             "import unittest; from args_parser import parser; parser.parse_args();"
             f"unittest.main(module='tests.{module}')",
             "-v", "--dev", dev, "--gid", gid], cwd=where, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=300)
        bad, count = [], {"ok": 0, "skip": 0, "fail": 0}
        for name, what, why in results(done.stdout):
            count[what] += 1
            total[what] += 1
            if what != "ok" and not expected.has(what, name):
                bad.append(f"{what} {name}  # {why}")
        if done.returncode < 0:
            bad.append(f"ended by {signal.Signals(-done.returncode).name}")
        if not sum(count.values()) and "NO TESTS RAN" not in done.stdout and \
                "Ran 0 tests" not in done.stdout:
            bad.append("no test ran")
        number += 1
        failed += bool(bad)
        print(f"{'not ok' if bad else 'ok'} {number} - rdma-core's {module}: "
              f"{count['ok']} passed, {count['skip']} skipped, {count['fail']} failed",
              flush=True)
        for line in bad:
            print(f"#   {line}")
        if any("fail" in line or "ended" in line or "no test" in line for line in bad):
            for line in done.stdout.splitlines()[-60:]:
                print(f"#     | {line}", flush=True)
    number += 1
    unused = expected.unused()
    failed += bool(unused)
    print(f"{'not ok' if unused else 'ok'} {number} - every excuse in the list is needed")
    for line in unused:
        print(f"#   {line}")
    print(f"# {total['ok']} passed, {total['skip']} skipped, {total['fail']} failed")
    print(f"1..{number}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
