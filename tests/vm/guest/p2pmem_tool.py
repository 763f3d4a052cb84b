#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The command p2pmem. Donors: bar, bar@root; the first is volatile, the second
persistent."""

import errno
import json
import os
import random
import re
import signal
import subprocess
import unittest

from p2pmem_guest import (CLASS, IVSHMEM, PAGE, PCI, Mapping, attach, attr, available, bind,
                          main, opened, pci_functions, read, statistic, unbind, wait_for,
                          write)
from p2pmem_ioctl import distance

BARS = "/sys/module/p2pmem_bar/parameters/bars"
PERSISTENT = "/sys/module/p2pmem_bar/parameters/persistent"
NAMES = ("function", "switch", "root", "any")


def tool(*args, data=None, env=None):
    """(exit status, standard output, standard error)"""
    done = subprocess.run(["p2pmem", *args], input=data, capture_output=True, check=False,
                          env=env)
    return done.returncode, done.stdout, done.stderr.decode()


class ToolTest(unittest.TestCase):
    def setUp(self):
        self.bdfs = pci_functions(IVSHMEM)
        write(PERSISTENT, "0")
        self.ram = bind(self.bdfs[0])
        write(PERSISTENT, "1")
        self.pmem = bind(self.bdfs[1])
        write(PERSISTENT, "0")
        self.size = int(attr(self.ram, "size"))

    def tearDown(self):
        for name, bdf in zip((self.ram, self.pmem), self.bdfs):
            if os.path.exists(CLASS + name):
                self.assertEqual(available(name), int(attr(name, "size")))
                unbind(bdf)

    def good(self, *args, data=None):
        status, out, err = tool(*args, data=data)
        self.assertEqual((status, err), (0, ""), args)
        return out

    def text(self, *args):
        return self.good(*args).decode()

    def json(self, *args):
        return json.loads(self.good("--json", *args))

    def bad(self, words, *args, data=None, status=1):
        got, out, err = tool(*args, data=data)
        self.assertEqual(got, status, (args, err))
        self.assertEqual(err.count("\n"), 1, err)
        self.assertEqual(out, b"")
        self.assertIn(words, err)

    def place(self, bdf):
        return os.path.realpath(PCI + bdf).removeprefix("/sys/devices/")

    def test_list(self):
        rows = [re.split(r"  +", line) for line in self.text("list").splitlines()]
        self.assertEqual(rows[0], ["DEVICE", "KIND", "SIZE", "AVAILABLE", "PERSISTENT", "DONOR",
                                   "DRIVER", "PLACE"])
        self.assertEqual([i[1:] for i in rows[1:]], [
            ["bar", "16 MiB", "16 MiB", persistent, bdf, "p2pmem_bar", self.place(bdf)]
            for persistent, bdf in zip(("no", "yes"), self.bdfs)])
        m = Mapping(opened(self.ram), PAGE)
        found = {i["device"]: i for i in self.json("list")}
        self.assertEqual(found, {
            name: {"device": name, "kind": "bar", "size": self.size,
                   "available": self.size - (PAGE if name == self.ram else 0),
                   "persistent": name == self.pmem, "donor": bdf, "driver": "p2pmem_bar",
                   "place": self.place(bdf)}
            for name, bdf in zip((self.ram, self.pmem), self.bdfs)})
        m.unmap()

    def test_list_of_nothing(self):
        for bdf in self.bdfs:
            unbind(bdf)
        self.assertEqual(self.json("list"), [])
        self.assertEqual(self.json("watch", "-n", "1"), [])
        self.assertEqual(self.json("tree")["pairs"], [])
        status, out, err = tool("list")
        self.assertEqual((status, out), (0, b""))
        self.assertIn("nobody donates", err)
        self.bad("there is no p2pmem0", "info", "p2pmem0")

    def test_info(self):
        write(CLASS + self.pmem + "/limit_user", "8192")
        info = self.json("info", self.pmem)
        self.assertEqual(info, self.json("info", "/dev/" + self.pmem))
        for key, value in (("device", self.pmem), ("donor", self.bdfs[1]), ("kind", "bar"),
                           ("size", self.size), ("persistent", 1), ("limit_user", 8192),
                           ("available", self.size)):
            self.assertEqual(info[key], value)
        # whatever is in sysfs is shown
        files = [i for i in os.listdir(CLASS + self.pmem)
                 if os.path.isfile(CLASS + self.pmem + "/" + i) and i != "uevent"]
        self.assertLessEqual(set(files), set(info))
        lines = dict(i.split(None, 1) for i in self.text("info", self.pmem).splitlines()
                     if len(i.split()) > 1)
        self.assertEqual((lines["size"], lines["limit_user"]), (str(self.size), "8192"))

    def flat(self, node, parent):
        for child in node["children"]:
            yield child["function"], parent, child
            yield from self.flat(child, child["function"])

    def test_tree(self):
        tree = self.json("tree")
        nodes = [i for root in tree["roots"] for i in self.flat(root, root["root"])]
        self.assertEqual({n[0]: n[1] for n in nodes},
                         {bdf: self.place(bdf).split("/")[-2] for bdf in os.listdir(PCI)})
        self.assertEqual({n[0]: n[2]["devices"] for n in nodes if n[2]["devices"]},
                         dict(zip(self.bdfs, ([self.ram], [self.pmem]))))
        self.assertIn("eth0", {n[2]["role"] for n in nodes})
        # each pair as the kernel says it
        clients = {n[0] for n in nodes if n[2]["driver"] and n[2]["class"] != "bridge"}
        self.assertEqual({(i["device"], i["client"]) for i in tree["pairs"]},
                         {(d, c) for d in (self.ram, self.pmem) for c in clients})
        for pair in tree["pairs"]:
            fd = opened(pair["device"])
            number, links = distance(fd, pair["client"])
            os.close(fd)
            self.assertEqual((pair["distance"], pair["links"]), (NAMES[number], links))
            self.assertEqual(pair["allowed"],
                             number <= NAMES.index(pair["level"]))
        text = self.text("tree")
        for bdf, name in zip(self.bdfs, (self.ram, self.pmem)):
            self.assertRegex(text, rf"{bdf} memory, p2pmem_bar \[donor {name}, 16 MiB bar\]")
        self.assertEqual(len(re.findall(r" (?:yes|no)\n", text)), len(tree["pairs"]))

    def test_tree_of_two_devices_of_a_function(self):
        unbind(self.bdfs[0])
        bdf = self.bdfs[0]
        write(BARS, f"{bdf}:2@0+4M,{bdf}:2@4M+2M")
        try:
            names = attach("p2pmem_bar", bdf)
            self.assertEqual(len(names), 2)
            nodes = [i for root in self.json("tree")["roots"]
                     for i in self.flat(root, root["root"])]
            self.assertEqual([n[2]["devices"] for n in nodes if n[0] == bdf], [names])
            self.assertIn(f"{bdf} memory, p2pmem_bar [donor {names[0]}, 4 MiB bar] "
                          f"[donor {names[1]}, 2 MiB bar]\n", self.text("tree"))
        finally:
            write(BARS, "\n")

    def test_alloc_for_a_command(self):
        script = """
            set -e
            [ "$(p2pmem --json list | grep -o '"available": [0-9]*' | head -n 1)" = \
              "\\"available\\": $1" ]
            grep -q 'p2pmem-name:.a name' /proc/self/fdinfo/$P2PMEM_FD
            printf 'some bytes' | p2pmem write - 4093
            p2pmem read - 4093 10
            p2pmem read - 8190 2 | od -An -tx1
            exit 7"""
        status, out, err = tool("alloc", self.ram, "8K", "--name", "a name", "--", "sh", "-c",
                                script, "sh", str(self.size - 2 * PAGE))
        self.assertEqual((status, out, err), (7, b"some bytes 00 00\n", ""))
        self.assertEqual(available(self.ram), self.size)
        # rounded up; by a signal; not found
        self.assertEqual(tool("alloc", self.ram, "1", "--", "sh", "-c", "kill -9 $$")[0], 137)
        status, out, _ = tool("--json", "alloc", self.ram, "1", "--", "true")
        self.assertEqual(json.loads(out), {"device": self.ram, "size": PAGE, "place": 0,
                                           "name": ""})
        status, out, err = tool("alloc", self.ram, "1", "--", "/none")
        self.assertEqual((status, err), (127, "p2pmem: /none: No such file or directory\n"))

    def test_alloc_until_a_signal(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with subprocess.Popen(["p2pmem", "alloc", self.ram, "0x100000"],
                                  stdout=subprocess.PIPE) as p:
                self.assertEqual(p.stdout.readline().decode(),
                                 f"{self.ram}: 1 MiB at 0, until it is interrupted\n")
                self.assertEqual(available(self.ram), self.size - (1 << 20))
                p.send_signal(number)
                self.assertEqual(p.wait(10), 0)
            self.assertEqual(available(self.ram), self.size)

    def test_alloc_as_a_dmabuf(self):
        out = self.text("alloc", self.ram, "16K", "--dmabuf", "--", "sh", "-c",
                        "readlink /proc/self/fd/$P2PMEM_FD")
        self.assertIn("dmabuf", out)

    def test_alloc_of_a_place(self):
        self.good("write", self.pmem, str(3 * PAGE), data=b"at three")
        out = self.good("alloc", self.pmem, "4K", "--offset", "12K", "--", "p2pmem", "read",
                        "-", "0", "8")
        self.assertEqual(out, b"at three")

    def test_alloc_refused(self):
        self.bad("1 GiB refused: no such piece is free", "alloc", self.ram, "1G")
        self.bad("no size", "alloc", self.ram, "big")
        self.bad("no size", "alloc", self.ram, "0")
        self.bad("no size", "alloc", self.ram, "16777216T")
        self.bad("is volatile", "alloc", self.ram, "4K", "--offset", "4K")
        self.bad("has no 8192 bytes at 16380K", "alloc", self.pmem, "8K", "--offset", "16380K")
        self.bad("in steps of 4096", "alloc", self.pmem, "8K", "--offset", "1")
        self.bad("31 characters", "alloc", self.ram, "4K", "--name", "n" * 32)
        write(CLASS + self.ram + "/limit_user", "4096")
        self.bad("limit", "alloc", self.ram, "8K")

    def test_bytes_of_a_persistent_device(self):
        rnd = random.Random(3)
        oracle = bytearray(self.good("read", self.pmem, "0", str(self.size)))
        for offset, length in ((0, 1), (1, 7), (4095, 2), (5000, 4096), ((1 << 20) - 3, 6),
                               (1234567, (2 << 20) + 1), (self.size - 5, 5), (777, 0)):
            data = rnd.randbytes(length)
            self.good("write", self.pmem, str(offset), data=data)
            oracle[offset:offset + length] = data
            self.assertEqual(self.good("read", self.pmem, str(offset), str(length)), data)
        self.assertEqual(self.good("read", self.pmem, "0", str(self.size)), bytes(oracle))
        self.assertEqual(json.loads(self.good("--json", "write", self.pmem, "2M", data=b"12345")),
                         {"offset": 2 << 20, "written": 5, "durable": True})

    def test_bytes_refused(self):
        self.bad("has 16777216 bytes", "read", self.pmem, "16M", "1")
        self.bad("has 16777216 bytes", "read", self.pmem, "1", str((1 << 64) - 1))
        self.bad("has 16777216 bytes", "write", self.pmem, "17M", data=b"x")
        self.bad("the first 0 bytes are written", "write", self.pmem, str(self.size - 1),
                 data=b"xy")
        for args in (("read", self.ram, "0", "1"), ("write", self.ram, "0"), ("flush", self.ram)):
            self.bad("is volatile", *args)
        self.bad("'p2pmem alloc'", "read", "-", "0", "1")
        for value in ("no", "1", "999"):
            status, _, err = tool("read", "-", "0", "1", env={**os.environ, "P2PMEM_FD": value})
            self.assertEqual((status, err.count("\n")), (1, 1), err)
        for value in (" -1", "+1", "", "x", "0x", "K", "1KK", str(1 << 64), "16777216T"):
            self.bad("no offset", "read", self.pmem, value, "1")
        self.bad("no length", "read", self.pmem, "1", "1X")
        # nobody's octal
        self.good("write", self.pmem, "0100", data=b"at 100")
        self.assertEqual(self.good("read", self.pmem, "0x64", "6"), b"at 100")

    def test_flush(self):
        for args in ((), ("4K",), ("1", "1"), ("0", "16M"), ("16M", "0"), ("16M",)):
            self.good("flush", self.pmem, *args)
        self.assertEqual(self.json("flush", self.pmem, "4K"),
                         {"offset": 4096, "flushed": self.size - 4096})
        self.bad("has 16777216 bytes", "flush", self.pmem, "1", "16M")
        status, _, err = tool("alloc", self.ram, "4K", "--", "p2pmem", "flush", "-")
        self.assertEqual((status, err), (
            1, f"p2pmem: region at 0 of {self.ram}: not flushed: it is volatile, nothing makes "
               "its bytes durable\n"))

    def test_watch(self):
        m = Mapping(opened(self.ram), self.size // 2)
        self.assertEqual(self.text("watch", self.ram, "-n", "2", "-i", "0").splitlines(),
                         [f"{self.ram:<10} [{'#' * 10:<20}]      8 MiB of 16 MiB"] * 2)
        looks = [json.loads(i) for i in self.text("--json", "watch", "-n", "2").splitlines()]
        self.assertEqual([[(d["device"], d["used"]) for d in i] for i in looks],
                         [[(self.ram, self.size // 2), (self.pmem, 0)]] * 2)
        m.unmap()
        m = Mapping(opened(self.ram), PAGE)
        self.assertIn(f"[{'#':<20}]", self.text("watch", self.ram, "-n", "1"))
        m.unmap()
        # what happens between two looks
        with subprocess.Popen(["p2pmem", "watch", "-i", "1", self.ram], text=True,
                              stdout=subprocess.PIPE) as p:
            p.stdout.readline()
            Mapping(opened(self.ram), PAGE).unmap()
            Mapping(opened(self.ram), PAGE).unmap()
            grown = 0
            # a look may come between the two
            for _ in range(10):
                found = re.search(r" allocations \+(\d+)", p.stdout.readline())
                grown += int(found[1]) if found else 0
                if grown >= 2:
                    break
            p.kill()
        self.assertEqual(grown, 2)
        look = json.loads(self.text("--json", "watch", self.ram, "-n", "1"))[0]
        self.assertEqual(look["statistics"]["allocations"], statistic(self.ram, "allocations"))

    def test_the_donor_goes(self):
        with subprocess.Popen(["p2pmem", "alloc", self.ram, "8K", "--", "sh", "-c",
                               "echo; read x; p2pmem read - 0 1"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
            p.stdout.readline()
            unbind(self.bdfs[0])
            _, err = p.communicate(b"\n")
            self.assertEqual(p.returncode, 1)
            self.assertRegex(err.decode(), r"^p2pmem: .*the donor has gone\n$")
        # in the middle of a write
        with subprocess.Popen(["p2pmem", "write", self.pmem, "0"], stdin=subprocess.PIPE,
                              stderr=subprocess.PIPE) as p:
            p.stdin.write(bytes(3 << 20))
            p.stdin.flush()
            unbind(self.bdfs[1])
            try:
                _, err = p.communicate(bytes(1 << 20))
            except BrokenPipeError:
                err = p.stderr.read()
            self.assertEqual(p.returncode, 1)
            self.assertEqual(err.decode().count("\n"), 1, err)

    def test_usage(self):
        for args in ((), ("list", "x"), ("info",), ("alloc", self.ram), ("read", self.pmem),
                     ("list", "--name", "x"), ("list", "--", "true"), ("list", "-n", "1"),
                     ("nothing",), ("--nothing",), ("watch", "-n")):
            status, out, err = tool(*args)
            self.assertEqual((status, out), (2, b""), args)
            self.assertTrue(err)
        self.assertIn("p2pmem [--json] tree", self.text("--help"))
        for name in ("sda", "p2pmem", "p2pmem99", "p2pmem0/../p2pmem0", "../p2pmem0",
                     "p2pmem99999999999"):
            self.assertEqual(tool("info", name)[0], 1)
        self.bad("no count", "watch", "-n", "x")

    def test_full_output(self):
        with open("/dev/full", "wb") as full:
            for args in (("list",), ("--json", "tree"), ("read", self.pmem, "0", "1")):
                done = subprocess.run(["p2pmem", *args], stdout=full, stderr=subprocess.PIPE,
                                      check=False)
                self.assertEqual(done.returncode, 1)
                self.assertIn(b"standard output", done.stderr)

    def test_no_right(self):
        os.chmod("/dev/" + self.pmem, 0o600)
        status, _, err = tool("alloc", self.ram, "4K", "--", "setpriv", "--reuid=65534",
                              "--clear-groups", "p2pmem", "read", self.pmem, "0", "1")
        self.assertEqual((status, err), (1, f"p2pmem: /dev/{self.pmem}: "
                                            f"{os.strerror(errno.EACCES)}\n"))
        status, out, err = tool("alloc", self.ram, "4K", "--", "setpriv", "--reuid=65534",
                                "--clear-groups", "p2pmem", "--json", "tree")
        self.assertEqual((status, out, err.count("\n")), (1, b"", 1))
        self.assertTrue(wait_for(lambda: read(CLASS + self.ram + "/available") ==
                                 str(self.size)))


if __name__ == "__main__":
    main("p2pmem_bar")
