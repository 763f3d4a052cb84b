#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What a file and a user may have of a donor. Donors: bar, bar."""

import errno
import os
import random
import time

from p2pmem_guest import (CLASS, PAGE, Child, Mapping, Taker, attr, available, bind,
                          fork, log_mark, log_since, main, opened, randomness, reap,
                          unbind, wait_for, write)
from p2pmem_ioctl import alloc, close, export
from p2pmem_take import NOBODY, Taking

LIMITS = "/sys/module/p2pmem/parameters/limit_"


class LimitTest(Taking):
    def limit(self, what, value):
        write(CLASS + self.name + "/limit_" + what, str(value))

    def test_of_a_file(self):
        self.assertEqual(attr(self.name, "limit_file"), "0")
        # ten lines in five seconds are logged: others may have used them up
        time.sleep(5)
        self.limit("file", 8 * PAGE)
        regions = [alloc(self.fd, 4 * PAGE)]
        m = Mapping(self.fd, 3 * PAGE)
        mark = log_mark("p2pmem test: limit")
        self.fails(errno.EDQUOT, alloc, self.fd, 2 * PAGE)
        lines = [i for i in log_since(mark) if "suppressed" not in i]
        self.assertIn("8 KiB refused: file has 28 of the 32 KiB that it may have (limit_file)",
                      lines[0])
        self.fails(errno.EDQUOT, Mapping, self.fd, 2 * PAGE)
        self.fails(errno.EDQUOT, alloc, self.fd, (1 << 64) - PAGE)
        regions.append(alloc(self.fd, PAGE))
        self.fails(errno.EDQUOT, alloc, self.fd, PAGE)
        # another file of the same user
        fd = opened(self.name)
        regions.append(alloc(fd, 8 * PAGE))
        os.close(fd)
        self.used(16 * PAGE)
        m.unmap()
        regions.append(alloc(self.fd, 3 * PAGE))
        self.fails(errno.EDQUOT, Mapping, self.fd, PAGE)
        self.limit("file", 9 * PAGE + 5)
        regions.append(alloc(self.fd, PAGE))
        self.fails(errno.EDQUOT, Mapping, self.fd, PAGE)
        self.limit("file", 0)
        Mapping(self.fd, self.size // 2).unmap()
        close(*regions)

    def test_is_charged_while_the_memory_is_in_use(self):
        """A mapping, a hold, a dma-buf: exact to the page."""
        self.limit("user", 4 * PAGE)
        taker = Taker()
        region = alloc(self.fd, 4 * PAGE)
        m, buf = Mapping(region, PAGE), export(region, PAGE, PAGE)
        h = taker.hold(m.address, PAGE)
        os.close(region)
        for end in (m.unmap, lambda: os.close(buf), lambda: taker.put(h)):
            self.fails(errno.EDQUOT, alloc, self.fd, PAGE)
            end()
        os.close(alloc(self.fd, 4 * PAGE))
        self.fails(errno.EDQUOT, alloc, self.fd, 5 * PAGE)
        taker.close()

    def test_of_a_user(self):
        """Who opened the device is charged, whoever uses it."""
        os.chmod("/dev/" + self.name, 0o666)
        self.limit("user", 8 * PAGE)
        regions = [alloc(self.fd, 5 * PAGE)]
        fd = opened(self.name)
        self.fails(errno.EDQUOT, alloc, fd, 4 * PAGE)
        regions.append(alloc(fd, 3 * PAGE))

        def child():
            os.setresuid(NOBODY, NOBODY, NOBODY)
            # root's file: root is charged
            self.fails(errno.EDQUOT, alloc, fd, PAGE)
            own = opened(self.name)
            kept = alloc(own, 8 * PAGE)
            self.fails(errno.EDQUOT, alloc, own, PAGE)
            self.fails(errno.EDQUOT, alloc, opened(self.name), PAGE)
            os.close(kept)
            os.close(alloc(own, 8 * PAGE))

        self.assertEqual(reap(fork(child)), 0)
        close(*regions, fd)
        os.close(alloc(self.fd, 8 * PAGE))

    def in_namespace(self, maker, inside, mapping):
        """What test_namespaces() says: errno of an allocation of one page by who is
        uid INSIDE of a user namespace that MAKER made; 0 if it can be had."""
        ready, go, answer = os.pipe(), os.pipe(), os.pipe()

        def child():
            os.setresuid(maker, maker, maker)
            os.unshare(os.CLONE_NEWUSER)
            os.write(ready[1], b".")
            os.read(go[0], 1)
            os.setresuid(inside, inside, inside)
            code = 0
            try:
                alloc(opened(self.name), PAGE)
            except OSError as e:
                code = e.errno
            os.write(answer[1], bytes([code]))

        pid = fork(child)
        os.read(ready[0], 1)
        write(f"/proc/{pid}/uid_map", mapping)
        os.write(go[1], b".")
        code = os.read(answer[0], 1)[0]
        self.assertEqual(reap(pid), 0)
        close(*ready, *go, *answer)
        return code

    def test_namespaces(self):
        """A user with a range of uids has one limit; in a container of root's each
        uid has one."""
        os.chmod("/dev/" + self.name, 0o666)
        self.limit("user", PAGE)

        def work(_step):
            os.setresuid(NOBODY, NOBODY, NOBODY)
            work.kept = alloc(opened(self.name), PAGE)

        c = Child(work)
        self.assertTrue(c.step())
        # uid 0 is the maker, 1 to 9 are others
        many = f"0 {NOBODY} 1\n1 100000 9\n"
        self.assertEqual([self.in_namespace(NOBODY, i, many) for i in (0, 1, 9)],
                         [errno.EDQUOT] * 3)
        self.assertEqual(self.in_namespace(0, 1, "0 0 1\n1 100000 9\n"), 0)
        self.assertEqual(self.in_namespace(0, 1, f"0 0 1\n1 {NOBODY} 1\n"), errno.EDQUOT)
        c.kill()
        self.assertTrue(wait_for(lambda: available(self.name) == self.size))
        self.assertEqual(self.in_namespace(NOBODY, 1, many), 0)
        self.assertTrue(wait_for(lambda: available(self.name) == self.size))

    def test_failures_are_not_charged(self):
        self.limit("user", self.size)
        kept = [alloc(self.fd, PAGE) for _ in range(3)]
        os.close(kept.pop(1))
        # within the limit, but not in one piece
        for _ in range(3):
            self.fails(errno.ENOMEM, alloc, self.fd, self.size - 2 * PAGE)
        kept.append(alloc(self.fd, self.size - 3 * PAGE))
        kept.append(alloc(self.fd, PAGE))
        self.fails(errno.EDQUOT, alloc, self.fd, PAGE)
        close(*kept)

    def test_values(self):
        for what in ("file", "user"):
            for value in ("-1", "x", "4095", "1", str(1 << 64)):
                with self.assertRaises(OSError):
                    self.limit(what, value)
            self.limit(what, (1 << 64) - 1)
            self.assertEqual(attr(self.name, "limit_" + what), str((1 << 64) - 1))
            os.close(alloc(self.fd, PAGE))

    def test_default(self):
        self.fails(errno.EINVAL, write, LIMITS + "user", str(PAGE - 1))
        write(LIMITS + "user", str(2 * PAGE))
        os.close(self.fd)
        unbind(self.bdf)
        self.assertEqual(bind(self.bdf), self.name)
        write(LIMITS + "user", "0")
        self.fd = opened(self.name)
        self.assertEqual(attr(self.name, "limit_user"), str(2 * PAGE))
        self.fails(errno.EDQUOT, alloc, self.fd, 3 * PAGE)

    def test_against_an_oracle(self):
        """Regions, mappings and dma-bufs of three files, made and ended in random
        order: each try ends as a naive count says."""
        rnd = random.Random(11)
        most, of_file = 200, 90
        self.limit("user", most * PAGE)
        self.limit("file", of_file * PAGE)
        files = [opened(self.name) for _ in range(3)]
        used, live, refused = [0, 0, 0], [], 0
        for _ in range(1500):
            if live and rnd.random() < 0.5:
                n, pages, ends = live.pop(rnd.randrange(len(live)))
                for end in rnd.sample(ends, len(ends)):
                    end()
                used[n] -= pages
            else:
                n, pages = rnd.randrange(3), rnd.randint(1, 60)
                fits = used[n] + pages <= of_file and sum(used) + pages <= most
                make = self.made_of_file if rnd.random() < 0.3 else self.made_of_region
                if not fits:
                    self.fails(errno.EDQUOT, make, files[n], pages * PAGE, rnd)
                    refused += 1
                    continue
                live.append((n, pages, make(files[n], pages * PAGE, rnd)))
                used[n] += pages
            self.used(sum(used) * PAGE)
        self.assertGreater(refused, 100)
        for _, _, ends in live:
            for end in ends:
                end()
        close(*files)

    def made_of_file(self, fd, size, _rnd):
        """What ends a mapping of the device."""
        return [Mapping(fd, size).unmap]

    def made_of_region(self, fd, size, rnd):
        """What ends a region, with some of what can be made of it."""
        region = alloc(fd, size)
        ends = [lambda: os.close(region)]
        if rnd.random() < 0.5:
            ends.append(Mapping(region, PAGE).unmap)
        if rnd.random() < 0.5:
            buf = export(region)
            ends.append(lambda: os.close(buf))
        return ends

    def test_exact_under_load(self):
        """Many threads and processes at their limit: it is never passed, and
        all of it is there again at the end."""
        self.limit("user", 64 * PAGE)
        stop = time.monotonic() + float(os.environ.get("SECONDS_OF_STRESS", "8")) / 2
        most = []

        def child():
            rnd = randomness()
            kept, fd = [], opened(self.name)
            while time.monotonic() < stop:
                try:
                    kept.append(alloc(fd, PAGE * rnd.randint(1, 24)))
                except OSError as e:
                    if e.errno != errno.EDQUOT:
                        raise
                if len(kept) > 3 or (kept and rnd.random() < 0.5):
                    os.close(kept.pop(rnd.randrange(len(kept))))

        pids = [fork(child) for _ in range(4)]
        while time.monotonic() < stop:
            most.append(self.size - available(self.name))
        self.assertEqual([reap(p) for p in pids], [0] * 4)
        self.assertLessEqual(max(most), 64 * PAGE)
        self.assertGreater(max(most), 32 * PAGE)
        os.close(alloc(self.fd, 64 * PAGE))
        self.fails(errno.EDQUOT, alloc, self.fd, 65 * PAGE)


if __name__ == "__main__":
    main("p2pmem_bar", "p2pmem_taker")
