#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Figures and events: statistics/ after known traffic, uevents, pins. Donors as
for p2pmem_rules.py."""

import grp
import os
import shutil
import socket
import struct
import subprocess
import threading
import unittest

from p2pmem_guest import (CLASS, PAGE, Mapping, Taker, attr, available, bind,
                          bound, libc, log_mark, log_since, main, opened, read,
                          set_attr, statistic, unbind, wait_for, write)
from p2pmem_rules import donors

NETLINK_KOBJECT_UEVENT = 15
RULE = "/srnic/userspace/p2pmem/60-p2pmem.rules"
UDEVD = "/usr/lib/systemd/systemd-udevd"
PERSISTENT = "/sys/module/p2pmem_bar/parameters/persistent"
STATISTICS = ["allocations", "bytes_in", "bytes_out", "flushes", "full", "holds",
              "pins", "refusals", "revokes"]
# perftest between eth0 and itself; the server's memory is the donor's
PERFTEST = """
. /srnic/tests/vm/lib/lib.sh
x=$(gid_index srnic0 "$MY_IP") || exit
common=(-d srnic0 -x "$x" -F -p "$PORT" -n "$N" $SIZE)
$TOOL "${common[@]}" --mmap=/dev/$DONOR >/tmp/server.$PORT 2>&1 &
wait_listen "$PORT" && timeout 100 $TOOL "${common[@]}" 127.0.0.1 && wait $! ||
    { cat /tmp/server.$PORT; exit 1; }
"""


class Uevents:
    """What the kernel tells of one donation."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM,
                                    NETLINK_KOBJECT_UEVENT)
        self.socket.bind((0, 1))
        self.socket.settimeout(5)

    def next(self, name):
        """The next one's properties."""
        while True:
            fields = self.socket.recv(8192).split(b"\0")
            if fields[0].endswith(b"/" + name.encode()):
                return dict(f.decode().split("=", 1) for f in fields[1:] if f)

    def none(self, name):
        """Whether there is no other one."""
        self.socket.settimeout(0.5)
        try:
            self.next(name)
            return False
        except TimeoutError:
            return True
        finally:
            self.socket.settimeout(5)

    def close(self):
        self.socket.close()


