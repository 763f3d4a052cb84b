# SPDX-License-Identifier: GPL-2.0
"""What is put into a guest.

Kept in the cache for each kernel: an initramfs with the few modules that
find the root file system, and an image of /lib/modules. Made anew for each
run, because it is quick: a second initramfs with our modules, the provider,
the test programs and the scripts, which is copied over the root file system.
"""

import fcntl
import glob
import hashlib
import os
import shutil
import stat
import subprocess

from . import CACHE, VmError, script

BOOT_MODULES = ["virtio_pci", "virtio_blk", "virtio_net", "virtio_console",
                "crc32c_generic", "ext4", "9pnet_virtio", "9p"]
HERE = os.path.dirname(__file__)


class Archive:
    """A cpio archive (newc), as the kernel unpacks it."""

    def __init__(self):
        self._parts = []
        self._dirs = set()

    def _entry(self, name, mode, data=b""):
        ino = len(self._parts) + 1
        head = "070701" + "".join(f"{i:08x}" for i in (
            ino, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0))
        head = head.encode() + name.encode() + b"\0"
        self._parts.append(head + b"\0" * (-len(head) % 4) +
                           data + b"\0" * (-len(data) % 4))

    def directory(self, name):
        """A directory and those above it."""
        if name and name not in self._dirs:
            self.directory(os.path.dirname(name))
            self._dirs.add(name)
            self._entry(name, stat.S_IFDIR | 0o755)

    def add(self, name, data, mode=0o644):
        """A file with these bytes."""
        self.directory(os.path.dirname(name))
        self._entry(name, stat.S_IFREG | mode, data)

    def copy(self, name, path):
        """A file from outside."""
        with open(path, "rb") as file:
            self.add(name, file.read(), os.stat(path).st_mode & 0o777)

    def bytes(self):
        """The whole archive."""
        parts = list(self._parts)
        self._entry("TRAILER!!!", 0)
        whole = b"".join(self._parts)
        self._parts = parts
        return whole + b"\0" * (-len(whole) % 512)


class Kernel:
    """A kernel that is ready to boot: release, vmlinuz, initrd, modules."""

    def __init__(self, which):
        self.which = which
        self.debug = False
        self.kdir = which
        if which in ("6.12", "debug"):
            self.dir = script("kernel-build", which)
            self.kdir = which
        else:
            self.dir = _unpack_kernel(os.path.realpath(which))
            self.kdir = os.path.realpath(f"{self.dir}/build")
        with open(f"{self.dir}/release", encoding="ascii") as file:
            self.release = file.read().strip()
        # what only our own debug kernel has: KASAN, lockdep, kmemleak
        self.debug = self.release.endswith("-srnic-debug")
        self.vmlinuz = f"{self.dir}/vmlinuz"
        self.root = f"{self.dir}/root"
        boot = _cached("boot", [self.dir, *BOOT_MODULES, _read(f"{HERE}/initramfs-init")],
                       self._make_boot)
        self.initrd = f"{boot}/initrd.cpio"
        self.modules_image = f"{boot}/modules.img"

    def _make_boot(self, out):
        archive = Archive()
        archive.copy("init", f"{HERE}/initramfs-init")
        archive.copy("bin/busybox", script("guest-image") + "/busybox")
        for name in ("dev", "proc", "sys", "root"):
            archive.directory(name)
        order = []
        for name in BOOT_MODULES:
            done = subprocess.run(
                ["modprobe", "-d", self.root, "-S", self.release, "-D", name],
                capture_output=True, text=True, check=False)
            for line in done.stdout.splitlines():
                word = line.split()
                if word[0] == "insmod" and word[1] not in order:
                    order.append(word[1])
        for i, path in enumerate(order):
            archive.copy(f"boot-modules/{i:02}-{os.path.basename(path)}", path)
        with open(f"{out}/initrd.cpio", "wb") as file:
            file.write(archive.bytes())
        subprocess.run(
            ["mke2fs", "-q", "-F", "-t", "ext4", "-O", "^has_journal",
             "-E", "root_owner=0:0",
             "-d", f"{self.root}/lib/modules/{self.release}",
             f"{out}/modules.img", "256M"], check=True,
            stdout=subprocess.DEVNULL)


