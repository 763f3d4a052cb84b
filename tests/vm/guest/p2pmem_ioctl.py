# SPDX-License-Identifier: GPL-2.0
"""The requests of include/uapi/linux/p2pmem.h, from a test's point of view:
any of them can be made wrong."""

import array
import ctypes
import os
import socket
import struct

from p2pmem_guest import libc

libc.ioctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p]

READ, WRITE = 2, 1
FORMATS = {		# number: direction, layout
    "info": (0, READ, "QQII5Q"),
    "alloc": (1, READ | WRITE, "QQQIi32s4Q"),
    "export": (2, READ | WRITE, "QQIi4Q"),
    "flush": (3, WRITE, "QQ2Q"),
    "distance": (4, READ | WRITE, "IBBBBII3Q"),
    "region": (5, READ, "QQQII32s4Q"),
}
CLOEXEC = 1


def number(name, size=None):
    """The request; with another size than ours."""
    nr, direction, layout = FORMATS[name]
    if size is None:
        size = struct.calcsize(layout)
    return direction << 30 | size << 16 | 0xBC << 8 | nr


def raw(fd, request, buffer):
    """ioctl() with a bytearray (or an address) as it is; returns it."""
    at = buffer
    if not isinstance(buffer, int):
        at = ctypes.addressof((ctypes.c_char * len(buffer)).from_buffer(buffer))
    if libc.ioctl(fd, request, at):
        raise OSError(ctypes.get_errno(), "ioctl")
    return buffer


def call(fd, name, *values, extra=b""):
    """One request: the fields that come back."""
    layout = FORMATS[name][2]
    data = bytearray(struct.pack(layout, *values) + extra)
    raw(fd, number(name, len(data)), data)
    return struct.unpack(layout, data[:struct.calcsize(layout)])


def alloc(fd, size, offset=0, flags=CLOEXEC, name=b"", reserved=(0,) * 4):
    """A new region: its descriptor."""
    return call(fd, "alloc", size, offset, 0, flags, -1, name, *reserved)[4]


def export(fd, offset=0, size=0, flags=CLOEXEC, reserved=(0,) * 4):
    """A dma-buf: its descriptor."""
    return call(fd, "export", offset, size, flags, -1, *reserved)[3]


def flush(fd, offset=0, size=0, reserved=(0, 0)):
    """Bytes become durable."""
    call(fd, "flush", offset, size, *reserved)


def distance(fd, bdf, pad=0, reserved=(0,) * 3):
    """(class, links) to a PCI function."""
    domain, bus, rest = bdf.split(":")
    device, function = rest.split(".")
    return call(fd, "distance", int(domain, 16), int(bus, 16), int(device, 16),
                int(function, 16), pad, 0, 0, *reserved)[5:7]


def region_info(fd):
    """(size, place, available, flags, device, name)"""
    info = call(fd, "region", *(0,) * 5, b"", *(0,) * 4)
    return info[:5] + (info[5].rstrip(b"\0"),)


def send_fd(sock, fd):
    """Pass a descriptor on."""
    sock.sendmsg([b"f"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                           array.array("i", [fd]))])


def receive_fd(sock):
    """The other end of it."""
    _, control, _, _ = sock.recvmsg(1, socket.CMSG_SPACE(4))
    return array.array("i", control[0][2])[0]


def fdinfo(fd):
    """/proc/self/fdinfo as a dictionary."""
    with open(f"/proc/self/fdinfo/{fd}", encoding="ascii") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def close(*fds):
    """All of them."""
    for fd in fds:
        os.close(fd)
