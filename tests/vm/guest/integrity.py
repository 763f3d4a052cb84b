#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Is the data right? What must be refused, is it? TAP on stdout.

    integrity.py --serve DEV IP [options]      on host b
    integrity.py DEV IP PEER [options]         on host a; PEER: for control

Every test is one story about two nodes. All buffers are random, both ends are
compared as a whole, the bytes around the target included.
"""

import argparse
import errno
import os
import random
import sys
import time
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
# pylint: disable=wrong-import-position
from layout import Layout  # noqa: E402
from rdmanode import (ATOMIC, LOCAL, PAGE, PORT, READ, WRITE, Node, NodeError,  # noqa: E402
                      Remote, pair, serve, unpair)
import roce  # noqa: E402

MASK64 = (1 << 64) - 1
MTU_BYTES = {1: 256, 2: 512, 3: 1024, 4: 2048, 5: 4096}
NETEM = "delay 500us"
# seconds after which a call counts as hung, on a busy machine; tests/perf has figures
HUNG = 20


class Failed(Exception):
    """An expectation that didn't come true."""


def expect(true, text):
    if not true:
        raise Failed(text)


def same(what, got, wanted):
    """Compare two byte strings; say where they differ."""
    if got == wanted:
        return
    at = next((i for i, (g, w) in enumerate(zip(got, wanted)) if g != w), len(wanted))
    bad = sum(g != w for g, w in zip(got, wanted))
    raise Failed(f"{what}: {bad} bytes differ, the first at {at} of {len(wanted)}: "
                 f"{got[at:at + 8].hex()} instead of {wanted[at:at + 8].hex()}")


def good(wcs, count, what):
    """All completions are there and successful."""
    expect(len(wcs) == count, f"{what}: {len(wcs)} of {count} completions")
    bad = [wc for wc in wcs if wc["status"] != "SUCCESS"]
    expect(not bad, f"{what}: {bad[:1]}")