class FiguresTest(unittest.TestCase):
    def setUp(self):
        (self.bdf, _), _, _ = donors()
        self.name = bind(self.bdf)
        self.size = int(attr(self.name, "size"))
        self.taker = Taker()

    def tearDown(self):
        self.taker.close()
        if bound(self.bdf):
            self.assertTrue(wait_for(lambda: available(self.name) == self.size))
            unbind(self.bdf)

    def figures(self):
        return {what: statistic(self.name, what) for what in STATISTICS}

    def expect(self, **wanted):
        """These, and all others are 0."""
        self.assertEqual(self.figures(), dict.fromkeys(STATISTICS, 0) | wanted)

    def mapping(self, pages):
        fd = opened(self.name)
        m = Mapping(fd, pages * PAGE)
        os.close(fd)
        return m

    def test_names_and_zero(self):
        self.assertEqual(sorted(os.listdir(CLASS + self.name + "/statistics")),
                         STATISTICS)
        self.expect()
        for what in STATISTICS:
            with self.assertRaises(OSError):
                write(f"{CLASS}{self.name}/statistics/{what}", "0")

    def test_taker(self):
        m = self.mapping(3)
        with self.assertRaises(OSError):
            self.mapping(self.size // PAGE)
        self.expect(allocations=1, full=1)
        h = self.taker.hold(m.address, PAGE)
        self.expect(allocations=1, full=1, holds=1)
        # on two CPUs at once, more than 32 bits hold
        big = 1 << 40

        def work(cpu):
            os.sched_setaffinity(0, {cpu})
            for _ in range(50):
                self.taker.account(h, 3, 5, 1000)
            self.taker.account(h, big, 0)

        threads = [threading.Thread(target=work, args=(cpu,)) for cpu in (0, 1)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.expect(allocations=1, full=1, holds=1,
                    bytes_in=2 * (big + 3 * 50000), bytes_out=2 * 5 * 50000)
        self.taker.put(h)
        m.unmap()

    def test_flushes(self):
        m = self.mapping(1)
        self.assertEqual(libc.msync(m.address, PAGE, 4), 0)
        # nothing to do where nothing lasts
        self.expect(allocations=1)
        m.unmap()
        unbind(self.bdf)
        write(PERSISTENT, "1")
        self.addCleanup(write, PERSISTENT, "0")
        self.name = bind(self.bdf)
        m = self.mapping(1)
        for _ in range(3):
            self.assertEqual(libc.msync(m.address, PAGE, 4), 0)
        h = self.taker.hold(m.address, PAGE)
        self.taker.persist(h, 0, 64)
        self.expect(allocations=1, holds=1, flushes=4)
        self.taker.put(h)
        m.unmap()

    def test_pins(self):
        """A pipe keeps a page by vmsplice(); mapping it is no pin."""
        m = self.mapping(4)
        other = self.taker.hold(m.address, PAGE)
        self.assertEqual(attr(self.name, "pinned"), "0")
        r, w = os.pipe()
        iovec = struct.pack("PN", m.address + PAGE, PAGE)
        self.assertEqual(libc.vmsplice(w, iovec, 1, 0), PAGE)
        self.assertEqual(attr(self.name, "pinned"), str(PAGE))
        self.taker.put(other)
        m.unmap()
        self.expect(allocations=1, holds=1, pins=1)
        self.assertEqual(attr(self.name, "pinned"), str(PAGE))
        self.assertEqual(available(self.name), self.size - 4 * PAGE)
        os.close(r)
        os.close(w)
        self.assertTrue(wait_for(lambda: available(self.name) == self.size))
        self.assertEqual(attr(self.name, "pinned"), "0")
        self.assertEqual(os.stat(CLASS + self.name + "/pinned").st_mode & 0o777,
                         0o400)

    def perftest(self, port, tool, n, size=None):
        env = dict(os.environ, DONOR=self.name, TOOL=tool, N=str(n),
                   PORT=str(port), SIZE=f"-s {size}" if size else "")
        done = subprocess.run(["bash", "-c", PERFTEST], env=env, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stdout)

    def losses(self):
        """Whatever may make srnic0 read bytes a second time."""
        return [read(f"/sys/class/infiniband/srnic0/ports/1/hw_counters/{what}")
                for what in ("duplicate_request", "out_of_seq_request",
                             "implied_nak", "timeouts", "local_drops")]

    def moved(self, port, *what):
        """Figures of one run in which nothing was lost: what is lost on its
        way out of a donor's memory is read once more."""
        for _ in range(5):
            before, losses = self.figures(), self.losses()
            self.perftest(port, *what)
            port += 1
            after = self.figures()
            if self.losses() == losses:
                return {k: after[k] - before[k] for k in after}
        self.fail("packets are lost in each of 5 runs")
        return None

    def test_traffic(self):
        """Every byte that perftest moves, and no other."""
        subprocess.run("modprobe srnic && modprobe ib_uverbs &&"
                       " rdma link add srnic0 type srnic netdev eth0",
                       shell=True, check=True)
        self.addCleanup(subprocess.run, ["modprobe", "-r", "srnic"], check=True)
        for i, (tool, n, size, bytes_in, bytes_out) in enumerate((
                ("ib_write_bw", 200, 65536, 200 * 65536, 0),
                ("ib_write_bw", 333, 777, 333 * 777, 0),
                ("ib_read_bw", 100, 65536, 0, 100 * 65536),
                ("ib_atomic_bw", 150, None, 150 * 8, 150 * 8))):
            with self.subTest(tool=tool, size=size):
                self.assertEqual(self.moved(19500 + 10 * i, tool, n, size),
                                 dict.fromkeys(STATISTICS, 0) |
                                 {"bytes_in": bytes_in, "bytes_out": bytes_out,
                                  "allocations": 1, "holds": 1})

    def test_udev_rule(self):
        """The rule that is installed does what the manual page says."""
        group = grp.getgrnam("rdma").gr_gid if "rdma" in (
            g.gr_name for g in grp.getgrall()) else None
        if group is None:
            subprocess.run(["groupadd", "-r", "rdma"], check=True)
            group = grp.getgrnam("rdma").gr_gid
        os.makedirs("/run/udev/rules.d", exist_ok=True)
        shutil.copy(RULE, "/run/udev/rules.d")
        with subprocess.Popen([UDEVD]) as daemon:
            try:
                self.assertTrue(wait_for(
                    lambda: os.path.exists("/run/udev/control")))
                unbind(self.bdf)
                self.name = bind(self.bdf)
                subprocess.run(["udevadm", "settle", "-t", "20"], check=True)
                stat = os.stat("/dev/" + self.name)
                self.assertEqual((stat.st_gid, stat.st_mode & 0o777),
                                 (group, 0o660))
            finally:
                daemon.terminate()

    def test_uevents(self):
        unbind(self.bdf)
        events = Uevents()
        self.addCleanup(events.close)
        self.name = bind(self.bdf)
        event = events.next(self.name)
        self.assertEqual((event["ACTION"], event["SUBSYSTEM"], event["DEVNAME"]),
                         ("add", "p2pmem", self.name))

        set_attr(self.name, "level", "switch")
        event = events.next(self.name)
        self.assertEqual((event["ACTION"], event["P2PMEM_EVENT"],
                          event["P2PMEM_LEVEL"]), ("change", "level", "switch"))
        # the same again is no news
        set_attr(self.name, "level", "switch")
        self.assertTrue(events.none(self.name))

        self.assertEqual(self.taker.find(self.bdf), self.name)
        self.assertEqual(attr(self.name, "health"), "ok")
        mark = log_mark("p2pmem test: health")
        self.taker.health("read only\nDEVNAME=sda")
        event = events.next(self.name)
        self.assertEqual((event["ACTION"], event["P2PMEM_EVENT"],
                          event["P2PMEM_HEALTH"], event["DEVNAME"]),
                         ("change", "health", "read only?DEVNAME=sda", self.name))
        self.assertEqual(attr(self.name, "health"), "read only?DEVNAME=sda")
        self.taker.health("read only\nDEVNAME=sda")
        self.assertTrue(events.none(self.name))
        self.assertEqual(len([i for i in log_since(mark) if "health" in i]), 1)

        unbind(self.bdf)
        event = events.next(self.name)
        self.assertEqual((event["ACTION"], event["SUBSYSTEM"]),
                         ("remove", "p2pmem"))
        self.assertTrue(events.none(self.name))


if __name__ == "__main__":
    main("p2pmem_bar", "p2pmem_taker")
