#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
# vm: --timeout 600
"""Packets as no peer should send them, and some that look odd and are right.

Frames are made by hand and put on one end of a veth pair, on whose other end
(in a network namespace) sits srnic. What it made of each is read from its
counters: received, of a wrong ICRC, malformed, or not seen at all because IP or
UDP had dropped it. Packets that are right go to a QP that doesn't exist, so
that nothing answers.
"""

import os
import random
import socket
import struct
import subprocess
import sys
import time
import zlib

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)) + "/lib")
# pylint: disable=wrong-import-position
from roce import icrc  # noqa: E402

MY4, ITS4 = socket.inet_aton("10.61.0.1"), socket.inet_aton("10.61.0.2")
MY6 = socket.inet_pton(socket.AF_INET6, "fd61::1")
ITS6 = socket.inet_pton(socket.AF_INET6, "fd61::2")
PORT = 4791
NOBODY = 0x123456
WATCHED = ("rcvd_pkts", "icrc_err", "malformed_pkts", "unknown_qp", "bad_qkey",
           "bad_pkey")

SEND_ONLY, WRITE_ONLY, READ_REQUEST, CMP_SWAP, ACK = 0x04, 0x0a, 0x0c, 0x13, 0x11
UD_SEND_ONLY = 0x64

# what srnic makes of a packet
RIGHT = {"rcvd_pkts": 1, "unknown_qp": 1}
ICRC = {"icrc_err": 1}
MALFORMED = {"malformed_pkts": 1}
UNSEEN = {}


def sh(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def bth(opcode=SEND_ONLY, qpn=NOBODY, pad=0, tver=0, pkey=0xffff):
    return struct.pack(">BBHII", opcode, pad << 4 | tver, pkey, qpn, 7)


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def ip4(payload, *, ident=1, frag=0x4000, tos=0, ttl=64, options=b"", total=None):
    total = total or 20 + len(options) + len(payload)
    head = struct.pack(">BBHHHBBH4s4s", 0x45 + len(options) // 4, tos, total,
                       ident, frag, ttl, socket.IPPROTO_UDP, 0, MY4, ITS4) + options
    return head[:10] + struct.pack(">H", checksum(head)) + head[12:] + payload


def ip6(payload, *, first=0x60000000, hops=64, following=socket.IPPROTO_UDP):
    return struct.pack(">IHBB16s16s", first, len(payload), following, hops,
                       MY6, ITS6) + payload


def udp(payload, check=0, length=None):
    return struct.pack(">HHHH", 0xc007, PORT, length or 8 + len(payload),
                       check) + payload


def icrc6(head, datagram, transport):
    """IBTA A17.3.3 for IPv6; for IPv4 see roce.py."""
    head = bytearray(head)
    head[0] |= 0x0f
    head[1:4] = b"\xff" * 3
    head[7] = 0xff
    datagram, transport = bytearray(datagram), bytearray(transport)
    datagram[6:8] = b"\xff\xff"
    transport[4] = 0xff
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + head + datagram + transport))


def with_icrc4(transport, **fields):
    """UDP datagram for IPv4, whose header will be ip4(..., **fields)."""
    plain = ip4(udp(transport + b"\0" * 4), **fields)
    return udp(transport + icrc(plain[:20], plain[20:28], transport))


def with_icrc6(transport):
    plain = ip6(udp(transport + b"\0" * 4))
    return udp(transport + icrc6(plain[:40], plain[40:48], transport))


def good4(transport, **fields):
    return ip4(with_icrc4(transport, **fields), **fields)


def good6(transport):
    return ip6(with_icrc6(transport))


def flipped(packet, at, bit=1):
    packet = bytearray(packet)
    packet[at] ^= bit
    return bytes(packet)


def summed(packet, off, wrong=False):
    """With UDP's checksum filled in; off: where UDP begins."""
    packet = bytearray(packet)
    part = bytes(packet[off:])
    ends = bytes(packet[12:20] if off == 20 else packet[8:40])
    value = checksum(ends + struct.pack(">HH", 17, len(part)) + part) or 0xffff
    struct.pack_into(">H", packet, off + 6, value ^ wrong)
    return bytes(packet)