class Suite:
    """The tests, and the two nodes they are about."""

    def __init__(self, a, b, options):
        self.a, self.b, self.options = a, b, options
        self.rng = random.Random(options.seed)
        self.mtu = MTU_BYTES[min(a.info()["mtu"], b.info()["mtu"])]
        self.srnic = a.info()["dev"].startswith("srnic")
        self.serial = 0

    def name(self):
        """A name that no object had before."""
        self.serial += 1
        return f"n{self.serial}"

    def buffer(self, node, size, **reg):
        """A random, registered memory: (name, address, lkey, rkey, content)."""
        name, data = self.name(), self.rng.randbytes(size)
        node.mem(name, -(-size // PAGE) * PAGE)
        node.fill(name, data)
        addr, lkey, rkey = node.reg(name, name, length=size, **reg)
        return name, addr, lkey, rkey, data

    def release(self, node, name):
        node.dereg(name)
        node.unmap(name)

    # one message, checked from end to end

    def transfer(self, qp, here, there, op, size):
        rng = self.rng
        mine = Layout(rng, size, rng.randrange(1, 5))
        theirs = Layout(rng, size, rng.randrange(1, 5) if "SEND" in op else 1)
        name1, addr1, lkey1, _, data1 = self.buffer(here, mine.total)
        name2, addr2, lkey2, rkey2, data2 = self.buffer(there, theirs.total)
        imm = rng.getrandbits(32) if "IMM" in op else 0
        what = f"{op} of {size} bytes"
        if "SEND" in op or "IMM" in op:
            there.recv(qp, theirs.sges(addr2, lkey2) if "SEND" in op
                       else [(addr2, 0, lkey2)], 77)
        here.post(qp, op, mine.sges(addr1, lkey1), imm=imm, wr_id=size,
                  addr=addr2 + theirs.parts[0][0], rkey=rkey2)
        good(here.sent(qp), 1, what)
        if "SEND" in op or "IMM" in op:
            wcs = there.received(qp)
            good(wcs, 1, what + ", received")
            expect(wcs[0]["id"] == 77 and wcs[0]["len"] == size and
                   (not imm or wcs[0]["imm"] == imm) and
                   bool(wcs[0]["flags"] & 2) == ("IMM" in op),
                   f"{what}: completion says {wcs[0]}")
        if op == "READ":
            data1 = mine.scatter(data1, theirs.gather(data2))
        else:
            data2 = theirs.scatter(data2, mine.gather(data1))
        same(what + ", at the initiator", here.look(name1, len(data1)), data1)
        same(what + ", at the responder", there.look(name2, len(data2)), data2)
        self.release(here, name1)
        self.release(there, name2)

    def data(self, here, there, op, mtu=0):
        """{op} {way}: random data, unaligned, up to 4 SGEs, exact at both ends"""
        size = MTU_BYTES.get(mtu, self.mtu)
        sizes = [0, 1, 3, 4, size - 1, size, size + 1, 2 * size, 5 * size + 3,
                 (1 << 20) + 7]
        qp = self.name()
        pair(here, there, qp, mtu=mtu)
        for size in sizes:
            self.transfer(qp, here, there, op, size)
        unpair(here, there, qp)

    # atomics

    def fetch_add(self, here, there, per_qp=48):
        """fetch-and-add from 8 QPs at once {way}: sum and every old value exact"""
        name, addr, _, rkey, data = self.buffer(there, 64)
        start = int.from_bytes(data[8:16], "little")
        qps, posts, adds, results = [], [], {}, []
        for _ in range(8):
            qp, local = self.name(), self.buffer(here, 8 * per_qp)
            pair(here, there, qp)
            qps.append((qp, local[0]))
            for i in range(per_qp):
                adds[qp, i] = self.rng.getrandbits(63)
                posts.append(((qp, "ADD", [(local[1] + 8 * i, 8, local[2])]),
                              {"addr": addr + 8, "rkey": rkey, "wr_id": i,
                               "add": adds[qp, i]}))
        self.rng.shuffle(posts)
        here.burst(posts)
        for qp, wcs in here.drain([qp for qp, _ in qps], per_qp).items():
            good(wcs, per_qp, "fetch-and-add")
        for qp, local in qps:
            old = here.look(local, 8 * per_qp)
            results += [(int.from_bytes(old[8 * i:8 * i + 8], "little"), adds[qp, i])
                        for i in range(per_qp)]
        total = (start + sum(adds.values())) & MASK64
        wanted = data[:8] + total.to_bytes(8, "little") + data[16:]
        same("the sum", there.look(name, 64), wanted)
        # executed once, one after the other: the old values form one chain
        steps, at = dict(results), start
        expect(len(steps) == len(results), "two of them saw the same old value")
        for _ in results:
            expect(at in steps, f"nobody saw {at:#x}")
            at = (at + steps[at]) & MASK64
        for qp, local in qps:
            unpair(here, there, qp)
            self.release(here, local)
        self.release(there, name)

    def compare_swap(self, here, there, rounds=40):
        """compare-and-swap from 8 QPs at once {way}: each step taken by exactly one"""
        name, addr, _, rkey, _ = self.buffer(there, 64)
        there.fill(name, bytes(64))
        qps, posts = [], []
        for _ in range(8):
            qp, local = self.name(), self.buffer(here, 8 * rounds)
            pair(here, there, qp)
            qps.append((qp, local[0]))
            posts.append([((qp, "CAS", [(local[1] + 8 * i, 8, local[2])]),
                           {"addr": addr, "rkey": rkey, "wr_id": i, "add": i,
                            "swap": i + 1}) for i in range(rounds)])
        here.burst([post for step in zip(*posts) for post in step])
        for qp, wcs in here.drain([qp for qp, _ in qps], rounds).items():
            good(wcs, rounds, "compare-and-swap")
        winners = [0] * rounds
        for qp, local in qps:
            old = here.look(local, 8 * rounds)
            for i in range(rounds):
                winners[i] += int.from_bytes(old[8 * i:8 * i + 8], "little") == i
            unpair(here, there, qp)
            self.release(here, local)
        same("the last value", there.look(name, 16), rounds.to_bytes(16, "little"))
        expect(winners == [1] * rounds, f"steps were taken {winners} times")
        self.release(there, name)

    # a network that loses, doubles and reorders

    def stream(self, here, there, count=200, depth=32):
        """SENDs {way}: every message once and in order, {count} of mixed size"""
        qp, top = self.name(), 3 * self.mtu + 64
        name1, addr1, lkey1, _, data1 = self.buffer(here, top * 2)
        name2, addr2, lkey2, _, _ = self.buffer(there, top * depth)
        pair(here, there, qp, depth=depth * 2)
        plan = [(self.rng.randrange(top), self.rng.choice((0, 1, 5, self.mtu,
                 self.rng.randrange(3 * self.mtu)))) for _ in range(count)]
        for i in range(depth):
            there.recv(qp, [(addr2 + top * i, top, lkey2)], i)
        done = 0
        while done < count:
            batch = plan[done:done + depth]
            here.burst([((qp, "SEND_IMM", [(addr1 + at, size, lkey1)]),
                         {"imm": done + i, "wr_id": done + i})
                        for i, (at, size) in enumerate(batch)])
            wcs = there.received(qp, len(batch), 60)
            good(wcs, len(batch), f"messages from {done}")
            good(here.sent(qp, len(batch), 60), len(batch), "their sender")
            for i, (wc, (at, size)) in enumerate(zip(wcs, batch)):
                expect(wc["imm"] == done + i and wc["len"] == size,
                       f"message {done + i} of {size} bytes became {wc}")
                same(f"message {done + i}",
                     there.look(name2, size, top * (wc["id"] % depth)),
                     data1[at:at + size])
                there.recv(qp, [(addr2 + top * (wc["id"] % depth), top, lkey2)],
                           wc["id"])
            done += len(batch)
        expect(not there.received(qp, 1, 0.1), "one message too many")
        unpair(here, there, qp)
        self.release(here, name1)
        self.release(there, name2)

    def lossy(self, here, there, percent):
        """{percent} % lost, doubled, reordered each: SEND, WRITE, READ, atomics {way}"""
        netem = (f"tc qdisc add dev {self.options.netdev} root netem {NETEM} "
                 f"loss {percent}% duplicate {percent}% reorder {100 - percent}%")
        for node in (here, there):
            status, text = node.shell(f"modprobe -q sch_netem; {netem}")
            expect(not status, text)
        before = there.counters()
        try:
            # of what 1 % makes in one round, a kind may be missing
            for _ in range(10):
                self.all_kinds(here, there)
                missing = self.not_met(here, there, before)
                if not missing:
                    break
            expect(not missing, f"never met: {missing}")
        finally:
            for node in (here, there):
                node.shell(f"tc qdisc del dev {self.options.netdev} root")

    def all_kinds(self, here, there):
        """Some of each operation; every byte is right."""
        self.stream(here, there, count=96)
        qp = self.name()
        pair(here, there, qp)
        for op in ("WRITE", "READ", "SEND", "WRITE_IMM"):
            for size in (1, self.mtu + 1, 40 * self.mtu + 7):
                self.transfer(qp, here, there, op, size)
        unpair(here, there, qp)
        self.fetch_add(here, there, per_qp=12)

    def not_met(self, here, there, before):
        """What of the troubles neither netem nor the responder has seen."""
        missing = [f"a loss of the {name}'s"
                   for name, node in (("requester", here), ("responder", there))
                   if "dropped 0" in node.shell(
                       f"tc -s qdisc show dev {self.options.netdev}")[1]]
        if self.srnic:
            after = there.counters()
            missing += [key for key in ("duplicate_request", "out_of_seq_request")
                        if after[key] == before[key]]
        return missing

    # refusals

    def refusal(self, here, there, qp, op, sges, addr, rkey, counters=(), imm=0):
        """One request that must end as a remote access error, traceless."""
        before = there.counters()
        here.post(qp, op, sges, addr=addr, rkey=rkey, imm=imm, add=1, swap=2)
        wcs = here.sent(qp)
        expect(len(wcs) == 1 and wcs[0]["status"] == "REM_ACCESS_ERR",
               f"{op} ended as {wcs[0]['status'] if wcs else 'nothing at all'}")
        if counters and self.srnic:
            after = there.counters()
            moved = {key: after[key] - before.get(key, 0) for key in after
                     if key.startswith("key_") and after[key] != before.get(key)}
            expect(set(moved) <= set(counters) and list(moved.values()) == [1],
                   f"counters that moved: {moved}, wanted: one of {counters}, by 1")

    def refused(self, here, there, make, counters, ops=("WRITE", "READ", "ADD")):
        """make(addr, rkey, size) gives the (addr, rkey, size) of a bad request,
        and, if that is memory of its own, its (name, length)."""
        for op in ops:
            size = 8 if op in ("ADD", "CAS") else 3 * self.mtu + 5
            name1, addr1, lkey1, _, data1 = self.buffer(here, 4 * PAGE)
            name2, addr2, _, rkey2, data2 = self.buffer(there, 8 * PAGE)
            inner = self.name()
            addr, _, rkey = there.reg(inner, name2, offset=PAGE, length=size)
            qp = self.name()
            pair(here, there, qp)
            addr, rkey, length, *target = make(addr, rkey, size)
            target = target or (name2, len(data2))
            before = there.look(*target)
            self.refusal(here, there, qp, op, [(addr1, length, lkey1)], addr,
                         rkey, counters)
            same(f"the target of {op}", there.look(*target), before)
            same(f"the memory near {op}", there.look(name2, len(data2)), data2)
            same(f"the source of {op}", here.look(name1, len(data1)), data1)
            unpair(here, there, qp)
            there.dereg(inner)
            self.release(here, name1)
            self.release(there, name2)
            del addr2, rkey2

    def bad_rkey(self, here, there):
        """an rkey that was never given out is refused {way}"""
        self.refused(here, there, lambda addr, rkey, size:
                     (addr, rkey ^ 1 << self.rng.randrange(32), size),
                     ("key_unknown", "key_stale"))

    def stale_rkey(self, here, there):
        """the rkey of an ended registration is refused {way}, after reuse too"""
        def make(addr, rkey, size):
            del addr, rkey
            name = self.name()
            there.mem(name, 4 * PAGE)
            addr, _, old = there.reg(name, name)
            there.dereg(name)
            for _ in range(40):
                again = self.name()
                _, _, new = there.reg(again, name)
                there.dereg(again)
                expect(new != old, "a key came back at once")
            return addr, old, size, name, 4 * PAGE
        self.refused(here, there, make, ("key_stale",))

    def other_pd(self, here, there):
        """the rkey of another protection domain is refused {way}"""
        there.pd("other")

        def make(addr, rkey, size):
            del addr, rkey
            name = self.name()
            there.mem(name, 8 * PAGE)
            addr, _, rkey = there.reg(name, name, pd="other")
            return addr, rkey, size, name, 8 * PAGE
        self.refused(here, there, make, ("key_pd",))

    def bounds(self, here, there):
        """out of bounds is refused {way}: a byte below, above, 64-bit wrap"""
        below = lambda addr, rkey, size: (addr - 1, rkey, size)		# noqa: E731
        above = lambda addr, rkey, size: (addr + 1, rkey, size)		# noqa: E731
        longer = lambda addr, rkey, size: (addr, rkey, size + 1)	# noqa: E731
        wrap = lambda addr, rkey, size: (MASK64 - 3, rkey, size)	# noqa: E731
        far = lambda addr, rkey, size: (addr + (1 << 40), rkey, size)	# noqa: E731
        for make in (below, above, longer, wrap, far):
            self.refused(here, there, make, ("key_bounds",), ("WRITE", "READ"))
        # atomics need 8-byte alignment, so the nearest are 8 off
        for step in (-8, 8):
            self.refused(here, there, lambda addr, rkey, size, step=step:
                         (addr + step, rkey, size), ("key_bounds",), ("ADD",))

    def access(self, here, there):
        """a missing access right is refused {way}: write, read, atomic"""
        for op, rights in (("WRITE", LOCAL | READ | ATOMIC),
                           ("WRITE_IMM", LOCAL | READ | ATOMIC),
                           ("READ", LOCAL | WRITE | ATOMIC),
                           ("ADD", LOCAL | WRITE | READ),
                           ("CAS", LOCAL | WRITE | READ)):
            def make(addr, rkey, size, rights=rights):
                del addr, rkey
                name = self.name()
                there.mem(name, 8 * PAGE)
                addr, _, rkey = there.reg(name, name, access=rights)
                return addr, rkey, size, name, 8 * PAGE
            self.refused(here, there, make, ("key_access",), (op,))

    def local_keys(self, here, there):
        """a wrong lkey ends as a local protection error {way}, nothing is sent"""
        name1, addr1, lkey1, _, _ = self.buffer(here, 2 * PAGE)
        name2, addr2, _, rkey2, data2 = self.buffer(there, 2 * PAGE)
        ro = self.name()
        _, ro_lkey, _ = here.reg(ro, name1, access=READ)
        for op, sge in (("WRITE", (addr1, 100, lkey1 ^ 0x10000)),
                        ("WRITE", (addr1 + 2 * PAGE - 99, 100, lkey1)),
                        ("READ", (addr1, 100, ro_lkey)),
                        ("SEND", (addr1 - 1, 100, lkey1))):
            qp = self.name()
            pair(here, there, qp)
            here.post(qp, op, [sge], addr=addr2, rkey=rkey2)
            wcs = here.sent(qp)
            expect(wcs and wcs[0]["status"] == "LOC_PROT_ERR", f"{op}: {wcs}")
            unpair(here, there, qp)
        same("the target", there.look(name2, len(data2)), data2)
        here.dereg(ro)
        self.release(here, name1)
        self.release(there, name2)

    # the end of a registration

    def dereg_under_fire(self, here, there):
        """dereg during WRITEs and READs {way}: quick, refused, no byte later"""
        for op in ("WRITE", "READ"):
            size, count = 4 << 20, 30	# a second or more
            name1, addr1, lkey1, _, _ = self.buffer(here, size)
            name2, addr2, _, rkey2, _ = self.buffer(there, size)
            qp = self.name()
            pair(here, there, qp)
            here.burst([((qp, op, [(addr1, size, lkey1)]),
                         {"addr": addr2, "rkey": rkey2, "wr_id": i})
                        for i in range(count)])
            expect(len(here.sent(qp, 1)) == 1, "no transfer finished")
            took = there.dereg(name2)
            then = there.look(name2)
            wcs = here.sent(qp, count - 1)
            bad = [wc["status"] for wc in wcs if wc["status"] != "SUCCESS"]
            expect(bad and bad[0] == "REM_ACCESS_ERR" and
                   set(bad[1:]) <= {"WR_FLUSH_ERR"}, f"{op} ended as {bad}")
            expect(took < HUNG, f"dereg took {took} s")
            time.sleep(0.2)
            same(f"the memory some time after dereg under {op}", there.look(name2), then)
            unpair(here, there, qp)
            self.release(here, name1)
            there.unmap(name2)

    def dereg_local(self, here, there):
        """dereg of the initiator's buffer during WRITEs {way}: local error, quick"""
        size, count = 4 << 20, 20
        name1, addr1, lkey1, _, _ = self.buffer(here, size)
        name2, addr2, _, rkey2, _ = self.buffer(there, size)
        qp = self.name()
        pair(here, there, qp)
        here.burst([((qp, "WRITE", [(addr1, size, lkey1)]),
                     {"addr": addr2, "rkey": rkey2}) for i in range(count)])
        took = here.dereg(name1)
        wcs = here.sent(qp, count)
        bad = [wc["status"] for wc in wcs if wc["status"] != "SUCCESS"]
        expect(len(wcs) == count and bad and bad[0] == "LOC_PROT_ERR" and
               set(bad[1:]) <= {"WR_FLUSH_ERR"}, f"they ended as {bad}")
        expect(took < HUNG, f"dereg took {took} s")
        unpair(here, there, qp)
        here.unmap(name1)
        self.release(there, name2)

    def silent_peer(self, here, there):
        """a peer that stops after WRITE FIRST {way}: dereg is quick, the rest refused"""
        ghost = {"qpn": 0xabcde, "psn": 1000, "ip": here.info()["ip"]}
        name, addr, _, rkey, data = self.buffer(there, 8 * self.mtu)
        qp = self.name()
        mine = there.qp(qp)
        there.connect(qp, mine, ghost, there.info()["mtu"])
        here.raw(there.info()["ip"])
        try:
            self._silent_peer(here, there, mine, ghost, (name, addr, rkey, data))
        finally:
            here.raw(None)
        there.destroy(qp)
        there.unmap(name)

    def _silent_peer(self, here, there, mine, ghost, target):
        name, addr, rkey, data = target
        qpn, psn, mtu = mine["qpn"], ghost["psn"], self.mtu
        first, second = self.rng.randbytes(mtu), self.rng.randbytes(mtu)
        begin = (roce.bth(roce.WRITE_FIRST, qpn, psn) +
                 roce.reth(addr, rkey, 8 * mtu) + first)
        here.raw_send(begin, spoil=True)
        time.sleep(0.2)
        same("after a packet with a wrong ICRC", there.look(name, len(data)), data)
        here.raw_send(begin)
        end = time.monotonic() + 5
        while there.look(name, mtu) != first:
            expect(time.monotonic() < end, "WRITE FIRST was not executed")
        took = there.dereg(name)
        expect(took < HUNG, f"dereg took {took} s")
        here.raw_send(roce.bth(roce.WRITE_MIDDLE, qpn, psn + 1, ack=True) + second)
        answer = here.raw_receive(ghost["qpn"], 5)
        expect(answer and answer[0] == roce.ACKNOWLEDGE and
               answer[2][0] == roce.NAK_REMOTE_ACCESS and answer[1] == psn + 1,
               f"the next packet was answered by {answer}")
        same("the memory", there.look(name, len(data)), first + data[mtu:])

    def munmap(self, here, there):
        """a registered region survives munmap {way}"""
        name, addr, _, rkey, data = self.buffer(there, 4 * PAGE)
        local, addr1, lkey1, _, _ = self.buffer(here, 4 * PAGE)
        there.unmap(name)
        qp = self.name()
        pair(here, there, qp)
        # what others get now must not be the same pages
        other = self.name()
        there.mem(other, 64 * PAGE)
        there.fill(other, b"\xa5" * 64 * PAGE)
        here.post(qp, "READ", [(addr1, 4 * PAGE, lkey1)], addr=addr, rkey=rkey)
        good(here.sent(qp), 1, "READ after munmap")
        same("what was there before munmap", here.look(local, 4 * PAGE), data)
        fresh = self.rng.randbytes(4 * PAGE)
        here.fill(local, fresh)
        here.post(qp, "WRITE", [(addr1, 4 * PAGE, lkey1)], addr=addr, rkey=rkey)
        here.fill(local, fresh)
        good(here.sent(qp), 1, "WRITE after munmap")
        here.fill(local, bytes(4 * PAGE))
        here.post(qp, "READ", [(addr1, 4 * PAGE, lkey1)], addr=addr, rkey=rkey)
        good(here.sent(qp), 1, "READ back")
        same("what was written after munmap", here.look(local, 4 * PAGE), fresh)
        same("somebody else's memory", there.look(other), b"\xa5" * 64 * PAGE)
        unpair(here, there, qp)
        there.dereg(name)
        there.unmap(other)
        self.release(here, local)


    def pool(self, here, there):
        """p2pmem {way}: memory goes back at dereg, not at munmap, and comes back zeroed"""
        path = self.options.p2pmem
        whole = there.available(path)
        there.place(path)
        try:
            self._pool(here, there, path, whole)
        finally:
            there.place(None)

    def _pool(self, here, there, path, whole):
        name, addr, _, rkey, data = self.buffer(there, 1 << 20)
        there.unmap(name)
        local, addr1, lkey1, _, _ = self.buffer(here, 1 << 20)
        expect(there.available(path) == whole - (1 << 20),
               f"available after munmap: {there.available(path)} of {whole}")
        rest = self.name()
        there.mem(rest, whole - (1 << 20))
        there.fill(rest, b"\xa5" * (whole - (1 << 20)))
        self.no_room(there)
        qp = self.name()
        pair(here, there, qp)
        here.post(qp, "READ", [(addr1, 1 << 20, lkey1)], addr=addr, rkey=rkey)
        good(here.sent(qp), 1, "READ")
        same("what was there before munmap", here.look(local), data)
        there.dereg(name)
        self.wait_available(there, 1 << 20)
        there.mem(name, 1 << 20)
        same("the next one's memory", there.look(name), bytes(1 << 20))
        there.unmap(name)
        there.unmap(rest)
        self.wait_available(there, whole)
        unpair(here, there, qp)
        self.release(here, local)

    def no_room(self, node):
        """The pool is used up: a clear refusal."""
        try:
            node.mem(self.name(), PAGE)
        except (NodeError, OSError) as error:
            expect(error.errno == errno.ENOMEM, f"an empty pool says {error}")
            return
        raise Failed("an empty pool gave memory")

    def wait_available(self, node, wanted):
        end = time.monotonic() + 2
        while node.available(self.options.p2pmem) != wanted:
            expect(time.monotonic() < end, "available: "
                   f"{node.available(self.options.p2pmem)}, wanted: {wanted}")
            time.sleep(0.02)

    def killed(self, here, there):
        """kill -9 of a program in the middle of traffic {way}: errors, nothing leaks"""
        path = self.options.p2pmem
        port = 7900 + self.serial % 1000
        there.shell(f"setsid {os.path.abspath(__file__)} --serve --port {port} "
                    f"{'--path ' + path if path else ''} "
                    f"{there.info()['dev']} {there.info()['ip']} "
                    ">/dev/null 2>&1 </dev/null &")
        victim = Remote("127.0.0.1" if there is self.a else self.options.peer, port)
        whole = there.available(path) if path else 0
        size, count = 8 << 20, 40	# seconds
        name1, addr1, lkey1, _, _ = self.buffer(here, size)
        name2, addr2, _, rkey2, _ = self.buffer(victim, size)
        if path:
            expect(there.available(path) == whole - size, "nothing was taken")
        qp = self.name()
        pair(here, victim, qp)
        here.burst([((qp, "READ" if i & 1 else "WRITE", [(addr1, size, lkey1)]),
                     {"addr": addr2, "rkey": rkey2}) for i in range(count)])
        pid = victim.pid()
        good(here.sent(qp, 1), 1, "the first")
        there.shell(f"kill -9 {pid}")
        wcs = here.sent(qp, count - 1, 20)
        bad = [wc["status"] for wc in wcs if wc["status"] != "SUCCESS"]
        expect(len(wcs) == count - 1 and bad and set(bad[1:]) <= {"WR_FLUSH_ERR"} and
               bad[0] in ("RETRY_EXC_ERR", "REM_ACCESS_ERR", "REM_OP_ERR"),
               f"{len(wcs)} of {count - 1} completions, errors: {bad}")
        if path:
            self.wait_available(there, whole)
        here.destroy(qp)
        self.release(here, name1)
        del name2


def on_p2pmem(suite):
    """Tests once more, with the memory of a PCIe device at one or both ends."""
    def at(test, ends):
        def moved(here, there, **args):
            nodes = [{"initiator": here, "responder": there}[end] for end in ends]
            for node in nodes:
                node.place(suite.options.p2pmem)
            whole = [node.available(suite.options.p2pmem) for node in nodes]
            try:
                test(here, there, **args)
                for node, size in zip(nodes, whole):
                    suite.wait_available(node, size)
            finally:
                for node in nodes:
                    node.place(None)
        moved.__doc__ = f"p2pmem ({' and '.join(ends)}): {test.__doc__}"
        moved.__name__ = "p2pmem"
        return moved
    plan = [(at(suite.data, ends), {"op": op})
            for ends in (("responder",), ("initiator",), ("initiator", "responder"))
            for op in ("SEND_IMM", "WRITE", "READ")]
    plan += [(at(test, ("responder",)), {}) for test in (
        suite.fetch_add, suite.compare_swap, suite.bounds, suite.silent_peer,
        suite.dereg_under_fire, suite.munmap)]
    return plan


def run(suite, wanted):
    """All tests, both ways."""
    plan = [(suite.data, {"op": op}) for op in
            ("SEND", "SEND_IMM", "WRITE", "WRITE_IMM", "READ")]
    plan += [(suite.data, {"op": op, "mtu": 3}) for op in ("SEND", "WRITE", "READ")]
    plan += [(getattr(suite, name), {}) for name in (
        "fetch_add", "compare_swap", "stream", "bad_rkey", "stale_rkey",
        "other_pd", "bounds", "access", "local_keys", "dereg_under_fire",
        "dereg_local", "silent_peer", "munmap")]
    plan += [(suite.lossy, {"percent": percent}) for percent in (1, 10)]
    plan += [(suite.killed, {})]
    if suite.options.p2pmem:
        plan += [(suite.pool, {})] + on_p2pmem(suite)
    return on_both(suite, plan, wanted)


def on_both(suite, plan, wanted):
    """Run a plan, or what is wanted of it, both ways; TAP. Returns what failed."""
    both = ((suite.a, suite.b, "a->b"), (suite.b, suite.a, "b->a"))
    both = both[:1] if suite.options.one_way else both
    number = failed = 0
    for test, args in plan:
        if wanted and test.__name__ not in wanted:
            continue
        for here, there, way in both:
            number += 1
            text = test.__doc__.replace("{count}", "200").format(way=way, **args)
            if "mtu" in args:
                text += f", path MTU {MTU_BYTES[args['mtu']]}"
            start, verdict, trace = time.monotonic(), "ok", ""
            try:
                test(here, there, **args)
            except Exception as error:	# pylint: disable=broad-except
                verdict, trace = "not ok", f"{type(error).__name__}: {error}"
                if not isinstance(error, Failed):
                    trace += "\n" + traceback.format_exc()
                failed += 1
            print(f"{verdict} {number} - {text}", flush=True)
            print(f"# {time.monotonic() - start:.1f} s", flush=True)
            for line in trace.splitlines():
                print(f"# {line}", flush=True)
    print(f"1..{number}", flush=True)
    return failed


def main(suite_of=Suite, run_all=run, **numbers):
    """numbers: further options, with what they are where not given."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dev")
    parser.add_argument("ip")
    parser.add_argument("peer", nargs="?", help="the other host's address for control")
    parser.add_argument("--serve", action="store_true")
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument("--path", help="take memory from this file from the start")
    parser.add_argument("--p2pmem", help="a /dev/p2pmemN that both hosts have")
    parser.add_argument("--netdev", default="eth0")
    parser.add_argument("--seed", type=int, default=os.environ.get("SEED"))
    parser.add_argument("--test", action="append", help="only these")
    parser.add_argument("--one-way", action="store_true", help="for a host with itself")
    for name, value in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args()
    node = Node(options.dev, options.ip, options.path)
    if options.serve:
        serve(node, options.port)
        return 0
    if options.seed is None:
        options.seed = int.from_bytes(os.urandom(4), "big")
    print(f"# seed {options.seed}", flush=True)
    try:
        peer = Remote(options.peer)
    except (OSError, NodeError) as error:
        print(f"Bail out! no peer at {options.peer}: {error}")
        return 1
    return 1 if run_all(suite_of(node, peer, options), options.test) else 0


if __name__ == "__main__":
    sys.exit(main())