def _unpack_kernel(path):
    """A kernel that was made elsewhere: as kernel-build leaves it, or a tree
    in which it was built (make O=)."""
    if os.path.exists(f"{path}/release"):
        return path
    image = f"{path}/arch/x86/boot/bzImage"
    if not os.path.exists(image):
        raise VmError(f"--kernel: {path} is not 6.12, debug or the directory of a built kernel")
    info = os.stat(image)

    def install(out):
        shutil.copy(image, f"{out}/vmlinuz")
        os.symlink(path, f"{out}/build")
        with open(f"{out}/release", "w", encoding="ascii") as file:
            subprocess.run(["make", "-s", "-C", path, "kernelrelease"], stdout=file, check=True)
        subprocess.run(["make", "-s", "-C", path, f"INSTALL_MOD_PATH={out}/root",
                        "modules_install"], check=True, stdout=subprocess.DEVNULL)

    return _cached("kernel-other", [path, str(info.st_mtime_ns)], install)


def _cached(name, key, make):
    """As cached() in lib/common.sh."""
    digest = hashlib.sha256("\0".join(key).encode()).hexdigest()[:12]
    path = f"{CACHE}/{name}-{digest}"
    if not os.path.isdir(path):
        os.makedirs(f"{CACHE}/locks", exist_ok=True)
        with open(f"{CACHE}/locks/{name}-{digest}", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not os.path.isdir(path):
                shutil.rmtree(f"{path}.tmp", ignore_errors=True)
                os.makedirs(f"{path}.tmp")
                make(f"{path}.tmp")
                os.rename(f"{path}.tmp", path)
    os.utime(path)
    return path


def _read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def _add_modules(archive, kernel):
    """Our modules, and the indexes that modprobe needs to find them."""
    built = script("modules", kernel.kdir)
    modules = sorted(glob.glob(f"{built}/**/*.ko", recursive=True))
    if not modules:
        return
    where = f"lib/modules/{kernel.release}"
    # depmod wants to see them all in one place: links are enough
    stage = f"{built}/../stage.{os.getpid()}"
    try:
        shutil.copytree(f"{kernel.root}/{where}", f"{stage}/{where}", copy_function=os.link)
        os.makedirs(f"{stage}/{where}/extra")
        for path in modules:
            os.link(path, f"{stage}/{where}/extra/{os.path.basename(path)}")
            archive.copy(f"payload/usr/{where}/extra/{os.path.basename(path)}", path)
        for index in glob.glob(f"{stage}/{where}/modules.*"):
            if "builtin" not in index and not index.endswith(".order"):
                os.unlink(index)
        subprocess.run(["depmod", "-b", stage, kernel.release], check=True)
        for index in glob.glob(f"{stage}/{where}/modules.*"):
            archive.copy(f"payload/usr/{where}/{os.path.basename(index)}", index)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _add_programs(archive):
    """The provider, our tool, and the tests' C programs."""
    with open(f"{CACHE}/locks/programs", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        out = script("programs")
        for path in sorted(glob.glob(f"{out}/lib/*.so")):
            archive.copy(f"payload/usr/lib/x86_64-linux-gnu/libibverbs/{os.path.basename(path)}",
                         path)
        for path in sorted(glob.glob(f"{out}/lib/*.driver")):
            archive.copy(f"payload/etc/libibverbs.d/{os.path.basename(path)}", path)
        for path in sorted(glob.glob(f"{out}/bin/*")):
            archive.copy(f"payload/usr/local/bin/{os.path.basename(path)}", path)


def payload(kernel, generic=False):
    """The archive with all that is ours and the same for both hosts."""
    archive = Archive()
    if generic:
        archive.copy("payload/usr/lib/srnic-vm/generic/p2pmem.ko",
                     script("modules", "debug-generic") + "/drivers/p2pmem/p2pmem.ko")
    archive.copy("payload/usr/lib/srnic-vm/init", f"{HERE}/guest-init")
    _add_modules(archive, kernel)
    _add_programs(archive)
    return archive
