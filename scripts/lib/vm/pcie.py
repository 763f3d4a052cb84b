# SPDX-License-Identifier: GPL-2.0
"""The PCIe tree: donors and the network card.

    pcie.0 -- root port -- switch -+- eth0
                                   +- donor, donor, ...
           -- root port -- donor@root
    another host bridge -- root port -- donor@host

Peers may reach each other where they share the switch; a donor@root is far
away, and a donor@host still farther.
"""

import os
import re
from collections import namedtuple

from . import VmError

# root: "" for below the switch, "root", "host"
Donor = namedtuple("Donor", "host kind size root name file")

KINDS = {
    # kind: (default size in MiB, backed by a file)
    "bar": (64, True),
    "pmr": (64, True),
    "cmb": (16, False),
    # a CMB (of 4 MiB) and a PMR; neither
    "both": (64, True),
    "nvme": (0, False),
    # no donor, but who may want to reach one: an NVMe drive
    "drive": (32, True),
    "testdev": (16, False),
    "edu": (1, False),
}

_ITEM = re.compile(r"(?:([ab]):)?([a-z]+)(?::(\d+)([KMG]?))?(?:@(root|host))?$")
_UNIT = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def parse(text, files, hosts, tmpdir):
    """The donors of LIST: [HOST:]KIND[:SIZE][@root|@host],..."""
    donors = []
    files = list(files)
    for item in filter(None, (text or "").split(",")):
        match = _ITEM.match(item)
        if not match or match[2] not in KINDS:
            raise VmError(f"--donors: {item!r} is not [a:|b:]KIND[:SIZE][@root|@host] "
                          f"with a kind of {', '.join(KINDS)}")
        host = match[1] or hosts[-1]
        if host not in hosts:
            raise VmError(f"--donors: {item!r}: there is no host {host}")
        kind = match[2]
        mib, backed = KINDS[kind]
        size = int(match[3]) * _UNIT[match[4]] if match[3] else mib << 20
        # a PCI BAR's; a drive and a controller without memory have none
        if kind not in ("drive", "nvme") and size & (size - 1) or match[3] and not size:
            raise VmError(f"--donors: {item!r}: its size must be a power of two")
        # so that bar0 is host b's first bar: what device_del is told
        name = kind + str(sum(d.host == host and d.kind == kind for d in donors))
        path = None
        if backed:
            path = files.pop(0) if files else f"{tmpdir}/{host}-{name}"
            _make_file(path, size)
        donors.append(Donor(host, kind, size, match[5] or "", name, path))
    if files:
        raise VmError(f"--donor-file: no donor uses {files[0]}")
    return donors


def _make_file(path, size):
    """A file that is there keeps its bytes: that is what persistent means."""
    try:
        with open(path, "ab") as file:
            if os.fstat(file.fileno()).st_size < size:
                file.truncate(size)
    except OSError as error:
        raise VmError(f"--donors: a file of {size} bytes, {path}: {error.strerror}") from error


def quoted(path):
    """As QEMU takes it among options, which commas divide."""
    return path.replace(",", ",,")


def _device(donor, bus):
    mem = f"mem-{donor.name}"
    mib = max(1, donor.size >> 20)
    args = []
    if donor.kind == "drive":
        args += ["-drive", f"if=none,id=disk-{donor.name},format=raw,file={quoted(donor.file)}"]
    elif donor.file:
        args += ["-object", f"memory-backend-file,id={mem},share=on,"
                            f"mem-path={quoted(donor.file)},size={donor.size}"]
    device = {
        "bar": f"ivshmem-plain,memdev={mem}",
        "pmr": f"nvme,serial={donor.name},pmrdev={mem}",
        "cmb": f"nvme,serial={donor.name},cmb_size_mb={mib}",
        "both": f"nvme,serial={donor.name},cmb_size_mb=4,pmrdev={mem}",
        "nvme": f"nvme,serial={donor.name}",
        "drive": f"nvme,serial={donor.name},drive=disk-{donor.name}",
        "testdev": f"pci-testdev,membar={donor.size}",
        "edu": "edu",
    }[donor.kind]
    return args + ["-device", f"{device},id={donor.name},bus={bus}"]


def tree(donors, nic):
    """QEMU's arguments for one host; NIC is eth0's device without its bus."""
    args = []
    port = 0

    def root_port(name, bus="pcie.0"):
        nonlocal port
        port += 1
        return ["-device", f"pcie-root-port,id={name},bus={bus},"
                           f"addr={0x10 + port:#x},chassis={port},slot={port}"]

    if not donors:
        return ["-device", f"{nic},bus=pcie.0"]
    args += root_port("rp") + ["-device", "x3130-upstream,id=up,bus=rp"]
    near = [None] + [d for d in donors if not d.root]
    for i, donor in enumerate(near):
        args += ["-device", f"xio3130-downstream,id=down{i},bus=up,"
                            f"chassis={100 + i},slot={i}"]
        args += _device(donor, f"down{i}") if donor else \
            ["-device", f"{nic},bus=down{i}"]
    if any(d.root == "host" for d in donors):
        args += ["-device", "pxb-pcie,id=host2,bus=pcie.0,bus_nr=128"]
    for donor in (d for d in donors if d.root):
        args += root_port(f"far-{donor.name}",
                          "host2" if donor.root == "host" else "pcie.0")
        args += _device(donor, f"far-{donor.name}")
    return args
