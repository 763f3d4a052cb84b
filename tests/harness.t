#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The judges, judged: tests/run counts right and lets nothing pass that ended
badly; the console watch knows a complaint from a remark; check-layers sees a
wrong include; bad --donors are refused. Needs no VM."""

import glob
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
TOP = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
sys.path.insert(0, os.path.join(TOP, "scripts/lib"))
# pylint: disable=wrong-import-position
from vm import VmError, machine, pcie, watch  # noqa: E402

COUNT = FAILED = 0

# What a test file prints, its end, and the sum that tests/run makes of it.
VERDICTS = [
    ("all good", 'echo "ok 1 - a"; echo "ok 2 - b"; echo 1..2', "2 passed, 0 failed"),
    ("skip and todo are counted apart",
     'echo "ok 1 - a"; echo "ok 2 # SKIP why"; echo "not ok 3 # TODO later"; echo 1..3',
     "1 passed, 0 failed, 1 skipped, 1 todo"),
    ("a failure", 'echo "ok 1 - a"; echo "not ok 2 - b"; echo 1..2; exit 1', "1 passed, 1 failed"),
    ("a status without a failure", 'echo "ok 1 - a"; echo 1..1; exit 3', "1 passed, 1 failed"),
    ("a crash behind a failure", 'echo "not ok 1 - a"; echo 1..1; exit 120', "0 passed, 2 failed"),
    ("a plan that was not kept", 'echo 1..3; echo "ok 1 - a"', "1 passed, 1 failed"),
    ("no plan", 'echo "ok 1 - a"', "1 passed, 1 failed"),
    ("killed", 'echo "ok 1 - a"; echo 1..1; kill -9 $$', "1 passed, 1 failed"),
    ("nothing tested", "exit 0", "0 passed, 1 failed"),
    ("bailed out", 'echo 1..1; echo "ok 1 - a"; echo "Bail out! why"', "1 passed, 1 failed"),
    ("the emulator went wrong, once",
     'test -e $0.1 && echo "ok 1 - a" && exec echo 1..1; touch $0.1; echo "ok 1"; exit 121',
     "1 passed, 0 failed"),
    ("the emulator went wrong, twice", 'echo "ok 1 - a"; echo 1..1; exit 121',
     "1 passed, 1 failed"),
    ("all skipped", 'echo "1..0 # SKIP not here"', "0 passed, 0 failed, 1 skipped"),
]

COMPLAINTS = [
    "[    1.0] WARNING: CPU: 0 PID: 1 at drivers/srnic/qp.c:12 f+0x1/0x2 [srnic]",
    "[    1.0] BUG: KASAN: slab-use-after-free in f+0x1/0x2",
    "[    1.0] BUG: sleeping function called from invalid context at mm/slab.h:1",
    "[    1.0] Oops: general protection fault, probably for non-canonical address",
    "[    1.0] Kernel panic - not syncing: Fatal exception",
    "[    1.0] WARNING: possible circular locking dependency detected",
    "[    1.0] WARNING: suspicious RCU usage",
    "[    1.0] UBSAN: array-index-out-of-bounds in f.c:1:2",
    "[    1.0] sysfs: cannot create duplicate filename '/class/p2pmem/p2pmem0'",
    "[    1.0] INFO: task rmmod:12 blocked for more than 100 seconds.",
    "[    1.0] rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:",
    "[    1.0] unregister_netdevice: waiting for eth0 to become free. Usage count = 2",
    "[    1.0] refcount_t: underflow; use-after-free.",
    "[    1.0] watchdog: BUG: soft lockup - CPU#0 stuck for 26s! [kworker:1]",
]
REMARKS = [
    "[    1.0] srnic: loading out-of-tree module taints kernel.",
    "[    1.0] p2pmem: module verification failed: signature and/or required key missing",
    "[    1.0] workqueue: f [srnic] hogged CPU for >10000us 4 times, consider switching",
    "[    1.0] p2pmem_bar 0000:04:00.0: BAR 2: nothing answers behind it, not donated",
    "[    1.0] clocksource: timekeeping watchdog: Marking clocksource 'tsc' as unstable",
]


def check(good, name, note=""):
    """One result."""
    global COUNT, FAILED  # pylint: disable=global-statement
    COUNT += 1
    FAILED += not good
    print(f"{'ok' if good else 'not ok'} {COUNT} - {name}")
    if not good:
        print("\n".join("# " + line for line in str(note).splitlines()))


def runner():
    """tests/run over files of our own."""
    with tempfile.TemporaryDirectory() as tmp:
        for name, body, wanted in VERDICTS:
            path = f"{tmp}/x.t"
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"#!/bin/bash\n{body}\n")
            os.chmod(path, 0o755)
            done = subprocess.run([f"{TOP}/tests/run", path], capture_output=True,
                                  text=True, check=False,
                                  env={**os.environ, "XDG_CACHE_HOME": tmp})
            last = done.stdout.splitlines()[-1] if done.stdout else ""
            bad = " 0 failed" not in wanted or wanted.startswith("0 passed")
            check(last == wanted and bool(done.returncode) == bad, f"tests/run: {name}",
                  f"wanted {wanted!r}, status {done.returncode} and:\n{done.stdout}{done.stderr}")


def side_by_side():
    """Two tests that wait for each other, and one that fails: run as a folder."""
    meet = "touch {0}; until [ -e {1} ]; do sleep 0.1; done; echo ok 1; echo 1..1"
    with tempfile.TemporaryDirectory() as tmp:
        for name, body in (("a", meet.format(f"{tmp}/a", f"{tmp}/b")),
                           ("b", meet.format(f"{tmp}/b", f"{tmp}/a")),
                           ("c", "echo not ok 1 - of c; echo '# why'; echo 1..1; exit 1")):
            with open(f"{tmp}/{name}.t", "w", encoding="utf-8") as file:
                file.write(f"#!/bin/bash\n{body}\n")
            os.chmod(f"{tmp}/{name}.t", 0o755)
        # with one CPU they would wait for ever
        path = f"{tmp}/bin"
        os.mkdir(path)
        with open(f"{path}/nproc", "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\necho 2\n")
        os.chmod(f"{path}/nproc", 0o755)
        done = subprocess.run([f"{TOP}/tests/run", tmp], capture_output=True, text=True,
                              check=False, timeout=60,
                              env={**os.environ, "PATH": f"{path}:{os.environ['PATH']}",
                                   "XDG_CACHE_HOME": tmp})
        check(done.returncode == 1 and done.stdout.endswith("2 passed, 1 failed\n") and
              "not ok 1 - of c" in done.stdout and "# why" in done.stdout,
              "tests/run: side by side", done.stdout + done.stderr)


def emulator():
    """EFLAGS that a CPU can have, and some that none can."""
    line = "[    1.0] RSP: 0018:ffffc9000017bc40 EFLAGS: {}"
    fault = "[    1.0] traps: PANIC: double fault, error_code: 0x0"
    for flags in ("00010246", "002fffd7", "00000002"):
        check(watch.emulator_fault([fault, line.format(flags)]) is None, f"EFLAGS {flags}")
    for flags in ("081ae202", "80000202", "00400202"):
        check(watch.emulator_fault(["x", fault, line.format(flags), "x"]) == flags,
              f"EFLAGS {flags}: the emulator's fault")
    check(watch.emulator_fault(["x", "BUG: KASAN: x", "x", "x", "x", fault,
                                line.format("081ae202")]) is None,
          "a fault behind another complaint is the kernel's")


def untouched():
    """Who a kernel's death in its boot may be blamed on."""
    class Host:  # pylint: disable=too-few-public-methods
        """What watch knows of a guest."""
        booted, bad_line, console = False, 1, []

    oops = "[    4.5] CPU: 0 UID: 0 PID: 0 Comm: swapper/0 {} 6.12.1-amd64 #1"
    for taint, booted, wanted in (("Not tainted", False, True), ("Not tainted", True, False),
                                  ("Tainted: G           OE", False, False)):
        host = Host()
        host.booted, host.console = booted, ["x", "Oops: x", oops.format(taint)]
        check(watch.died_untouched(host) is wanted,
              f"a kernel that dies {'after' if booted else 'in'} its boot: {taint}")
    host = Host()
    host.console = [oops.format("Not tainted"), "WARNING: x"]
    check(not watch.died_untouched(host), "what was said before the complaint doesn't count")


