#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Keys that are changed, narrowed and killed while a peer uses them. TAP on stdout.

    integrity.py --serve DEV IP        on host b
    keys.py DEV IP PEER [options]      on host a; PEER: for control
"""

import errno
import os
import sys
import time

from pyverbs.pyverbs_error import PyverbsRDMAError

from integrity import HUNG, Failed, Suite, expect, good, main, on_both, same
from rdmanode import (ALL, ATOMIC, BIND, LOCAL, PAGE, READ, WRITE, ZERO_BASED, NodeError,
                      pair, unpair)

RIGHT = {"WRITE": WRITE, "READ": READ, "ADD": ATOMIC}
# how a key can end, and what is said of it then; of one that is going: both
ENDS = {"unbind": ("state",), "invalidate": ("state",), "send_inv": ("state",),
        "dealloc": ("state", "stale"), "dereg": ("state", "stale"), "rights": ("access",),
        "pd": ("pd",), "revoke": ("revoked",)}
SHOTS = 20		# tries to end a key in the middle of something
# what udmabuf of Linux 6.12 says is there isn't (drivers/srnic/dmabuf.c)
WRONG_PAGES = errno.EOPNOTSUPP if os.uname().release.startswith("6.12.") else 0
MTU_256 = 1		# so small that a message takes more than one turn of its requester


def busy(what, call, *args, **kwargs):
    """A call that has to fail because windows are bound."""
    try:
        call(*args, **kwargs)
    except NodeError as error:
        code = error.errno
    except PyverbsRDMAError as error:
        code = error.error_code
    else:
        raise Failed(f"{what}: done, though a window is bound")
    expect(code == errno.EBUSY, f"{what}: error {code}")


class Keys(Suite):
    """The tests."""

    def window(self, node, qp, kind, *, size=8 * PAGE, access=WRITE | READ | ATOMIC,
               at=PAGE, length=2 * PAGE):
        """A region, and a window of it: (names, base address, key, content)."""
        region, addr, _, _, data = self.buffer(node, size, access=ALL | BIND)
        window = self.name()
        node.mw(window, kind)
        wcs, key = node.bind(qp, window, region, addr + at, length, access)
        good(wcs, 1, f"bind of type {kind}")
        return region, window, addr + at, key, data

    def two_pairs(self, here, there):
        """QPs between the same two: their names."""
        names = self.name(), self.name()
        for name in names:
            pair(here, there, name)
        return names

    def one(self, here, qp, op, sge, addr, key):
        """A request that must succeed."""
        here.post(qp, op, [sge], addr=addr, rkey=key, add=1)
        good(here.sent(qp), 1, op)

    def use(self, here, there):
        """windows of type 1 and 2 {way}: data of the region, zero-based or not"""
        for kind in (1, 2):
            for zero in (0, ZERO_BASED):
                qp = self.name()
                pair(here, there, qp)
                mine, addr1, lkey, _, data1 = self.buffer(here, 2 * PAGE)
                region, window, base, key, data2 = self.window(
                    there, qp, kind, access=WRITE | READ | ATOMIC | zero)
                base = 0 if zero else base
                self.one(here, qp, "READ", (addr1, 2 * PAGE, lkey), base, key)
                same("READ", here.look(mine, 2 * PAGE), data2[PAGE:3 * PAGE])
                here.fill(mine, data1)
                self.one(here, qp, "WRITE", (addr1 + 1, 77, lkey), base + 8, key)
                wanted = data2[:PAGE + 8] + data1[1:78] + data2[PAGE + 85:]
                same("WRITE", there.look(region, len(wanted)), wanted)
                self.one(here, qp, "ADD", (addr1, 8, lkey), base + 2 * PAGE - 8, key)
                same("atomic", here.look(mine, 8), wanted[3 * PAGE - 8:3 * PAGE])
                there.mw_close(window)
                unpair(here, there, qp)
                self.release(here, mine)
                self.release(there, region)

    def outside(self, here, there):
        """windows {way}: a byte below and above, a missing right, another QP: refused"""
        for kind in (1, 2):
            for op in ("WRITE", "READ", "ADD"):
                size = 8 if op == "ADD" else self.mtu + 5
                step = 8 if op == "ADD" else 1
                tries = [(-step, ALL, "key_bounds", False), (step, ALL, "key_bounds", False),
                         (0, ALL & ~RIGHT[op] & ~LOCAL, "key_access", False)]
                if kind == 2:
                    tries.append((0, ALL, "key_qp", True))
                for off, access, counter, other in tries:
                    qp = self.name()
                    pair(here, there, qp)
                    binder = qp
                    if other:
                        binder = self.name()
                        pair(here, there, binder)
                    mine, addr1, lkey, _, _ = self.buffer(here, 2 * PAGE)
                    region, window, base, key, data = self.window(
                        there, binder, kind, access=access & ~LOCAL, length=size)
                    self.refusal(here, there, qp, op, [(addr1, size, lkey)], base + off,
                                 key, (counter,))
                    same(f"the region of {op}", there.look(region, len(data)), data)
                    there.mw_close(window)
                    unpair(here, there, qp)
                    if other:
                        unpair(here, there, binder)
                    self.release(here, mine)
                    self.release(there, region)

    def holds(self, here, there):
        """a bound window {way}: its region can't go or change before it"""
        qp = self.name()
        pair(here, there, qp)
        region, window, _, key, data = self.window(there, qp, 2)
        busy("rereg of rights", there.rereg, region, access=LOCAL)
        busy("rereg of memory", there.rereg, region, mem=region)
        busy("dereg", there.dereg, region)
        mine, addr1, lkey, _, _ = self.buffer(here, PAGE)
        base = there.mem_addr(region) + PAGE
        self.one(here, qp, "READ", (addr1, PAGE, lkey), base, key)
        same("the window", here.look(mine, PAGE), data[PAGE:2 * PAGE])
        good(there.invalidate(qp, key)[0], 1, "LOCAL_INV")
        there.mw_close(window)
        unpair(here, there, qp)
        self.release(here, mine)
        self.release(there, region)

    def send_inv(self, here, there):
        """SEND with invalidate {way}: the receiver is told, the window is dead; not by another QP"""
        qp, other = self.two_pairs(here, there)
        mine, addr1, lkey, _, _ = self.buffer(here, PAGE)
        region, window, base, key, _ = self.window(there, qp, 2)
        inbox, addr2, lkey2, _, _ = self.buffer(there, PAGE)
        self.one(here, qp, "WRITE", (addr1, 8, lkey), base, key)
        # a window of type 2 is its QP's
        there.recv(other, [(addr2, PAGE, lkey2)])
        self.refusal(here, there, other, "SEND_INV", [(addr1, 100, lkey)], 0, 0, ("key_qp",),
                     imm=key)
        wcs = there.received(other)
        expect(wcs[0]["status"] == "LOC_PROT_ERR", f"the receive of a bad SEND_INV: {wcs}")
        self.one(here, qp, "WRITE", (addr1, 8, lkey), base, key)
        there.recv(qp, [(addr2, PAGE, lkey2)])
        here.post(qp, "SEND_INV", [(addr1, 100, lkey)], imm=key)
        good(here.sent(qp), 1, "SEND_INV")
        wcs = there.received(qp)
        good(wcs, 1, "its receive")
        expect(wcs[0]["imm"] == key and wcs[0]["flags"] & 8, f"it says {wcs[0]}")
        same("what was sent", there.look(inbox, 100), here.look(mine, 100))
        self.refusal(here, there, qp, "WRITE", [(addr1, 8, lkey)], base, key, ("key_state",))
        there.mw_close(window)
        unpair(here, there, qp)
        unpair(here, there, other)
        self.release(here, mine)
        self.release(there, inbox)
        self.release(there, region)

    def qp_goes(self, here, there):
        """a window of type 2 {way}: dead when the QP goes that has bound it, not the region"""
        qp, binder = self.two_pairs(here, there)
        mine, addr1, lkey, _, _ = self.buffer(here, PAGE)
        region, window, base, key, _ = self.window(there, binder, 2)
        self.one(here, binder, "WRITE", (addr1, 8, lkey), base, key)
        unpair(here, there, binder)
        self.refusal(here, there, qp, "WRITE", [(addr1, 8, lkey)], base, key, ("key_state",))
        # which no window keeps
        self.release(there, region)
        there.mw_close(window)
        unpair(here, there, qp)
        self.release(here, mine)

    def dmabuf(self, here, there):
        """dma-bufs of a program and of a heap {way}: data, bounds, life, refusals"""
        size = 6 * PAGE
        for kind in ("udmabuf", "heap"):
            qp, name, mr = self.name(), self.name(), self.name()
            pair(here, there, qp)
            there.dmabuf(name, kind, size)
            data = self.rng.randbytes(size)
            there.fill(name, data)
            base, _, key = there.reg_dmabuf(mr, name, offset=PAGE + 7, length=3 * PAGE)
            mine, addr1, lkey, _, data1 = self.buffer(here, 4 * PAGE)
            self.one(here, qp, "READ", (addr1, 3 * PAGE, lkey), base, key)
            same(f"READ of a {kind}", here.look(mine, 3 * PAGE), data[PAGE + 7:4 * PAGE + 7])
            here.fill(mine, data1)
            self.one(here, qp, "WRITE", (addr1, PAGE + 9, lkey), base + 5, key)
            data = data[:PAGE + 12] + data1[:PAGE + 9] + data[2 * PAGE + 21:]
            same(f"WRITE to a {kind}", there.look(name), data)
            self.one(here, qp, "ADD", (addr1, 8, lkey), 2 * PAGE, key)
            same(f"atomic on a {kind}", here.look(mine, 8), data[2 * PAGE:2 * PAGE + 8])
            # the program may let go of it
            there.unmap(name)
            self.one(here, qp, "READ", (addr1, 8, lkey), base + 5, key)
            same(f"READ of a {kind} without its file", here.look(mine, 8), data1[:8])
            self.refusal(here, there, qp, "READ", [(addr1, 1, lkey)], base + 3 * PAGE, key,
                         ("key_bounds",))
            unpair(here, there, qp)
            there.dereg(mr)
            self.release(here, mine)
        for row in (("heap", PAGE, ALL, 0, PAGE, 0), ("udmabuf", PAGE, ALL, 1, PAGE, errno.EINVAL),
                    ("heap", PAGE, ALL, PAGE, 1, errno.EINVAL),
                    ("heap", PAGE, ALL, 1 << 63, 1 << 63, errno.EINVAL),
                    ("heap", PAGE, ALL, 0, 0, errno.EINVAL),
                    ("heap", PAGE, WRITE, 0, PAGE, errno.EINVAL),
                    ("read-only", PAGE, READ, 0, PAGE, 0),
                    ("read-only", PAGE, ALL, 0, PAGE, errno.EACCES),
                    ("no dma-buf", PAGE, ALL, 0, PAGE, errno.EINVAL),
                    ("huge", 2 << 20, ALL, 0, 2 << 20, WRONG_PAGES),
                    ("of a huge page", PAGE, READ, 0, PAGE, WRONG_PAGES),
                    ("closed", PAGE, ALL, 0, PAGE, errno.EBADF)):
            code = there.reg_dmabuf_error(*row[:-1])
            expect(code == row[-1], f"{row}: error {code}")

    # the end of a key, in the middle of its use

    def ends(self, here, there, kind, qp, window, region, key):
        """What ends a key of that kind: seconds that it took."""
        start = time.monotonic()
        if kind == "unbind":
            good(there.bind(qp, window, region, 0, 0, 0)[0], 1, "bind of nothing")
        elif kind == "invalidate":
            good(there.invalidate(qp, key)[0], 1, "LOCAL_INV")
        elif kind == "send_inv":
            here.post(qp, "SEND_INV", [], imm=key)
            good(there.received(qp), 1, "SEND_INV")
        elif kind == "dealloc":
            return there.mw_close(window)
        elif kind == "rights":
            return there.rereg(region, access=LOCAL)
        elif kind == "pd":
            return there.rereg(region, pd="other")
        elif kind == "revoke":
            return there.level(self.options.p2pmem, "function")
        else:
            return there.dereg(region)
        return time.monotonic() - start

    def under_fire(self, here, there, end):
        """{end} in the middle of WRITEs, READs and atomics {way}: quick, refused, no byte later"""
        there.pd("other")
        slowest, told = 0, []
        for op in ("WRITE", "READ", "ADD"):
            hits = shots = 0
            while hits < self.options.hits and shots < SHOTS:
                took, hit = self.shot(here, there, end, op)
                slowest, hits, shots = max(slowest, took), hits + hit, shots + 1
            told.append(f"{hits} of {shots} {op}s")
            expect(hits >= self.options.hits, f"in the middle: {', '.join(told)}")
        print(f"# {end}: {slowest * 1000:.1f} ms at the most; in the middle: {', '.join(told)}",
              flush=True)

    def target(self, there, end, qp, size):
        """What will be used until it ends: (region, window, address, key)."""
        if end in ("dereg", "rights", "pd", "revoke"):
            if end == "revoke":
                # by the rules: so what a program has mapped stays, and can be looked at
                there.place(self.options.p2pmem)
                there.level(self.options.p2pmem, "any")
            region, addr, _, key, _ = self.buffer(there, size)
            there.place(None)
            return region, None, addr, key
        kind = 2 if end in ("invalidate", "send_inv") else 1
        return self.window(there, qp, kind, size=size, at=0, length=size)[:4]

    def shot(self, here, there, end, op):
        """One key ends: (seconds, whether in the middle of a message; of a row of atomics)."""
        size, length = (PAGE, 8) if op == "ADD" else (self.options.message,) * 2
        qp, doer = self.name(), self.name()
        pair(here, there, qp, mtu=MTU_256)
        pair(here, there, doer)
        mine, addr1, lkey, _, _ = self.buffer(here, size)
        region, window, addr2, key = self.target(there, end, qp, size)
        if end == "send_inv":
            there.recv(qp, [(addr2, 0, 0)])
        here.stream(qp, op, [(addr1, length, lkey)], addr=addr2, rkey=key, add=1)
        flows = here.stream_flows(qp, 2)
        # a window of type 2 is ended by its own QP
        took = self.ends(here, there, end, qp if window and end != "unbind" else doer, window,
                         region, key)
        pattern = self.rng.randbytes(size)
        there.fill(region, pattern)
        bad = here.stream_end(qp)
        expect(flows and bad and bad[0] == "REM_ACCESS_ERR" and set(bad[1:]) == {"WR_FLUSH_ERR"},
               f"{op} ended as {bad}")
        why, blamed, addr = there.last_refusal()
        expect(blamed == key and why in ENDS[end], f"{op}: key {blamed:#x}, {why}")
        expect(took < HUNG, f"it took {took} s")
        time.sleep(0.2)
        same(f"the memory some time after {end} under {op}", there.look(region, size), pattern)
        if window and end != "dealloc":
            there.mw_close(window)
        unpair(here, there, qp)
        unpair(here, there, doer)
        self.release(here, mine)
        if end == "dereg":
            there.unmap(region)
        else:
            self.release(there, region)
        # how far the message had come; what a peer ends itself ends between two of them
        return took, op == "ADD" or end == "send_inv" or addr > addr2

    def renewed(self, here, there):
        """rereg under WRITEs and READs {way}: none fails, no byte of old memory changes"""
        size, count, rounds = self.options.message // 2, 60, 12
        qp, name, mr = self.name(), self.name(), self.name()
        pair(here, there, qp, mtu=MTU_256)
        mine, addr1, lkey, _, _ = self.buffer(here, size)
        addr2 = there.renewable(name, size)
        _, _, key = there.reg(mr, name)
        here.burst([((qp, "READ" if i % 3 == 2 else "WRITE", [(addr1, size, lkey)]),
                     {"addr": addr2, "rkey": key}) for i in range(count)])
        slowest = max(there.renew(name, mr) for _ in range(rounds))
        wcs = here.sent(qp, count, 60)
        good(wcs, count, "transfers while the region was registered anew")
        expect(there.old_bytes(name) == 0, "memory that had been left was written to")
        expect(slowest < HUNG, f"one took {slowest} s")
        print(f"# {rounds} times, {slowest * 1000:.1f} ms at the most", flush=True)
        unpair(here, there, qp)
        there.dereg(mr)
        there.forget(name)
        self.release(here, mine)


def run(suite, wanted):
    """All tests, both ways."""
    plan = [(getattr(suite, name), {}) for name in
            ("use", "outside", "holds", "send_inv", "qp_goes", "dmabuf", "renewed")]
    plan += [(suite.under_fire, {"end": end}) for end in ENDS
             if end != "revoke" or suite.options.p2pmem]
    return on_both(suite, plan, wanted)


if __name__ == "__main__":
    # hits: ends in the middle of something, of each kind; message: bytes
    sys.exit(main(Keys, run, hits=1, message=512 << 10))
