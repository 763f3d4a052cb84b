# SPDX-License-Identifier: GPL-2.0
"""What the p2pmem tests in the guest share: donors, mappings, the log."""

import ctypes
import errno
import fcntl
import glob
import mmap
import os
import random
import re
import signal
import struct
import subprocess
import sys
import time
import unittest

PAGE = mmap.PAGESIZE
PCI = "/sys/bus/pci/devices/"
DRIVERS = "/sys/bus/pci/drivers/"
DRIVER = DRIVERS + "p2pmem_bar/"
CLASS = "/sys/class/p2pmem/"

IVSHMEM = ("0x1af4", "0x1110")
TESTDEV = ("0x1b36", "0x0005")
EDU = ("0x1234", "0x11e8")
NVME = ("0x1b36", "0x0010")

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int,
                      ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.mremap.restype = ctypes.c_void_p
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
libc.msync.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
MAP_FAILED = ctypes.c_void_p(-1).value


def read(path):
    with open(path) as f:
        return f.read().strip()


def write(path, text):
    # Python's own files would write a second time when the first one failed
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def pci_functions(ids):
    """BDFs of all functions with these (vendor, device) ids."""
    return [bdf for bdf in sorted(os.listdir(PCI))
            if (read(PCI + bdf + "/vendor"), read(PCI + bdf + "/device")) == ids]


def donation(bdf):
    """The 'p2pmemN' whose donor it is."""
    device = os.path.realpath(PCI + bdf)
    for path in glob.glob(CLASS + "p2pmem*"):
        if os.path.realpath(path + "/device") == device:
            return os.path.basename(path)
    raise LookupError(bdf)


def donations(bdf):
    """All 'p2pmemN' whose donor it is, in the order of their numbers."""
    device = os.path.realpath(PCI + bdf)
    names = [os.path.basename(path) for path in glob.glob(CLASS + "p2pmem*")
             if os.path.realpath(path + "/device") == device]
    return sorted(names, key=lambda name: int(name[len("p2pmem"):]))


def detach(bdf):
    """From whatever driver it is bound to."""
    if os.path.exists(PCI + bdf + "/driver"):
        write(PCI + bdf + "/driver/unbind", bdf)


def attach(driver, bdf):
    """Bind to a driver; returns its 'p2pmemN's, raises OSError when refused."""
    detach(bdf)
    write(PCI + bdf + "/driver_override", driver)
    write(f"{DRIVERS}{driver}/bind", bdf)
    return donations(bdf)


def bind(bdf, driver="p2pmem_bar"):
    """Bind to a donor's driver; returns 'p2pmemN', raises OSError when refused."""
    attach(driver, bdf)
    return donation(bdf)


def unbind(bdf, driver="p2pmem_bar"):
    write(f"{DRIVERS}{driver}/unbind", bdf)


def bound(bdf, driver="p2pmem_bar"):
    return os.path.exists(f"{DRIVERS}{driver}/{bdf}")


def attr(name, what):
    return read(CLASS + name + "/" + what)


def set_attr(name, what, text):
    write(CLASS + name + "/" + what, text)


def statistic(name, what):
    return int(attr(name, "statistics/" + what))


def bar_address(bdf):
    """Where BAR 2 is."""
    return int(read(PCI + bdf + "/resource").split("\n")[2].split()[0], 16)


def p2pdma(bdf):
    """Are the pages of this donor, which is bound, the PCI layer's?"""
    return os.path.exists(PCI + bdf + "/p2pmem")


def port_above(bdf):
    """(vendor, device) of the port that a function is right below."""
    port = os.path.dirname(os.path.realpath(PCI + bdf))
    return read(port + "/vendor"), read(port + "/device")


def available(name):
    return int(attr(name, "available"))


def wait_for(condition, seconds=10):
    """Poll; returns whether it came true."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def log_mark(text):
    # without the newline the line is kept back until another one comes
    write("/dev/kmsg", text + "\n")
    return text


def log_since(mark):
    """Lines of the kernel log after the (last) mark."""
    log = subprocess.run(["dmesg"], capture_output=True, text=True,
                         check=True).stdout
    return log[log.rindex(mark):].split("\n")[1:-1]


def monitor(*commands):
    """Commands for this guest's QEMU, such as: device_del bar0"""
    write(os.environ["VM_CTL"], "".join(f"monitor {i}\n" for i in commands))


