#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""p2pmem_find(), p2pmem_alloc() and the scatterlist, by way of p2pmem_taker.
Donors as for p2pmem_rules.py."""

import errno
import threading
import time

from p2pmem_guest import (PAGE, attr, available, bar_address, bind, main, p2pdma, set_attr,
                          statistic, unbind, write)
from p2pmem_rules import NETWORK_CARD, AllDonors, clients

PERSISTENT = "/sys/module/p2pmem_bar/parameters/persistent"
WORD = 0x1122334455667788


class FindTest(AllDonors):
    def setUp(self):
        super().setUp()
        self.size = int(attr(self.name[self.near], "size"))

    def finds(self, bdf, *clients_, size=0):
        self.assertEqual(self.taker.find(*clients_, size=size),
                         self.name.get(bdf))

    def fails(self, code, call, *args, **kw):
        with self.assertRaises(OSError) as e:
            call(*args, **kw)
        self.assertEqual(e.exception.errno, code)

    def lowest(self, *bdfs):
        return min(bdfs, key=lambda b: int(self.name[b][len("p2pmem"):]))

    def test_nearest(self):
        self.finds(self.near, self.near)
        self.finds(self.far, self.far)
        self.finds(self.far2, self.far2)
        self.finds(self.elsewhere, self.elsewhere)
        # the farthest client counts: all are as far, the lowest number wins
        self.finds(self.lowest(*self.name), self.near, self.far)
        self.finds(self.near, self.near, self.near)
        self.finds(self.lowest(self.near, self.near2), NETWORK_CARD)
        self.finds(self.lowest(self.near, self.near2), self.near, self.near2)
        self.finds(self.lowest(*self.name))

    def test_most_available(self):
        first, second = sorted([self.near, self.near2],
                               key=lambda b: int(self.name[b][6:]))
        m = self.mapping(first, 1)
        self.finds(second, NETWORK_CARD)
        self.mapping(second, 2)
        self.finds(first, NETWORK_CARD)
        self.assertEqual(len(m[0:1]), 1)
        # near, but too little: then a far one
        self.finds(self.lowest(self.far, self.far2), NETWORK_CARD,
                   size=self.size)
        self.finds(None, NETWORK_CARD, size=self.size + 1)

    def test_level_and_persistence(self):
        for bdf in self.name:
            set_attr(self.name[bdf], "level", "function")
        self.finds(None, NETWORK_CARD)
        self.finds(self.far, self.far)
        self.finds(None, self.far, self.near)
        set_attr(self.name[self.far2], "level", "root")
        self.finds(self.far2, NETWORK_CARD, self.near)
        # a client that there is not has no place, whoever else is asked for
        self.finds(None, "-")
        self.finds(None, "-", self.near)
        self.finds(None, self.near, "-")
        unbind(self.far2)
        write(PERSISTENT, "1")
        self.addCleanup(write, PERSISTENT, "0")
        self.name[self.far2] = bind(self.far2)
        self.finds(None, self.far2)

    def test_alloc(self):
        m = self.mapping(self.near, 64)
        m.put(0, b"\xff" * 64 * PAGE)
        self.maps.pop().unmap()
        name = self.taker.find(self.near)
        before = statistic(name, "allocations")
        h = self.taker.alloc(3 * PAGE + 8)
        self.assertEqual(available(name), self.size - 4 * PAGE)
        self.assertEqual(statistic(name, "allocations"), before + 1)
        self.assertEqual(clients(name)[self.near], ("function", "allowed", 1))
        for offset in range(0, 3 * PAGE + 8, 8):
            self.assertEqual(self.taker.read(h, offset), 0)
        for offset in (0, PAGE - 8, PAGE, 3 * PAGE):
            self.taker.write(h, offset, WORD + offset)
        for offset in (0, PAGE - 8, PAGE, 3 * PAGE):
            self.assertEqual(self.taker.sgt(h, offset), WORD + offset)
        self.fails(errno.ENOMEM, self.taker.alloc, self.size)
        self.fails(errno.ENOMEM, self.taker.alloc, (1 << 64) - 1)
        self.fails(errno.EINVAL, self.taker.alloc, 0)
        self.assertEqual(statistic(name, "full"), 2)
        self.taker.put(h)
        self.assertEqual(available(name), self.size)

    def test_scatterlist_of_a_part(self):
        m = self.mapping(self.near, 4)
        h = self.taker.hold(m.address + PAGE + 16, PAGE + 24)
        m.put(2 * PAGE + 16, WORD.to_bytes(8, "little"))
        self.assertEqual(self.taker.sgt(h, PAGE), WORD)
        self.taker.put(h)

    def test_scatterlist_for_dma(self):
        """dma_map_sgtable() of it gives bus addresses of the BAR: to who can reach it."""
        m = self.mapping(self.near, 4)
        place = bar_address(self.near) + m.place() + PAGE + 16
        for client in (self.near, self.near2, self.far, self.elsewhere):
            self.taker.client(client)
            h = self.taker.hold(m.address + PAGE + 16, PAGE + 24)
            if p2pdma(self.near) and client in (self.far, self.elsewhere):
                self.fails(errno.EREMOTEIO, self.taker.dma, h)
            else:
                self.assertEqual(self.taker.dma(h), (place, PAGE + 24, 1))
                self.fails(errno.EBUSY, self.taker.dma, h)
            self.taker.put(h)
        # unmapped in the callback, the donor goes at once
        self.taker.client(self.near2)
        h = self.taker.hold(m.address, PAGE)
        self.taker.dma(h)
        unbind(self.near)
        self.fails(errno.EIO, self.taker.dma, h)
        self.taker.put(h)

    def test_alloc_refused(self):
        name = self.taker.find(NETWORK_CARD)
        set_attr(name, "level", "function")
        self.fails(errno.EPERM, self.taker.alloc, PAGE)
        self.assertEqual(available(name), self.size)

    def test_alloc_for_several(self):
        """The one that is farthest speaks for all."""
        for n, others in enumerate(((NETWORK_CARD, self.near),
                                    (self.near, NETWORK_CARD))):
            name = self.taker.find(self.near, *others, self.near)
            set_attr(name, "level", "any")
            h = self.taker.alloc(PAGE)
            self.assertEqual(clients(name),
                             {NETWORK_CARD: ("switch", "allowed", 1)})
            set_attr(name, "level", "function")
            self.fails(errno.EIO, self.taker.read, h, 0)
            self.assertEqual(statistic(name, "revokes"), n + 1)
            self.taker.put(h)
            set_attr(name, "level", "any")
        # nobody in particular: allowed where anybody is
        name = self.taker.find()
        self.taker.put(self.taker.alloc(PAGE))
        self.assertEqual(clients(name)["-"], ("any", "allowed", 0))
        set_attr(name, "level", "root")
        self.fails(errno.EPERM, self.taker.alloc, PAGE)
        self.assertNotEqual(self.taker.find(), name)

    def test_the_donor_goes(self):
        self.taker.find(self.near)
        h = self.taker.alloc(PAGE, revoke_ms=200)
        other = self.taker.alloc(PAGE)
        before = self.taker.revokes()
        t = threading.Thread(target=unbind, args=(self.near,))
        t.start()
        while self.taker.revokes() == before:
            time.sleep(0.01)
        t.join()
        self.assertEqual(self.taker.revokes(), before + 2)
        self.fails(errno.EIO, self.taker.read, h, 0)
        self.fails(errno.EIO, self.taker.sgt, other, 0)
        # what was found is a name without memory now
        self.fails(errno.ENODEV, self.taker.alloc, PAGE)
        self.taker.put(h)
        self.taker.put(other)
        self.assertNotEqual(self.taker.find(self.near), self.name[self.near])


if __name__ == "__main__":
    main("p2pmem_bar", "p2pmem_taker")
