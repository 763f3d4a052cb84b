#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Judge a capture of RoCEv2: interop_icrc.py FILE.pcap OUR_MAC

Wireshark's dissector says where each packet's ICRC is, and that nothing is
malformed; whether the ICRC is right is computed here, from the bytes of the
capture alone. Prints what there was: direction, IP version, opcode.
"""

import collections
import os
import struct
import subprocess
import sys
import zlib

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)) + "/../lib")
# pylint: disable=wrong-import-position
import roce  # noqa: E402

# RoCEv2 may leave out the checksum of UDP over IPv6 (IBTA A17.3.1, RFC 6936)
FINE = "Illegal checksum value (0)"
# perftest's payload means nothing, whatever it looks like
GUESSES = ("smcr_infiniband", "smb_direct_infiniband", "rpcrdma_infiniband",
           "nvme_rdma", "lnet_ib", "iser_infiniband", "eth_over_ib",
           "mellanox_eoib", "sdp_infiniband", "fc_infiniband")
FIELDS = ("frame.number", "infiniband.bth.opcode", "infiniband.invariant.crc",
          "_ws.malformed", "_ws.expert.message")


def frames(path):
    """The Ethernet frames of a classic pcap file."""
    with open(path, "rb") as file:
        data = file.read()
    magic, _, _, _, _, _, link = struct.unpack_from("<IHHiIII", data)
    if magic not in (0xa1b2c3d4, 0xa1b23c4d) or link != 1:
        raise SystemExit(f"{path}: not a capture of Ethernet")
    pos = 24
    while pos < len(data):
        _, _, caplen, length = struct.unpack_from("<IIII", data, pos)
        if caplen != length:
            raise SystemExit(f"{path}: a frame is cut")
        pos += 16
        yield data[pos:pos + caplen]
        pos += caplen


def icrc6(ip6, udp, transport):
    """As roce.icrc(), for IPv6: class, flow label and hop limit count as ones."""
    ip6, udp, transport = bytearray(ip6), bytearray(udp), bytearray(transport)
    ip6[0] |= 0x0f
    ip6[1:4] = b"\xff" * 3
    ip6[7] = 0xff
    udp[6:8] = b"\xff\xff"
    transport[4] = 0xff
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + ip6 + udp + transport))


def judge(frame):
    """IP version, opcode, the ICRC on the wire, the right one."""
    ethertype, = struct.unpack_from(">H", frame, 12)
    if ethertype == 0x0800:
        size = (frame[14] & 15) * 4
        end = 14 + struct.unpack_from(">H", frame, 16)[0]
        wanted = roce.icrc
    else:
        size = 40
        end = 54 + struct.unpack_from(">H", frame, 18)[0]
        wanted = icrc6
    udp = 14 + size
    if struct.unpack_from(">H", frame, udp + 2)[0] != roce.PORT:
        raise SystemExit("not RoCE: filter the capture")
    right = wanted(frame[14:udp], frame[udp:udp + 8], frame[udp + 8:end - 4])
    return 4 if size != 40 else 6, frame[udp + 8], frame[end - 4:end], right


def dissected(path):
    """Wireshark's view of each frame."""
    command = ["tshark", "-n", "-r", path, "-T", "fields", "-E", "separator=|"]
    for field in FIELDS:
        command += ["-e", field]
    for guess in GUESSES:
        command += ["--disable-heuristic", guess]
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, text=True).stdout
    return [line.split("|", len(FIELDS) - 1) for line in out.splitlines()]


def main():
    """0: nothing wrong."""
    path, mac = sys.argv[1], bytes.fromhex(sys.argv[2].replace(":", ""))
    seen, bad = collections.Counter(), 0
    shark = dissected(path)
    capture = list(frames(path))
    if len(shark) != len(capture):
        raise SystemExit(f"{len(capture)} frames, dissected: {len(shark)}")
    for frame, (number, opcode, crc, malformed, expert) in zip(capture, shark):
        version, op, got, right = judge(frame)
        sent = frame[6:12] == mac
        seen["sent" if sent else "received", version, op] += 1
        why = []
        if got != right:
            why.append(f"ICRC {got.hex()}, right: {right.hex()}")
        if opcode == "" or int(opcode, 0) != op:
            why.append(f"opcode {op}, dissected as {opcode!r}")
        if crc == "" or int(crc, 0) != int.from_bytes(got, "big"):
            why.append(f"ICRC {got.hex()}, dissected as {crc!r}")
        if malformed or expert.replace(FINE, "").strip(","):
            why.append(f"{malformed} {expert}")
        if why:
            bad += 1
            if bad < 10:
                print(f"frame {number}, {'sent' if sent else 'received'}: {'; '.join(why)}")
    for (way, version, op), count in sorted(seen.items()):
        print(f"{way} IPv{version} opcode {op:#04x}: {count}")
    print(f"{sum(seen.values())} packets, {bad} bad")
    return 1 if bad or not seen else 0


if __name__ == "__main__":
    sys.exit(main())