class Bar:
    """A BAR as sysfs has it. While a driver has claimed it this takes a kernel
    with iomem=relaxed."""

    def __init__(self, bdf, number):
        # an unbound function may not answer (command register, bit 1)
        subprocess.run(["setpci", "-s", bdf, "COMMAND=2:2"], check=True)
        fd = os.open(f"{PCI}{bdf}/resource{number}", os.O_RDWR | os.O_CLOEXEC)
        self.map = mmap.mmap(fd, os.fstat(fd).st_size)
        os.close(fd)

    def u32(self, at):
        # one access of that size, which slices don't promise
        return ctypes.c_uint32.from_buffer(self.map, at).value

    def put32(self, at, value):
        ctypes.c_uint32.from_buffer(self.map, at).value = value


class Mapping:
    """mmap() by hand: addresses and errno, no Python object in between."""

    def __init__(self, fd, length, offset=0, prot=mmap.PROT_READ | mmap.PROT_WRITE,
                 flags=mmap.MAP_SHARED):
        self.length = length
        self.address = libc.mmap(None, length, prot, flags, fd, offset)
        if self.address == MAP_FAILED:
            raise OSError(ctypes.get_errno(), "mmap")

    def unmap(self, start=0, length=None):
        if libc.munmap(self.address + start, length or self.length):
            raise OSError(ctypes.get_errno(), "munmap")

    def __getitem__(self, s):
        return ctypes.string_at(self.address + s.start, s.stop - s.start)

    def put(self, at, data):
        ctypes.memmove(self.address + at, data, len(data))

    def check_own(self, byte):
        """New memory is zeroed, and nobody else writes to it."""
        if self[0:self.length].count(0) != self.length:
            raise AssertionError("not zeroed")
        ctypes.memset(self.address, byte, self.length)
        os.sched_yield()
        if self[0:self.length].count(byte) != self.length:
            raise AssertionError("somebody else's bytes")

    def place(self):
        """First byte of the mapping within the donation."""
        for line in read("/proc/self/maps").split("\n"):
            m = re.match(r"([0-9a-f]+)-[0-9a-f]+ \S+ ([0-9a-f]+)", line)
            if int(m[1], 16) == self.address:
                return int(m[2], 16)
        raise LookupError("no such mapping")


def opened(name, flags=os.O_RDWR):
    return os.open("/dev/" + name, flags | os.O_CLOEXEC)


SEED = int(os.environ.get("SEED") or random.randrange(1 << 32))
_forks = 0


def randomness():
    """Of this process: others in each run, the same again with SEED=N in the environment."""
    return random.Random(SEED << 16 | _forks)


def fork(child):
    """Run child() in a process of its own; its exit status is 0, or 1 when
    it raised. Returns the pid."""
    global _forks  # pylint: disable=global-statement
    _forks += 1
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        child()
        status = 0
    except BaseException as e:  # pylint: disable=broad-except
        os.write(2, f"child: {e!r}\n".encode())
    finally:
        os._exit(status)


