#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""p2pmem_place.py PATH OFFSET SIZE: what a READ finds in host b's memory PATH at
OFFSET, in hexadecimal. On b integrity.py --serve runs."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
# pylint: disable=wrong-import-position
from rdmanode import Node, Remote, pair, unpair  # noqa: E402


def main():
    path, offset, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    here, there = Node("srnic0", os.environ["MY_IP"]), Remote("10.78.0.2")
    pair(here, there, "qp")
    there.mem("place", size, path, offset)
    addr, _, rkey = there.reg("place", "place")
    here.mem("found", size)
    mine, lkey, _ = here.reg("found", "found")
    here.post("qp", "READ", [(mine, size, lkey)], addr=addr, rkey=rkey)
    statuses = [wc["status"] for wc in here.sent("qp")]
    if statuses != ["SUCCESS"]:
        sys.exit(f"READ: {statuses}")
    print(here.look("found").hex())
    unpair(here, there, "qp")
    there.dereg("place")
    there.unmap("place")


if __name__ == "__main__":
    main()
