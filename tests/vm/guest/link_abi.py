#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Open a device as a provider of some ABI version would: link_abi.py [VERSION]

Speaks the uverbs protocol by hand. Without VERSION the request has no part
for the driver. Fails with the kernel's error.
"""

import ctypes
import glob
import os
import struct
import sys

GET_CONTEXT = 0

node = sorted(glob.glob("/dev/infiniband/uverbs*"))[0]
response = ctypes.create_string_buffer(16)
driver = struct.pack("=II", int(sys.argv[1]), 0) if len(sys.argv) > 1 else b""
body = struct.pack("=Q", ctypes.addressof(response)) + driver
head = struct.pack("=IHH", GET_CONTEXT, (8 + len(body)) // 4, len(response) // 4)
fd = os.open(node, os.O_RDWR | os.O_CLOEXEC)
try:
    os.write(fd, head + body)
except OSError as error:
    sys.exit(str(error))