def reap(pid):
    """Wait for a process; returns exit status, negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def race(bdf, child, processes=4, mortal=False):
    """child(on, got) in several processes while the donor comes and goes. It works as long
    as on(), and says got() when it has had what it wants, which every one of them must: if
    not before, then at the end, when the donor stays. A mortal one may die of SIGBUS: then
    comes the next."""
    end = time.monotonic() + float(os.environ.get("SECONDS_OF_STRESS", "8"))
    name, seen, rounds = donation(bdf), set(), 0
    # of each process; the last one: it is of no use any more
    counts = (ctypes.c_ulong * (processes + 1)).from_buffer(mmap.mmap(-1, PAGE))

    def on(n):
        if time.monotonic() > end + 60 and not counts[n]:
            raise AssertionError("never got what it wanted")
        return not counts[processes] and (time.monotonic() < end or not counts[n])

    def got(n):
        counts[n] += 1

    def work(n):
        child(lambda: on(n), lambda: got(n))

    def parent(n):
        while on(n):
            status = reap(fork(lambda: work(n)))
            if status not in (0, -signal.SIGBUS):
                raise AssertionError(status)

    pids = [fork(lambda n=n: (parent if mortal else work)(n)) for n in range(processes)]
    while time.monotonic() < end and seen <= {name}:
        unbind(bdf)
        time.sleep(0.02 * (rounds % 2))
        seen.add(bind(bdf))
        # in the middle of their work, and after some of it (but for those who are done)
        before = sum(counts)
        if rounds % 4:
            time.sleep(0.025 * (rounds % 4 - 1))
        else:
            wait_for(lambda: sum(counts) > before or
                     time.monotonic() > end and all(counts[:processes]))
        rounds += 1
    counts[processes] = seen != {name}
    statuses = [reap(p) for p in pids]
    if statuses != [0] * processes or seen != {name}:
        raise AssertionError(f"{statuses}, donated as {seen}, not {name}")


class Child:
    """A child that works on command, for tests that need it to wait."""

    def __init__(self, work):
        """work(step) is called for each step() of the parent."""
        ours, theirs = os.pipe(), os.pipe()

        def run():
            os.close(ours[1])
            os.close(theirs[0])
            for n in range(1 << 30):
                # not by end of file: children born later have the pipe too
                if os.read(ours[0], 1) != b".":
                    return
                work(n)
                os.write(theirs[1], b".")

        self.pid = fork(run)
        os.close(ours[0])
        os.close(theirs[1])
        self.to, self.frm = ours[1], theirs[0]

    def step(self):
        """False if the child died of it."""
        os.write(self.to, b".")
        return os.read(self.frm, 1) == b"."

    def end(self):
        try:
            os.write(self.to, b"q")
        except BrokenPipeError:
            pass
        os.close(self.to)
        os.close(self.frm)
        return reap(self.pid)

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        os.close(self.to)
        os.close(self.frm)
        return reap(self.pid)


class Taker:
    """/dev/p2pmem_taker of tests/kunit/p2pmem_taker.c."""

    HOLD = 0xC020BC80
    PUT = 0x0000BC81
    COPY = 0xC018BC82
    REVOKES = 0x0000BC83
    PERSIST = 0x4018BC84
    CLIENT = 0x4020BC90
    FIND = 0xC0B0BC91
    ALLOC = 0xC020BC92
    SGT = 0xC018BC93
    ACCOUNT = 0xC028BC94
    HEALTH = 0x4020BC95
    DONATE = 0x4038BC96
    WITHDRAW = 0x0000BC97
    SUSPEND = 0x4020BC98
    RESUME = 0x4020BC99
    DMA = 0xC018BC9A
    PIN = 0x4008BC9B
    UNPIN = 0x0000BC9C
    ERROR = 0x4024BC9D
    NON_FATAL, FROZEN, PERM_FAILURE, SLOT_RESET, RECOVERED = range(5)

    def __init__(self):
        self.fd = os.open("/dev/p2pmem_taker", os.O_RDWR | os.O_CLOEXEC)

    def hold(self, start, length, writable=True, revoke_ms=0):
        """Number of the hold, None where the range isn't p2pmem memory."""
        arg = struct.pack("QQIIiI", start, length, writable, revoke_ms, 0, 0)
        arg = fcntl.ioctl(self.fd, self.HOLD, arg)
        ident = struct.unpack("QQIIiI", arg)[4]
        return None if ident == -1 else ident

    def client(self, bdf):
        """Whose holds they are from now on: a PCI address, or "-"."""
        fcntl.ioctl(self.fd, self.CLIENT, bdf.encode().ljust(32, b"\0"))

    def find(self, *clients, size=0):
        """Name of the best donor for them, None where there is none."""
        arg = struct.pack("QII32s32s32s32s32s", size, len(clients), 0,
                          *[c.encode() for c in clients],
                          *[b""] * (5 - len(clients)))
        try:
            arg = fcntl.ioctl(self.fd, self.FIND, arg)
        except OSError as e:
            if e.errno != errno.ENODEV:
                raise
            return None
        return arg[-32:].rstrip(b"\0").decode()

    def alloc(self, length, revoke_ms=0):
        """A hold on new memory of what find() has found, for its clients."""
        arg = struct.pack("QQIIiI", 0, length, 0, revoke_ms, 0, 0)
        return struct.unpack("QQIIiI",
                             fcntl.ioctl(self.fd, self.ALLOC, arg))[4]

    def sgt(self, ident, offset):
        """A word, read through the hold's scatterlist."""
        arg = struct.pack("QQiI", offset, 0, ident, 0)
        return struct.unpack("QQiI", fcntl.ioctl(self.fd, self.SGT, arg))[1]

    def dma(self, ident):
        """Map it for the client's DMA, until it is revoked or put: (first address,
        bytes, entries)."""
        arg = fcntl.ioctl(self.fd, self.DMA, struct.pack("QQIi", 0, 0, 0, ident))
        return struct.unpack("QQIi", arg)[:3]

    def account(self, ident, bytes_in, bytes_out, times=1):
        """Returns how many nanoseconds that took."""
        arg = struct.pack("QQQQiI", bytes_in, bytes_out, times, 0, ident, 0)
        return struct.unpack("QQQQiI",
                             fcntl.ioctl(self.fd, self.ACCOUNT, arg))[3]

    def health(self, text):
        fcntl.ioctl(self.fd, self.HEALTH, text.encode().ljust(32, b"\0"))

    def donate(self, bdf, bar, offset, size):
        """In the place of the driver that is bound; returns 'p2pmemN'."""
        before = donations(bdf)
        fcntl.ioctl(self.fd, self.DONATE,
                    struct.pack("QQII32s", offset, size, bar, 0, bdf.encode()))
        return next(name for name in donations(bdf) if name not in before)

    def withdraw(self):
        fcntl.ioctl(self.fd, self.WITHDRAW)

    def suspend(self, bdf):
        """A PCI function and its driver, alone."""
        fcntl.ioctl(self.fd, self.SUSPEND, bdf.encode().ljust(32, b"\0"))

    def resume(self, bdf):
        fcntl.ioctl(self.fd, self.RESUME, bdf.encode().ljust(32, b"\0"))

    def pin(self, address):
        """The page there, until unpin()."""
        fcntl.ioctl(self.fd, self.PIN, struct.pack("Q", address))

    def unpin(self):
        fcntl.ioctl(self.fd, self.UNPIN)

    def error(self, bdf, step):
        """Tell a function's driver of a PCI error; what it answers."""
        arg = bytearray(struct.pack("I32s", step, bdf.encode()))
        return fcntl.ioctl(self.fd, self.ERROR, arg)

    def put(self, ident):
        fcntl.ioctl(self.fd, self.PUT, ident)

    def read(self, ident, offset):
        arg = struct.pack("QQiI", offset, 0, ident, 0)
        return struct.unpack("QQiI", fcntl.ioctl(self.fd, self.COPY, arg))[1]

    def write(self, ident, offset, value):
        fcntl.ioctl(self.fd, self.COPY,
                    struct.pack("QQiI", offset, value, ident, 1))

    def persist(self, ident, offset, length):
        fcntl.ioctl(self.fd, self.PERSIST,
                    struct.pack("QQiI", offset, length, ident, 0))

    def revokes(self):
        return fcntl.ioctl(self.fd, self.REVOKES)

    def close(self):
        os.close(self.fd)


