# SPDX-License-Identifier: GPL-2.0
"""Both ends of a verbs test in one program.

A Node is an RDMA device with named objects on it: memories, registrations,
queue pairs. serve() offers a Node to another host, Remote is its stand-in
there, with the same methods. So a test is written as one straight story about
two Nodes, and runs in either direction.
"""

import ctypes
import fcntl
import json
import os
import pickle
import random
import socket
import struct
import subprocess
import threading
import time

from pyverbs.addr import GID, AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR, MW, DmaBufMR, MWBind, MWBindInfo
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR
import pyverbs.enums as e

import roce

PORT = 7788
PAGE = 4096

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int,
                      ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

PROT_RW = 3
MAP_SHARED, MAP_PRIVATE, MAP_FIXED, MAP_ANONYMOUS = 1, 2, 0x10, 0x20

LOCAL = e.IBV_ACCESS_LOCAL_WRITE
WRITE = e.IBV_ACCESS_REMOTE_WRITE
READ = e.IBV_ACCESS_REMOTE_READ
ATOMIC = e.IBV_ACCESS_REMOTE_ATOMIC
ALL = LOCAL | WRITE | READ | ATOMIC
BIND = e.IBV_ACCESS_MW_BIND
ZERO_BASED = e.IBV_ACCESS_ZERO_BASED
OLD = b"\xa5"		# what memory is filled with that no key names any more

OPS = {
    "SEND": e.IBV_WR_SEND,
    "SEND_IMM": e.IBV_WR_SEND_WITH_IMM,
    "WRITE": e.IBV_WR_RDMA_WRITE,
    "WRITE_IMM": e.IBV_WR_RDMA_WRITE_WITH_IMM,
    "READ": e.IBV_WR_RDMA_READ,
    "CAS": e.IBV_WR_ATOMIC_CMP_AND_SWP,
    "ADD": e.IBV_WR_ATOMIC_FETCH_AND_ADD,
    "SEND_INV": e.IBV_WR_SEND_WITH_INV,
    "LOCAL_INV": e.IBV_WR_LOCAL_INV,
}

STATUS = {getattr(e, name): name[7:] for name in dir(e)
          if name.startswith("IBV_WC_") and name.endswith(("_ERR", "_SUCCESS"))}


class NodeError(Exception):
    """A call failed; errno says how."""

    def __init__(self, text, errno=0):
        super().__init__(text)
        self.errno = errno


class Memory:
    """A shared or anonymous mapping."""

    def __init__(self, size, path=None, offset=0):
        self.size = size
        fd, flags = -1, MAP_PRIVATE | MAP_ANONYMOUS
        if path:
            fd, flags = os.open(path, os.O_RDWR), MAP_SHARED
        self.addr = libc.mmap(None, size, PROT_RW, flags, fd, offset)
        error = ctypes.get_errno()
        if path:
            os.close(fd)
        if self.addr == ctypes.c_void_p(-1).value:
            raise OSError(error, os.strerror(error), path)

    def close(self):
        libc.munmap(self.addr, self.size)


HUGE_PAGE = 2 << 20


def udmabuf(size, *, huge=False, offset=0):
    """A dma-buf of a program's own pages."""
    memfd = os.memfd_create("udmabuf",
                            os.MFD_ALLOW_SEALING | (os.MFD_HUGETLB if huge else 0))
    if huge:
        with open("/proc/sys/vm/nr_hugepages", "w", encoding="ascii") as number:
            number.write("1")
    os.ftruncate(memfd, HUGE_PAGE if huge else size)
    fcntl.fcntl(memfd, 1033, 2)		# F_ADD_SEALS, F_SEAL_SHRINK
    with open("/dev/udmabuf", "rb") as maker:
        # with a bytearray the answer is what the call returns
        fd = fcntl.ioctl(maker, 0x40187542,	# UDMABUF_CREATE
                         bytearray(struct.pack("IIQQ", memfd, 0, offset, size)))
    os.close(memfd)
    return fd


def heap(size, flags=os.O_RDWR):
    """A dma-buf of the kernel's pages."""
    with open("/dev/dma_heap/system", "rb") as maker:
        made = fcntl.ioctl(maker, 0xc0184800,	# DMA_HEAP_IOCTL_ALLOC
                           struct.pack("QIIQ", size, 0, flags | os.O_CLOEXEC, 0))
    return struct.unpack("QIIQ", made)[1]


