#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The rules as srnic's users meet them. srnic0 is on eth0; srnic1 on a macvlan,
a netdev without a PCI parent. Donors as for p2pmem_rules.py."""

import errno
import os
import subprocess
import time
import unittest

from p2pmem_guest import (PAGE, Mapping, attr, available, bind, bound,
                          log_mark, log_since, main, opened, read, set_attr,
                          statistic, unbind, wait_for)
from p2pmem_ioctl import alloc, export
from p2pmem_rules import LEVELS, NETWORK_CARD, clients, donors

import pyverbs.enums as e
from pyverbs.device import Context
from pyverbs.mr import MR, DmaBufMR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError

ACCESS = e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE
# between eth0 and itself, without end; the server's memory is the donor's
PERFTEST = """
. /srnic/tests/vm/lib/lib.sh
x=$(gid_index srnic0 "$MY_IP") || exit
common=(ib_write_bw -d srnic0 -x "$x" -F -p 19400 -n 100000000)
"${common[@]}" --mmap=/dev/$DONOR >/dev/null 2>&1 &
wait_listen 19400 && "${common[@]}" 127.0.0.1 >/tmp/client 2>&1
status=$?
kill $!
exit $status
"""
# more than are remembered without a hold
MANY = 40
REMEMBERED = 32


def run(command):
    subprocess.run(command, shell=True, check=True)


class SrnicRulesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        run("modprobe srnic && modprobe ib_uverbs && modprobe macvlan &&"
            " ip link add mv0 link eth0 type macvlan && ip link set mv0 up &&"
            " rdma link add srnic0 type srnic netdev eth0 &&"
            " rdma link add srnic1 type srnic netdev mv0")

    @classmethod
    def tearDownClass(cls):
        run("modprobe -r srnic && ip link del mv0")

    def setUp(self):
        (self.near, _), (self.far, _), self.elsewhere = donors()
        self.name, self.map = {}, {}
        for bdf in (self.near, self.far, self.elsewhere):
            self.name[bdf] = bind(bdf)
            fd = opened(self.name[bdf])
            self.map[bdf] = Mapping(fd, 4 * PAGE)
            os.close(fd)

    def tearDown(self):
        for bdf, name in self.name.items():
            self.map[bdf].unmap()
            if bound(bdf):
                self.assertEqual(available(name), int(attr(name, "size")))
                unbind(bdf)

    def error(self, device, bdf):
        """What ibv_reg_mr() on the donor's memory says; 0 for success."""
        context = Context(name=device)
        try:
            pd = PD(context)
            MR(pd, PAGE, ACCESS, address=self.map[bdf].address).close()
            return 0
        except PyverbsRDMAError as err:
            return err.error_code
        finally:
            context.close()

    def test_every_level(self):
        predicted = {
            ("srnic0", self.near): "switch",
            ("srnic0", self.far): "root",
            ("srnic0", self.elsewhere): "any",
            ("srnic1", self.near): "any",
            ("srnic1", self.far): "any",
        }
        for level in LEVELS:
            for (device, donor), distance in predicted.items():
                name = self.name[donor]
                set_attr(name, "level", level)
                allowed = LEVELS.index(distance) <= LEVELS.index(level)
                who = NETWORK_CARD if device == "srnic0" else device
                with self.subTest(level=level, device=device, donor=donor):
                    self.assertEqual(self.error(device, donor),
                                     0 if allowed else errno.EPERM)
                    self.assertEqual(
                        clients(name)[who],
                        (distance, "allowed" if allowed else "refused", 0))

    def test_no_place_says_so(self):
        name = self.name[self.near]
        set_attr(name, "level", "root")
        mark = log_mark("p2pmem test: no place")
        self.assertEqual(self.error("srnic1", self.near), errno.EPERM)
        said = [i for i in log_since(mark) if "refused" in i]
        self.assertEqual(len(said), 1, said)
        self.assertIn("client srnic1 refused: it is below another host bridge,"
                      " or at no place in the PCI tree", said[0])

    def test_a_stricter_level_ends_regions(self):
        name = self.name[self.near]
        context = Context(name="srnic0")
        mr = MR(PD(context), PAGE, ACCESS, address=self.map[self.near].address)
        self.assertEqual(clients(name)[NETWORK_CARD], ("switch", "allowed", 1))
        keys = "/sys/kernel/debug/srnic/srnic0/mpt"
        with open(keys, encoding="ascii") as file:
            text = file.read()
        row = f"{mr.rkey:08x}"
        self.assertIn(row, text)
        set_attr(name, "level", "function")
        with open(keys, encoding="ascii") as file:
            line = [i for i in file if row in i]
        self.assertEqual(len(line), 1, text)
        self.assertIn("revoked", line[0])
        self.assertEqual(statistic(name, "revokes"), 1)
        self.assertEqual(clients(name)[NETWORK_CARD], ("switch", "refused", 0))
        mr.close()
        context.close()

    def test_dmabufs(self):
        """An importer is a client as any other; the buffer outlives it."""
        name = self.name[self.near]
        fd = opened(name)
        region = alloc(fd, PAGE)
        buf = export(region)
        context = Context(name="srnic0")
        pd = PD(context)
        mr = DmaBufMR(pd, PAGE, ACCESS, buf, 0)
        self.assertEqual(clients(name)[NETWORK_CARD], ("switch", "allowed", 1))
        set_attr(name, "level", "function")
        with open("/sys/kernel/debug/srnic/srnic0/mpt", encoding="ascii") as file:
            line = [i for i in file if f"{mr.rkey:08x}" in i]
        self.assertEqual(len(line), 1)
        self.assertIn("revoked", line[0])
        self.assertEqual(clients(name)[NETWORK_CARD], ("switch", "refused", 0))
        with self.assertRaises(PyverbsRDMAError) as caught:
            DmaBufMR(pd, PAGE, ACCESS, buf, 0)
        self.assertEqual(caught.exception.error_code, errno.EPERM)
        set_attr(name, "level", "switch")
        again = DmaBufMR(pd, PAGE, ACCESS, buf, 0)
        self.assertEqual(clients(name)[NETWORK_CARD], ("switch", "allowed", 1))
        for i in (again, mr, context):
            i.close()
        for i in (buf, region, fd):
            os.close(i)
        self.assertEqual(clients(name)[NETWORK_CARD], ("switch", "allowed", 0))

    def test_a_stricter_level_ends_traffic(self):
        name = self.name[self.near]
        with subprocess.Popen(["bash", "-c", PERFTEST],
                              env=dict(os.environ, DONOR=name)) as perftest:
            try:
                self.assertTrue(wait_for(
                    lambda: statistic(name, "bytes_in") > 1 << 20, 60))
                before = time.monotonic()
                set_attr(name, "level", "function")
                moved = statistic(name, "bytes_in")
                self.assertLess(time.monotonic() - before, 5)
                self.assertNotIn(perftest.wait(20), (0, 137))
            finally:
                perftest.kill()
        # IBV_WC_REM_ACCESS_ERR
        self.assertIn("Failed status 10:", read("/tmp/client"))
        # not a byte more since the write of the level has returned
        self.assertEqual(statistic(name, "bytes_in"), moved)
        self.assertTrue(wait_for(lambda: available(name) ==
                                 int(attr(name, "size")) - 4 * PAGE))

    def test_clients_without_end(self):
        """One that asks under ever new names."""
        name = self.name[self.near]
        set_attr(name, "level", "root")
        self.assertEqual(self.error("srnic0", self.near), 0)
        context = Context(name="srnic0")
        mr = MR(PD(context), PAGE, ACCESS, address=self.map[self.near].address)
        was = "srnic1"
        for i in range(MANY):
            now = f"many{i}"
            run(f"rdma dev set {was} name {now}")
            was = now
            # libibverbs knows it by its first name
            self.assertEqual(self.error("srnic1", self.near), errno.EPERM)
        run(f"rdma dev set {was} name srnic1")
        known = clients(name)
        self.assertEqual(known.pop(NETWORK_CARD), ("switch", "allowed", 1))
        self.assertEqual(
            list(known),
            [f"many{i}" for i in reversed(range(MANY - REMEMBERED, MANY))])
        self.assertEqual(statistic(name, "refusals"), MANY)
        mr.close()
        context.close()
        # it came first and is idle now: no room
        self.assertNotIn(NETWORK_CARD, clients(name))
        self.assertEqual(len(clients(name)), REMEMBERED)


if __name__ == "__main__":
    main("p2pmem_bar")