def targets():
    """make help tells of each target in one line."""
    with open(f"{TOP}/Makefile", encoding="utf-8") as file:
        text = file.read()
    phony = text.split(".PHONY:")[1].splitlines()[0].split()
    done = subprocess.run(["make", "-s", "-C", TOP, "help"], capture_output=True, text=True,
                          check=False)
    told = [line.split()[1] for line in done.stdout.splitlines()]
    check(sorted(told) == sorted(phony), "make help: all targets, once each",
          f"{sorted(phony)}\n{done.stdout}")
    check(all(len(line) <= 100 for line in done.stdout.splitlines()),
          "make help: lines that fit", done.stdout)


def layers():
    """check-layers on a copy with one include too many."""
    with tempfile.TemporaryDirectory() as tmp:
        os.mkdir(f"{tmp}/scripts")
        shutil.copy(f"{TOP}/scripts/check-layers", f"{tmp}/scripts")
        shutil.copytree(f"{TOP}/drivers/srnic", f"{tmp}/drivers/srnic")
        for file, include, word in (("key.c", '"qp.h"', "key.c (memory) includes qp.h"),
                                    ("mr.c", '"pkt.h"', "mr.c (memory) includes pkt.h"),
                                    ("qp.c", "<linux/p2pmem.h>", "only peer.c may include")):
            path = f"{tmp}/drivers/srnic/{file}"
            with open(path, "a", encoding="utf-8") as source:
                source.write(f"#include {include}\n")
            done = subprocess.run([f"{tmp}/scripts/check-layers"], capture_output=True,
                                  text=True, check=False)
            check(done.returncode == 1 and word in done.stdout,
                  f"check-layers: {include} in {file}", done.stdout + done.stderr)