def fragments4(transport):
    datagram = with_icrc4(transport, frag=0)
    cut = len(datagram) // 2 & ~7
    return [ip4(datagram[:cut], frag=0x2000), ip4(datagram[cut:], frag=cut // 8)]


def fragments6(transport):
    datagram = with_icrc6(transport)
    cut = len(datagram) // 2 & ~7
    return [ip6(struct.pack(">BBHI", 17, 0, off | more, 99) + part, following=44)
            for off, more, part in ((0, 1, datagram[:cut]),
                                    (cut, 0, datagram[cut:]))]


DATA = bytes(range(256)) * 16
RETH = struct.pack(">QII", 0, 1, 16)
DETH = struct.pack(">II", 0x11111111, 5)

CASES = (
    ("IPv4", good4(bth()), RIGHT),
    ("IPv6", good6(bth()), RIGHT),
    ("4096 bytes, IPv4", good4(bth() + DATA), RIGHT),
    ("4096 bytes, IPv6", good6(bth() + DATA), RIGHT),
    ("with a UDP checksum, IPv4", summed(good4(bth() + DATA), 20), RIGHT),
    ("with a UDP checksum, IPv6", summed(good6(bth() + DATA), 40), RIGHT),
    ("padded", good4(bth(pad=3) + b"1\0\0\0"), RIGHT),
    ("TOS and TTL changed on the way",
     ip4(with_icrc4(bth()), tos=0xfc, ttl=3), RIGHT),
    ("class, flow label and hop limit changed on the way",
     ip6(with_icrc6(bth()), first=0x6ff54321, hops=2), RIGHT),
    ("FECN, BECN and the bits beside them changed on the way",
     flipped(good4(bth()), 32, 0xff), RIGHT),
    ("Ethernet padding behind", good4(bth()) + b"\x55" * 20, RIGHT),
    ("fragments, IPv4", fragments4(bth() + DATA), RIGHT),
    ("fragments, IPv6", fragments6(bth() + DATA), RIGHT),
    ("longer than UDP says: that doesn't count",
     ip4(with_icrc4(bth(), total=20 + 8 + 12 + 4 + 8) + b"behind it",
         total=20 + 8 + 12 + 4 + 8), RIGHT),

    ("a wrong ICRC", flipped(good4(bth() + DATA), -1), ICRC),
    ("a wrong ICRC, IPv6", flipped(good6(bth() + DATA), -4), ICRC),
    ("a wrong byte of payload", flipped(good4(bth() + DATA), 2000), ICRC),
    ("a wrong opcode", flipped(good4(bth() + DATA), 28), ICRC),
    ("another source port", flipped(good4(bth() + DATA), 21), ICRC),
    ("a big-endian ICRC", good4(bth())[:-4] + good4(bth())[:-5:-1], ICRC),
    ("fragments with a wrong byte",
     [fragments4(bth() + DATA)[0], flipped(fragments4(bth() + DATA)[1], 900)], ICRC),

    ("nothing behind UDP", ip4(udp(b"")), MALFORMED),
    ("half a BTH", ip4(udp(bth()[:6])), MALFORMED),
    ("no room for an ICRC", ip4(udp(bth() + b"\0\0\0")), MALFORMED),
    ("IP options", ip4(with_icrc4(bth()), options=b"\x01" * 4), MALFORMED),
    ("an opcode that isn't one", good4(bth(0x1f)), MALFORMED),
    ("a vendor's opcode", good4(bth(0xc0)), MALFORMED),
    ("another transport version", good4(bth(tver=1)), MALFORMED),
    ("more pad than payload", good4(bth(pad=1)), MALFORMED),
    ("a payload of half a word", good4(bth() + b"12"), MALFORMED),
    ("pad where nothing is", good4(bth(ACK, pad=2) + b"\0" * 4), MALFORMED),
    ("a WRITE without RETH", good4(bth(WRITE_ONLY)), MALFORMED),
    ("a WRITE with half a RETH", good4(bth(WRITE_ONLY) + RETH[:8]), MALFORMED),
    ("a READ request with payload", good4(bth(READ_REQUEST) + RETH + b"1234"), MALFORMED),
    ("an atomic cut short", good4(bth(CMP_SWAP) + RETH + b"1234567"), MALFORMED),
    ("an acknowledge without AETH", good4(bth(ACK)), MALFORMED),

    ("UDP longer than IP", ip4(udp(bth() + b"\0" * 4, length=400)), UNSEEN),
    ("UDP shorter than its header", ip4(udp(bth() + b"\0" * 4, length=5)), UNSEEN),
    ("a wrong UDP checksum", summed(good4(bth() + DATA), 20, wrong=True), UNSEEN),
    ("a fragment alone", fragments4(bth() + DATA)[:1], UNSEEN),

    ("a datagram for the GSI QP with another Q_Key",
     good4(bth(UD_SEND_ONLY, qpn=1) + DETH + b"1234"),
     {"rcvd_pkts": 1, "bad_qkey": 1}),
)


class Wire:
    """Our end of the cable, and its counters."""

    def __init__(self):
        sh("modprobe", "srnic")
        sh("ip", "netns", "add", "far")
        sh("ip", "link", "add", "w1", "type", "veth", "peer", "name", "w2", "netns", "far")
        sh("ip", "link", "set", "w1", "mtu", "4300", "up")
        sh("ip", "link", "set", "w1", "addrgenmode", "none")
        for command in ("link set w2 mtu 4300 up", "addr add 10.61.0.2/24 dev w2",
                        "addr add fd61::2/64 dev w2 nodad"):
            sh("ip", "-n", "far", *command.split())
        sh("ip", "netns", "exec", "far", "rdma", "link", "add", "w",
           "type", "srnic", "netdev", "w2")
        self.path = "/sys/class/infiniband/w/ports/1/hw_counters/"
        self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        self.sock.bind(("w1", 0))
        mac = subprocess.run(
            ["ip", "-n", "far", "-br", "link", "show", "w2"], check=True,
            capture_output=True, text=True).stdout.split()[2]
        self.ether = bytes.fromhex(mac.replace(":", "")) + b"\x02\0\0\0\0\x01"

    def send(self, packet):
        kind = 0x0800 if packet[0] >> 4 == 4 else 0x86dd
        self.sock.send(self.ether + struct.pack(">H", kind) + packet)

    def counters(self):
        # the core reads them anew every 10 ms
        time.sleep(0.03)
        values = {}
        for name in WATCHED:
            with open(self.path + name, encoding="ascii") as file:
                values[name] = int(file.read())
        return values

    def close(self):
        sh("ip", "netns", "del", "far")


def changes(before, after):
    return {k: after[k] - before[k] for k in WATCHED if after[k] != before[k]}


def fuzz(wire, rounds):
    """Spoilt copies of right packets, with an ICRC that is right again: what
    was seen is counted once each, and the kernel lives."""
    rng = random.Random(4791)
    for _ in range(rounds):
        transport = bytearray(bth(rng.choice((SEND_ONLY, WRITE_ONLY, READ_REQUEST,
                                              CMP_SWAP, ACK, UD_SEND_ONLY,
                                              rng.randrange(256))),
                                  qpn=rng.choice((NOBODY, 0, 1, 0xffffff)),
                                  pad=rng.randrange(4)) +
                              rng.randbytes(rng.choice((0, 4, 16, 28, 200, 4096))))
        for _ in range(rng.randrange(3)):
            transport[rng.randrange(len(transport))] = rng.randrange(256)
        wire.send(good4(bytes(transport)))


def main():
    wire = Wire()
    wire.send(good4(bth()))  # the kernel's first look at the cable
    failed = number = 0

    def result(right, name, note=""):
        nonlocal failed, number
        number += 1
        failed += not right
        print(f"{'ok' if right else 'not ok'} {number} - {name}")
        if not right:
            print("#", note)

    for name, packets, wanted in CASES:
        before = wire.counters()
        for packet in packets if isinstance(packets, list) else [packets]:
            wire.send(packet)
        got = changes(before, wire.counters())
        result(got == wanted, name, f"counted: {got}, wanted: {wanted}")
    before = wire.counters()
    fuzz(wire, 5000)
    got = changes(before, wire.counters())
    result(got.get("rcvd_pkts", 0) + got.get("malformed_pkts", 0) == 5000 and
           "icrc_err" not in got, "5000 odd packets", f"counted: {got}")
    before = wire.counters()
    wire.send(good4(bth()))
    got = changes(before, wire.counters())
    result(got == RIGHT, "a right one after all of that", f"counted: {got}")
    wire.close()
    print(f"1..{number}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
