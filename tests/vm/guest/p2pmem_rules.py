#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Levels, verdicts, the list of clients; by way of p2pmem_taker, which asks on
behalf of any PCI function. Donors: two bars below eth0's switch, two on root
ports of their own, one below another host bridge."""

import errno
import os
import threading
import unittest

from p2pmem_guest import (CLASS, IVSHMEM, PAGE, PCI, Mapping, Taker, attr,
                          available, bind, bound, log_mark, log_since, main,
                          opened, pci_functions, port_above, read, set_attr,
                          statistic, unbind, write)

PARAMETER = "/sys/module/p2pmem/parameters/level"
ROOT_PORT = ("0x1b36", "0x000c")
LEVELS = ["function", "switch", "root", "any"]
NETWORK_CARD = os.path.basename(os.path.dirname(
    os.path.realpath("/sys/class/net/eth0/device")))


def donors():
    """BDFs: (two near ones, two far ones), one elsewhere."""
    near, far, elsewhere = [], [], []
    for bdf in pci_functions(IVSHMEM):
        if not os.path.realpath(PCI + bdf).startswith("/sys/devices/pci0000:00/"):
            elsewhere.append(bdf)
        elif port_above(bdf) == ROOT_PORT:
            far.append(bdf)
        else:
            near.append(bdf)
    return near, far, elsewhere[0]


def clients(name):
    """{client: (distance, verdict, holds)}, as sysfs has them."""
    lines = [line.split() for line in attr(name, "clients").splitlines()]
    return {line[0]: (line[1], line[2], int(line[3])) for line in lines}


class AllDonors(unittest.TestCase):
    """Bound for one test; nothing may be left of it."""

    def setUp(self):
        (self.near, self.near2), (self.far, self.far2), self.elsewhere = donors()
        self.name = {bdf: bind(bdf) for bdf in pci_functions(IVSHMEM)}
        self.taker = Taker()
        self.maps = []

    def tearDown(self):
        self.taker.close()
        for m in self.maps:
            m.unmap()
        for bdf, name in self.name.items():
            if bound(bdf):
                self.assertEqual(available(name), int(attr(name, "size")))
                unbind(bdf)

    def mapping(self, bdf, pages=1):
        fd = opened(self.name[bdf])
        m = Mapping(fd, pages * PAGE)
        os.close(fd)
        self.maps.append(m)
        return m


class RulesTest(AllDonors):
    def may(self, m, client):
        """Does it get a hold?"""
        self.taker.client(client)
        try:
            h = self.taker.hold(m.address, PAGE)
        except PermissionError as e:
            self.assertEqual(e.errno, errno.EPERM)
            return False
        self.assertIsNotNone(h)
        self.taker.put(h)
        return True

    def test_every_level_and_place(self):
        # the root port, the switch's two ports above it, the donor
        upstream, downstream = os.path.realpath(PCI + self.near).split("/")[-3:-1]
        integrated = "0000:00:1f.0"
        self.assertTrue(os.path.exists(PCI + integrated))
        predicted = {
            (self.near, self.near): "function",
            (self.near, NETWORK_CARD): "switch",
            (self.near, self.near2): "switch",
            (self.near, downstream): "switch",
            # nothing above both but the root port
            (self.near, upstream): "root",
            (self.near, self.far): "root",
            (self.near, integrated): "root",
            (self.near, self.elsewhere): "any",
            (self.near, "-"): "any",
            (self.far, self.far): "function",
            (self.far, NETWORK_CARD): "root",
            (self.far, self.far2): "root",
            (self.far, integrated): "root",
            (self.far, "-"): "any",
            (self.elsewhere, self.elsewhere): "function",
            (self.elsewhere, self.near): "any",
            (self.elsewhere, NETWORK_CARD): "any",
            (self.elsewhere, integrated): "any",
            (self.elsewhere, "-"): "any",
        }
        m = {bdf: self.mapping(bdf)
             for bdf in (self.near, self.far, self.elsewhere)}
        refused = dict.fromkeys(m, 0)
        for level in LEVELS:
            for bdf in m:
                set_attr(self.name[bdf], "level", level)
                self.assertEqual(attr(self.name[bdf], "level"), level)
            for (donor, client), distance in predicted.items():
                allowed = LEVELS.index(distance) <= LEVELS.index(level)
                with self.subTest(level=level, donor=donor, client=client):
                    self.assertEqual(self.may(m[donor], client), allowed)
                    refused[donor] += not allowed
                    self.assertEqual(
                        clients(self.name[donor])[client],
                        (distance, "allowed" if allowed else "refused", 0))
        for bdf in m:
            self.assertEqual(statistic(self.name[bdf], "refusals"), refused[bdf])
            self.assertEqual(
                set(clients(self.name[bdf])),
                {client for donor, client in predicted if donor == bdf})

    def test_levels_are_checked(self):
        name = self.name[self.near]
        for text in ("\n", "none", "switch root", "anyone", "\0any", "x" * 4000):
            for path in (CLASS + name + "/level", PARAMETER):
                with self.subTest(text=text[:20], path=path):
                    with self.assertRaises(OSError) as e:
                        write(path, text)
                    self.assertEqual(e.exception.errno, errno.EINVAL)
                    self.assertEqual(read(path), "any")

    def test_default_level(self):
        write(PARAMETER, "switch")
        self.addCleanup(write, PARAMETER, "any")
        self.assertEqual(read(PARAMETER), "switch")
        self.assertEqual(attr(self.name[self.near], "level"), "any")
        unbind(self.near)
        self.name[self.near] = bind(self.near)
        self.assertEqual(attr(self.name[self.near], "level"), "switch")
        m = self.mapping(self.near)
        self.assertTrue(self.may(m, NETWORK_CARD))
        self.assertFalse(self.may(m, self.far))

    def test_the_way_out(self):
        name = self.name[self.far]
        set_attr(name, "level", "switch")
        m = self.mapping(self.far)
        mark = log_mark("p2pmem test: way out")
        for _ in range(5):
            self.assertFalse(self.may(m, NETWORK_CARD))
        said = [i for i in log_since(mark) if "refused" in i]
        self.assertEqual(len(said), 1, said)
        self.assertIn(f"{name}: client {NETWORK_CARD} refused: it is below the"
                      " same host bridge", said[0])
        command = said[0].split("to allow it: ")[1]
        self.assertEqual(os.system(command), 0)
        self.assertTrue(self.may(m, NETWORK_CARD))
        # another level, another refusal
        set_attr(name, "level", "function")
        self.assertFalse(self.may(m, NETWORK_CARD))
        self.assertEqual(
            len([i for i in log_since(mark) if "refused" in i]), 2)

    def revoked(self, h):
        with self.assertRaises(OSError) as e:
            self.taker.read(h, 0)
        self.assertEqual(e.exception.errno, errno.EIO)

    def test_a_stricter_level_revokes(self):
        name = self.name[self.near]
        m = self.mapping(self.near, 4)
        held = {}
        for client in (self.near, NETWORK_CARD, self.far, "-"):
            self.taker.client(client)
            held[client] = [self.taker.hold(m.address + i * PAGE, PAGE)
                            for i in range(3)]
        self.assertEqual(clients(name)[NETWORK_CARD], ("switch", "allowed", 3))
        before = self.taker.revokes()
        revoked = 0
        for level, gone in (("root", "-"), ("switch", self.far),
                            ("function", NETWORK_CARD)):
            set_attr(name, "level", level)
            revoked += 3
            self.assertEqual(self.taker.revokes() - before, revoked)
            self.assertEqual(statistic(name, "revokes"), revoked)
            self.assertEqual(clients(name)[gone][1:], ("refused", 0))
            for h in held[gone]:
                self.revoked(h)
        # a revoked hold stays so, and the others have not noticed
        set_attr(name, "level", "any")
        self.revoked(held["-"][0])
        for i, h in enumerate(held[self.near]):
            self.taker.write(h, 0, 40 + i)
            self.assertEqual(m[i * PAGE:i * PAGE + 1], bytes([40 + i]))
        self.assertEqual(clients(name)[self.near], ("function", "allowed", 3))
        self.assertTrue(self.may(m, "-"))
        for holds in held.values():
            for h in holds:
                self.taker.put(h)
        self.assertEqual(clients(name)[self.near], ("function", "allowed", 0))
        self.assertEqual(statistic(name, "revokes"), revoked)

    def test_the_write_is_a_barrier(self):
        """Holds are taken and given back all the time; when the write of a
        level returns, no client that it refuses has one."""
        name = self.name[self.near]
        m = self.mapping(self.near)
        stop = threading.Event()
        taken = [0, 0]

        def work(i):
            taker = Taker()
            taker.client(NETWORK_CARD)
            while not stop.is_set():
                try:
                    h = taker.hold(m.address, PAGE, revoke_ms=i)
                except PermissionError:
                    continue
                taken[i] += 1
                taker.put(h)
            taker.close()

        threads = [threading.Thread(target=work, args=(i,)) for i in (0, 1)]
        for t in threads:
            t.start()
        try:
            for _ in range(100):
                set_attr(name, "level", "function")
                seen = clients(name).get(NETWORK_CARD)
                self.assertTrue(seen is None or seen[1:] == ("refused", 0), seen)
                before = list(taken)
                set_attr(name, "level", "any")
                while taken == before:
                    pass
        finally:
            stop.set()
            for t in threads:
                t.join()
        self.assertGreater(statistic(name, "refusals"), 0)
        self.assertEqual(clients(name)[NETWORK_CARD], ("switch", "allowed", 0))

    def test_two_writers(self):
        """Each returns only when what it refuses has been revoked, if it was
        the other one who began."""
        name = self.name[self.near]
        m = self.mapping(self.near)
        self.taker.client(NETWORK_CARD)
        h = self.taker.hold(m.address, PAGE, revoke_ms=300)
        slow = threading.Thread(target=set_attr, args=(name, "level", "function"))
        slow.start()
        while attr(name, "level") != "function":
            pass
        set_attr(name, "level", "function")
        self.revoked(h)
        slow.join()
        self.taker.put(h)

    @unittest.skipUnless(os.path.exists("/sys/power/state"), "this kernel never sleeps")
    def test_beside_an_outage(self):
        """The same if it is an outage that revokes."""
        name = self.name[self.near]
        m = self.mapping(self.near)
        self.taker.client(NETWORK_CARD)
        h = self.taker.hold(m.address, PAGE, revoke_ms=1000)
        other = Taker()
        slow = threading.Thread(target=other.suspend, args=(self.near,))
        slow.start()
        while clients(name)[NETWORK_CARD][2]:
            pass
        set_attr(name, "level", "function")
        self.revoked(h)
        slow.join()
        other.resume(self.near)
        other.close()
        self.taker.put(h)

    def test_client_is_unplugged(self):
        """What it has stays in the list, and can be given back."""
        name = self.name[self.near]
        m = self.mapping(self.near)
        self.taker.client(self.near2)
        h = self.taker.hold(m.address, PAGE)
        del self.name[self.near2]
        write(PCI + self.near2 + "/remove", "1")
        self.assertEqual(clients(name)[self.near2], ("switch", "allowed", 1))
        set_attr(name, "level", "function")
        self.assertEqual(clients(name)[self.near2], ("switch", "refused", 0))
        self.taker.put(h)
        self.taker.client("-")
        write("/sys/bus/pci/rescan", "1")
        self.name[self.near2] = bind(self.near2)
        self.taker.client(self.near2)
        set_attr(name, "level", "any")
        h = self.taker.hold(m.address, PAGE)
        self.assertEqual(clients(name)[self.near2], ("switch", "allowed", 1))
        self.taker.put(h)


if __name__ == "__main__":
    main("p2pmem_bar", "p2pmem_taker")