class TapResult(unittest.TestResult):
    """One TAP line for each test, tracebacks as comments."""

    def _line(self, ok, test, rest=""):
        words = test.id().split(".")[-1].removeprefix("test_")
        print(f"{ok} {self.testsRun} - {words.replace('_', ' ')}{rest}",
              flush=True)

    def addSuccess(self, test):
        self._line("ok", test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._line("ok", test, " # SKIP " + reason)

    def _bad(self, test):
        self._line("not ok", test)
        for _, text in (self.errors + self.failures)[-1:]:
            print("# " + text.rstrip().replace("\n", "\n# "), flush=True)

    def addError(self, test, err):
        super().addError(test, err)
        self.errors[:] = self.errors[-1:]
        self.failures.clear()
        self._bad(test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.failures[:] = self.failures[-1:]
        self.errors.clear()
        self._bad(test)

    def addSubTest(self, test, subtest, err):
        """One that fails: a line more than planned, for its own sake."""
        super().addSubTest(test, subtest, err)
        if not err:
            return
        if issubclass(err[0], test.failureException):
            self.errors.clear()
        else:
            self.failures.clear()
        self._bad(test)
        print(f"# {subtest}", flush=True)


def main(*modules):
    """Load kernel modules, run the caller's tests (or those whose names are
    on the command line), exit."""
    subprocess.run(["modprobe", "-a", *modules], check=True)
    loader = unittest.defaultTestLoader
    tests = (loader.loadTestsFromNames(sys.argv[1:], sys.modules["__main__"])
             if sys.argv[1:] else
             loader.loadTestsFromModule(sys.modules["__main__"]))
    result = TapResult()
    print(f"1..{tests.countTestCases()}\n# seed {SEED}", flush=True)
    tests.run(result)
    sys.exit(not result.wasSuccessful())