class FdMemory(Memory):
    """A mapping of an open file."""

    def __init__(self, size, fd):	# pylint: disable=super-init-not-called
        self.size, self.fd = size, fd
        self.addr = libc.mmap(None, size, PROT_RW, MAP_SHARED, fd, 0)
        if self.addr == ctypes.c_void_p(-1).value:
            raise OSError(ctypes.get_errno(), "no mapping of a dma-buf")

    def close(self):
        super().close()
        os.close(self.fd)


class Node:
    """An RDMA device of this host and the named objects on it."""

    def __init__(self, dev, ip, path=None):
        """dev: its name; ip: of the GID to use; path: where memory is from."""
        self.dev, self.ip, self.path = dev, ip, path
        self.ctx = Context(name=dev)
        self.gid_index = self._find_gid()
        self.raw_port = None
        self.mems, self.mrs, self.pds, self.qps = {}, {}, {}, {}
        self.mws, self.views, self.streams = {}, {}, {}
        self.pds["pd"] = PD(self.ctx)

    def _find_gid(self):
        # IPv4 addresses are mapped: ::ffff:a.b.c.d
        low = int.from_bytes(b"\0\0\xff\xff" + socket.inet_aton(self.ip), "little")
        for entry in self.ctx.query_gid_table(256):
            if (entry.gid_type == e.IBV_GID_TYPE_ROCE_V2 and
                    entry.gid_interface_id == low and not entry.gid_subnet_prefix):
                return entry.gid_index
        raise NodeError(f"{self.dev} has no RoCEv2 GID for {self.ip}")

    def info(self):
        port = self.ctx.query_port(1)
        return {"mtu": port.active_mtu, "dev": self.dev, "ip": self.ip}

    # memory

    def mem(self, name, size, path="", offset=0):
        """Map memory: from 'path', or from the node's own choice of place."""
        memory = Memory(size, self.path if path == "" else path, offset)
        self.mems[name] = memory
        return memory.addr

    def mem_addr(self, name):
        return self.mems[name].addr

    def unmap(self, name):
        self.mems.pop(name).close()

    def fill(self, name, data, offset=0):
        assert offset + len(data) <= self.mems[name].size
        ctypes.memmove(self.mems[name].addr + offset, data, len(data))

    def look(self, name, length=None, offset=0):
        if length is None:
            length = self.mems[name].size - offset
        return ctypes.string_at(self.mems[name].addr + offset, length)

    # verbs objects

    def pd(self, name):
        self.pds[name] = PD(self.ctx)

    def reg(self, name, mem, access=ALL, pd="pd", offset=0, length=None):
        """Register (part of) a memory: (address, lkey, rkey)."""
        memory = self.mems[mem]
        if length is None:
            length = memory.size - offset
        mr = MR(self.pds[pd], length, access, address=memory.addr + offset)
        self.mrs[name] = mr
        return memory.addr + offset, mr.lkey, mr.rkey

    def dereg(self, name):
        """Deregister; returns how many seconds it took."""
        start = time.monotonic()
        self.mrs[name].close()
        del self.mrs[name]
        return time.monotonic() - start

    def rereg(self, name, *, access=None, pd=None, mem=None):
        """Register anew, what is given; returns how many seconds it took."""
        flags, memory = 0, self.mems.get(mem)
        if access is not None:
            flags |= e.IBV_REREG_MR_CHANGE_ACCESS
        if pd is not None:
            flags |= e.IBV_REREG_MR_CHANGE_PD
        if memory:
            flags |= e.IBV_REREG_MR_CHANGE_TRANSLATION
        start = time.monotonic()
        self.mrs[name].rereg(flags, self.pds[pd or "pd"], memory.addr if memory else 0,
                             memory.size if memory else 0, access or 0)
        return time.monotonic() - start

    def dmabuf(self, name, kind, size):
        """Memory of a dma-buf: "udmabuf" or "heap"."""
        fd = {"udmabuf": udmabuf, "heap": heap}[kind](size)
        self.mems[name] = FdMemory(size, fd)

    def reg_dmabuf(self, name, mem, access=ALL, offset=0, length=None):
        """Register (part of) it: (address, which is its offset, lkey, rkey)."""
        memory = self.mems[mem]
        if length is None:
            length = memory.size - offset
        mr = DmaBufMR(self.pds["pd"], length, access, memory.fd, offset)
        self.mrs[name] = mr
        return offset, mr.lkey, mr.rkey

    def reg_dmabuf_error(self, kind, size, access, offset, length):
        """errno of such a registration, 0 if it can be had."""
        fd = {"udmabuf": lambda: udmabuf(size), "heap": lambda: heap(size),
              "huge": lambda: udmabuf(size, huge=True),
              "of a huge page": lambda: udmabuf(size, huge=True, offset=5 * PAGE),
              "read-only": lambda: heap(size, os.O_RDONLY),
              "no dma-buf": lambda: os.memfd_create("none"),
              "closed": lambda: 999}[kind]()
        try:
            DmaBufMR(self.pds["pd"], length, access, fd, offset).close()
        except PyverbsRDMAError as error:
            return error.error_code
        finally:
            if kind != "closed":
                os.close(fd)
        return 0

    # memory that other memory takes the place of, at the same address

    def renewable(self, name, size):
        """Map memory that stays in view when it is replaced."""
        memory = self.mems[name] = Memory(size, "/dev/zero")
        self.views[name] = []
        self._place(name)
        return memory.addr

    def _place(self, name):
        memory, fd = self.mems[name], os.memfd_create(name)
        os.ftruncate(fd, memory.size)
        for addr, flags in ((memory.addr, MAP_SHARED | MAP_FIXED), (None, MAP_SHARED)):
            view = libc.mmap(addr, memory.size, PROT_RW, flags, fd, 0)
            assert view != ctypes.c_void_p(-1).value
        self.views[name].append(view)
        os.close(fd)

    def renew(self, name, mr):
        """Other memory at the same address, and the region registered anew there; the
        old one is filled with OLD. Returns how many seconds it took."""
        self._place(name)
        took = self.rereg(mr, mem=name)
        ctypes.memset(self.views[name][-2], OLD[0], self.mems[name].size)
        return took

    def old_bytes(self, name):
        """Of all memory that was replaced, the bytes that aren't OLD any more."""
        size = self.mems[name].size
        return sum(size - ctypes.string_at(view, size).count(OLD)
                   for view in self.views[name][:-1])

    def forget(self, name):
        """Unmap all of it."""
        for view in self.views.pop(name):
            libc.munmap(view, self.mems[name].size)
        self.unmap(name)

    # memory windows

    def mw(self, name, kind, pd="pd"):
        """A window of type 1 or 2: its key."""
        self.mws[name] = MW(self.pds[pd], {1: e.IBV_MW_TYPE_1, 2: e.IBV_MW_TYPE_2}[kind])
        return self.mws[name].rkey

    def mw_close(self, name):
        start = time.monotonic()
        self.mws.pop(name).close()
        return time.monotonic() - start

    def post_bind(self, qp, mw, mr, addr, length, access):
        """Post a bind: the key that it will have."""
        info = MWBindInfo(self.mrs[mr], addr, length, access)
        if self.mws[mw].type == e.IBV_MW_TYPE_1:
            self.qps[qp][0].bind_mw(self.mws[mw], MWBind(info, e.IBV_SEND_SIGNALED))
            return self.mws[mw].rkey
        wr = SendWR(opcode=e.IBV_WR_BIND_MW)
        wr.set_bind_wr(self.mws[mw], info)
        self.qps[qp][0].post_send(wr)
        return wr.rkey

    def bind(self, qp, mw, mr, addr, length, access):
        """Post a bind and wait for it: (completion, key)."""
        key = self.post_bind(qp, mw, mr, addr, length, access)
        return self.sent(qp), key

    def invalidate(self, qp, rkey):
        """LOCAL_INV: (completions, how many seconds it took)."""
        start = time.monotonic()
        self.post(qp, "LOCAL_INV", [], imm=rkey)
        return self.sent(qp), time.monotonic() - start

    def qp(self, name, pd="pd", depth=64, sge=8):
        """Make an RC QP and its two CQs: what the peer must know of it."""
        send, recv = CQ(self.ctx, depth * 2), CQ(self.ctx, depth * 2)
        cap = QPCap(max_send_wr=depth, max_recv_wr=depth, max_send_sge=sge,
                    max_recv_sge=sge)
        init = QPInitAttr(qp_type=e.IBV_QPT_RC, scq=send, rcq=recv, cap=cap)
        qp = QP(self.pds[pd], init, QPAttr())
        self.qps[name] = (qp, send, recv)
        # every other PSN soon wraps
        psn = random.choice((random.getrandbits(24),
                             (1 << 24) - random.randrange(1, 300)))
        return {"qpn": qp.qp_num, "psn": psn, "ip": self.ip}

    def connect(self, name, mine, peer, mtu, access=WRITE | READ | ATOMIC,
                timeout=14, retry=7):
        """Bring a QP to RTS. mine, peer: what qp() returned on each side."""
        qp = self.qps[name][0]
        attr = QPAttr(port_num=1)
        attr.qp_access_flags = access
        qp.to_init(attr)
        attr.path_mtu = mtu
        attr.dest_qp_num, attr.rq_psn = peer["qpn"], peer["psn"]
        attr.max_dest_rd_atomic = attr.max_rd_atomic = 8
        attr.min_rnr_timer = 12		# 0.64 ms
        ip = socket.inet_aton(peer["ip"]).hex()
        gid = f"{'0000:' * 5}ffff:{ip[:4]}:{ip[4:]}"
        route = GlobalRoute(dgid=GID(gid), sgid_index=self.gid_index,
                            hop_limit=64)
        attr.ah_attr = AHAttr(gr=route, is_global=1, port_num=1)
        qp.to_rtr(attr)
        attr.timeout, attr.retry_cnt, attr.rnr_retry = timeout, retry, 7
        attr.sq_psn = mine["psn"]
        qp.to_rts(attr)

    def state(self, name):
        return self.qps[name][0].query(e.IBV_QP_STATE)[0].qp_state

    def destroy(self, name):
        for thing in self.qps.pop(name):
            thing.close()

    # work requests; sges are (address, length, lkey)

    def post(self, name, op, sges, *, addr=0, rkey=0, imm=0, wr_id=0,
             add=0, swap=0):
        wr = SendWR(wr_id, OPS[op], len(sges), imm, [SGE(*s) for s in sges])
        if op in ("CAS", "ADD"):
            wr.set_wr_atomic(rkey, addr, add, swap)
        elif op in ("WRITE", "WRITE_IMM", "READ"):
            wr.set_wr_rdma(rkey, addr)
        self.qps[name][0].post_send(wr)

    def recv(self, name, sges, wr_id=0):
        self.qps[name][0].post_recv(RecvWR(wr_id, len(sges), [SGE(*s) for s in sges]))

    def _poll(self, cq, count, timeout):
        found, end = [], time.monotonic() + timeout
        while len(found) < count:
            done, wcs = cq.poll(count - len(found))
            found += [{"id": wc.wr_id, "status": STATUS.get(wc.status, wc.status),
                       "opcode": wc.opcode, "len": wc.byte_len,
                       "imm": wc.imm_data, "flags": wc.wc_flags,
                       "vendor": wc.vendor_err} for wc in wcs]
            if not done:
                if time.monotonic() > end:
                    break
                time.sleep(0.0002)
        return found

    def sent(self, name, count=1, timeout=20):
        """Completions of the SQ, fewer than 'count' after a timeout."""
        return self._poll(self.qps[name][1], count, timeout)

    def received(self, name, count=1, timeout=20):
        """Completions of the RQ, fewer than 'count' after a timeout."""
        return self._poll(self.qps[name][2], count, timeout)

    # many at once, so that the other end's turn-around doesn't count

    def burst(self, posts):
        """A list of argument lists for post()."""
        for args, kwargs in posts:
            self.post(*args, **kwargs)

    def drain(self, names, count, timeout=60):
        """'count' send completions of each of these QPs."""
        return {name: self.sent(name, count, timeout) for name in names}

    # without end, so that what ends them falls into their middle

    def stream(self, name, op, sges, depth=4, **target):
        """Post such requests, 'depth' at a time, in a thread until one fails."""
        stream = self.streams[name] = {"done": 0, "bad": []}

        def run():
            self.burst([((name, op, sges), target)] * depth)
            while not stream["bad"]:
                wcs = self.sent(name)
                if not wcs or wcs[0]["status"] != "SUCCESS":
                    stream["bad"] = wcs + self.sent(name, depth - 1)
                    return
                stream["done"] += 1
                self.post(name, op, sges, **target)

        stream["thread"] = threading.Thread(target=run)
        stream["thread"].start()

    def stream_flows(self, name, count, timeout=20):
        """Are that many done, in time?"""
        end = time.monotonic() + timeout
        while self.streams[name]["done"] < count and time.monotonic() < end:
            time.sleep(0.0002)
        return self.streams[name]["done"] >= count

    def stream_end(self, name):
        """The statuses of those that weren't done, when there are no more of them."""
        stream = self.streams.pop(name)
        stream["thread"].join()
        return [wc["status"] for wc in stream["bad"]]

    # packets by hand

    def raw(self, peer):
        """Get ready to send to this address, or (None) end it."""
        if self.raw_port:
            self.raw_port.close()
        self.raw_port = roce.Raw(self.ip, peer) if peer else None

    def raw_send(self, transport, spoil=False):
        self.raw_port.send(transport, spoil=spoil)

    def raw_receive(self, qpn, timeout):
        return self.raw_port.receive(qpn, timeout)

    # the rest of the host

    def counters(self):
        done = subprocess.run(["rdma", "-j", "statistic", "show", "link",
                               f"{self.dev}/1"], capture_output=True, check=False)
        try:
            rows = json.loads(done.stdout or b"[]")
        except ValueError:
            rows = []
        return {key: value for row in rows for key, value in row.items()
                if isinstance(value, int)}

    def last_refusal(self):
        """The newest line of the ledger: (reason, key, address)."""
        with open(f"/sys/kernel/debug/srnic/{self.dev}/refusals", encoding="ascii") as file:
            word = file.read().splitlines()[-1].split()
        return word[1], int(word[3], 16), int(word[13], 16)

    def shell(self, command):
        """Run a command: (status, output)."""
        done = subprocess.run(command, shell=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        return done.returncode, done.stdout

    def pid(self):
        return os.getpid()

    def place(self, path):
        """From now on memory comes from this file; None: ordinary memory."""
        self.path = path

    def level(self, path, level):
        """Which devices may use a /dev/p2pmemN; returns how many seconds it took."""
        with open(f"/sys/class/p2pmem/{os.path.basename(path)}/level", "w",
                  encoding="ascii") as file:
            start = time.monotonic()
            file.write(level)
            file.flush()
            return time.monotonic() - start

    def available(self, path):
        """How many bytes a /dev/p2pmemN has to give."""
        name = os.path.basename(path)
        with open(f"/sys/class/p2pmem/{name}/available", encoding="ascii") as file:
            return int(file.read())


def _send(sock, thing):
    data = pickle.dumps(thing)
    sock.sendall(struct.pack("<Q", len(data)) + data)


def _receive(sock):
    def exactly(count):
        parts = []
        while count:
            part = sock.recv(min(count, 1 << 20))
            if not part:
                raise EOFError
            parts.append(part)
            count -= len(part)
        return b"".join(parts)
    return pickle.loads(exactly(struct.unpack("<Q", exactly(8))[0]))


def serve(node, port=PORT):
    """Do what one Remote asks until it goes away."""
    with socket.create_server(("", port)) as listener:
        sock, _ = listener.accept()
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while True:
        try:
            name, args, kwargs = _receive(sock)
        except (EOFError, ConnectionError):
            return
        try:
            answer = (True, getattr(node, name)(*args, **kwargs))
        except PyverbsRDMAError as error:
            answer = (False, (f"{name}: {error}", error.error_code))
        except Exception as error:	# pylint: disable=broad-except
            answer = (False, (f"{name}: {type(error).__name__}: {error}",
                              getattr(error, "errno", 0) or 0))
        _send(sock, answer)


class Remote:
    """The Node that serve() offers on another host."""

    def __init__(self, host, port=PORT, patience=60):
        end = time.monotonic() + patience
        while True:
            try:
                self._sock = socket.create_connection((host, port), 5)
                break
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.2)
        self._sock.settimeout(180)
        self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __getattr__(self, name):
        def call(*args, **kwargs):
            _send(self._sock, (name, args, kwargs))
            good, answer = _receive(self._sock)
            if not good:
                raise NodeError(*answer)
            return answer
        return call


def pair(left, right, name, **options):
    """Two connected QPs of the same name; returns what qp() returned."""
    keys = {"pd": "pd", "left_pd": None, "right_pd": None, "depth": 64, "sge": 8}
    made = {key: options.pop(key, value) for key, value in keys.items()}
    mtu = options.pop("mtu", 0) or min(left.info()["mtu"], right.info()["mtu"])
    one = left.qp(name, made["left_pd"] or made["pd"], made["depth"], made["sge"])
    two = right.qp(name, made["right_pd"] or made["pd"], made["depth"], made["sge"])
    left.connect(name, one, two, mtu, **options)
    right.connect(name, two, one, mtu, **options)
    return one, two


def unpair(left, right, name):
    left.destroy(name)
    right.destroy(name)