def donors():
    """--donors, good and bad."""
    with tempfile.TemporaryDirectory() as tmp:
        found = pcie.parse("bar,a:bar:16M@root,bar@host", [f"{tmp}/file"], ["a", "b"], tmp)
        check([(d.host, d.name, d.size >> 20, d.root) for d in found] ==
              [("b", "bar0", 64, ""), ("a", "bar0", 16, "root"), ("b", "bar1", 64, "host")],
              "--donors: hosts, names, sizes, roots", found)
        check(os.path.getsize(f"{tmp}/file") == 64 << 20, "--donor-file is made")
        for text, files in (("baz", []), ("c:bar", []), ("bar:", []), ("edu", ["f"]),
                            ("bar@up", [])):
            try:
                pcie.parse(text, files, ["a", "b"], tmp)
                check(False, f"--donors {text} is refused")
            except VmError:
                check(True, f"--donors {text} is refused")
        for text, file in (("bar", "/nowhere/x"), ("bar", tmp), ("bar:8388608G", f"{tmp}/huge")):
            try:
                pcie.parse(text, [file], ["b"], tmp)
                check(False, f"--donors {text}, a file that can't be")
            except VmError as error:
                check(file in str(error), f"--donors {text}, a file that can't be: one line", error)
        line = " ".join(pcie.tree(pcie.parse("bar,drive", [f"{tmp}/a,b", f"{tmp}/c,d"], ["b"], tmp),
                                  "nic"))
        check(f"{tmp}/a,,b,size=" in line and f"{tmp}/c,,d" in line,
              "commas in a file's name are no options", line)


def accelerators():
    """KVM where the CPU has it and the user may; else emulation."""
    with tempfile.TemporaryDirectory() as tmp:
        for name, flags in (("amd", "fpu svm lm"), ("intel", "fpu vmx"), ("none", "fpu avmx svm_x")):
            with open(f"{tmp}/{name}", "w", encoding="ascii") as file:
                file.write(f"processor\t: 0\nflags\t\t: {flags}\n")
        for name, kvm, wanted in (("amd", tmp, "kvm"), ("intel", tmp, "kvm"), ("none", tmp, "tcg"),
                                  ("amd", f"{tmp}/nothing", "tcg")):
            args = machine.accelerator(cpuinfo=f"{tmp}/{name}", kvm=kvm)
            check(args[1].split(",")[0] == wanted, f"a CPU of {name}: {wanted}", args)
        args = machine.accelerator(icount=True, cpuinfo=f"{tmp}/amd", kvm=tmp)
        check(args[1].startswith("tcg") and "-icount" in args, "counted: never KVM", args)


def setup():
    """make demo where packages are missing: who isn't root, and who has no apt,
    is told in one line what to install; nothing is built."""
    with tempfile.TemporaryDirectory() as tmp:
        for name in os.listdir("/usr/bin"):
            if name not in ("apt-get", "apt-cache", "dpkg-query", "id"):
                os.symlink(f"/usr/bin/{name}", f"{tmp}/{name}")
        env = {"PATH": tmp, "HOME": tmp}

        def stub(name, body):
            with open(f"{tmp}/{name}", "w", encoding="utf-8") as file:
                file.write(f"#!/bin/bash\n{body}\n")
            os.chmod(f"{tmp}/{name}", 0o755)

        def demo(what, wanted):
            done = subprocess.run(["make", "-s", "-C", TOP, "demo"], env=env, text=True,
                                  capture_output=True, check=False)
            told = [line for line in done.stderr.splitlines() if "qemu-system-x86" in line]
            check(done.returncode != 0 and len(told) == 1 and wanted in told[0],
                  f"make demo, {what}: one line", done.stdout + done.stderr)
            check(not glob.glob(f"{tmp}/.cache/srnic/*-*"), f"{what}: nothing built")

        demo("no apt", "needs Debian's apt")
        stub("apt-get", "exit 99")
        stub("dpkg-query", "exit 1")
        stub("id", "echo 1000")
        demo("not root", "not root, and these packages are missing")


def main():
    """All of it."""
    runner()
    side_by_side()
    setup()
    for line in COMPLAINTS:
        check(watch.is_complaint(line), f"a complaint: {line[10:60]}")
    for line in REMARKS:
        check(not watch.is_complaint(line), f"a remark: {line[10:60]}")
    emulator()
    untouched()
    targets()
    layers()
    donors()
    accelerators()
    print(f"1..{COUNT}")
    return int(bool(FAILED))


if __name__ == "__main__":
    sys.exit(main())
