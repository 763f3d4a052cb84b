# SPDX-License-Identifier: GPL-2.0
"""RoCEv2 packets by hand: the wire format written a second time.

Nothing here is shared with the driver, so that it can serve as an oracle:
packets that the driver must understand, and the check of those it sends.
"""

import socket
import struct
import zlib

PORT = 4791

# BTH opcodes of the RC transport (IBTA table 38)
SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_ONLY = 0x00, 0x01, 0x02, 0x04
WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_ONLY = 0x06, 0x07, 0x08, 0x0A
READ_REQUEST, ACKNOWLEDGE = 0x0C, 0x11

# AETH syndromes
NAK_PSN_SEQUENCE, NAK_INVALID_REQUEST = 0x60, 0x61
NAK_REMOTE_ACCESS, NAK_REMOTE_OPERATION = 0x62, 0x63


def icrc(ip, udp, transport):
    """The invariant CRC over a packet, as it is sent (little endian).

    IBTA A17.3.3: what routers may change counts as ones: TOS, TTL and
    checksum of IP, checksum of UDP, the reserved byte of BTH; in front come
    64 ones in the place of the LRH that RoCE has not.
    """
    ip, udp, transport = bytearray(ip), bytearray(udp), bytearray(transport)
    ip[1] = ip[8] = 0xff
    ip[10:12] = udp[6:8] = b"\xff\xff"
    transport[4] = 0xff
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + ip + udp + transport))


def bth(opcode, qpn, psn, *, pad=0, ack=False, pkey=0xffff, solicited=False):
    """A Base Transport Header."""
    return struct.pack(">BBHII", opcode, solicited << 7 | pad << 4, pkey,
                       qpn & 0xffffff, ack << 31 | psn & 0xffffff)


def reth(addr, rkey, length):
    """An RDMA Extended Transport Header."""
    return struct.pack(">QII", addr & (1 << 64) - 1, rkey, length)


class Raw:
    """Sends packets with any content, and sees all that arrives for UDP."""

    def __init__(self, me, peer, sport=0xc123):
        self.me, self.peer, self.sport = me, peer, sport
        self.ident = 1
        self.tx = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
        self.rx = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP)

    def close(self):
        self.tx.close()
        self.rx.close()

    def send(self, transport, *, spoil=False):
        """Send BTH, other headers and padded payload; add all around them."""
        length = 8 + len(transport) + 4
        udp = struct.pack(">HHHH", self.sport, PORT, length, 0)
        self.ident += 1
        # the kernel fills in the checksum only: ICRC is over the rest
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + length, self.ident,
                         0x4000, 64, socket.IPPROTO_UDP, 0,
                         socket.inet_aton(self.me), socket.inet_aton(self.peer))
        crc = bytearray(icrc(ip, udp, transport))
        if spoil:
            crc[0] ^= 1
        self.tx.sendto(ip + udp + transport + bytes(crc), (self.peer, 0))

    def receive(self, qpn, timeout):
        """The next packet for this QPN as (opcode, psn, rest), or None.

        Raises ValueError if its ICRC is wrong.
        """
        self.rx.settimeout(timeout)
        while True:
            try:
                packet = self.rx.recv(65536)
            except TimeoutError:
                return None
            head = (packet[0] & 15) * 4
            udp, transport = packet[head:head + 8], packet[head + 8:-4]
            if len(transport) < 12 or udp[2:4] != struct.pack(">H", PORT):
                continue
            if int.from_bytes(transport[5:8], "big") != qpn:
                continue
            if icrc(packet[:head], udp, transport) != packet[-4:]:
                raise ValueError("wrong ICRC")
            return (transport[0], int.from_bytes(transport[9:12], "big"),
                    transport[12:])
