# SPDX-License-Identifier: GPL-2.0
"""One guest: its QEMU command line and process."""

import ctypes
import os
import re
import signal
import socket
import subprocess

from . import TOP, VmError, pcie

_PR_SET_PDEATHSIG = 1
NUMBER = {"a": 1, "b": 2}
CABLES = ("data", "control")


def cables(hosts):
    """Host: {cable: its end}.

    Made here and not by QEMU, whose accepted sockets block: a host whose
    neighbour takes no packets would stand still, all of it.
    """
    ends = {host: {} for host in hosts}
    if len(hosts) == 2:
        for name in CABLES:
            for host, end in zip(hosts, socket.socketpair()):
                end.setblocking(False)
                ends[host][name] = end
    return ends


def disks(options):
    """What --disk says: (host, file), ..."""
    hosts = "ab"[:options.hosts]
    found = []
    for text in options.disk:
        host, path = (text[0], text[2:]) if text[1:2] == ":" else (hosts[-1], text)
        if host not in hosts:
            raise VmError(f"--disk: {text!r}: there is no host {host}")
        if not os.path.isfile(path):
            raise VmError(f"--disk: no such file: {path}")
        found.append((host, path))
    return found


def accelerator(icount=False, cpuinfo="/proc/cpuinfo", kvm="/dev/kvm"):
    """QEMU's arguments for KVM where it works. /dev/kvm alone proves nothing: it opens
    on machines that can't use it."""
    if icount:
        return ["-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off",
                "-cpu", "max,la57=off"]
    with open(cpuinfo, encoding="ascii", errors="replace") as file:
        if re.search(r"^flags\s*:.*\b(vmx|svm)\b", file.read(), re.M) and \
                os.access(kvm, os.R_OK | os.W_OK):
            return ["-accel", "kvm", "-cpu", "host"]
    # without ERMS: an emulated "rep movsb" moves a byte in a round, "rep movsq" eight
    return ["-accel", "tcg,thread=multi", "-cpu", "max,la57=off,erms=off"]


def _die_with_parent():
    """No QEMU outlives us, not even after a kill -9."""
    os.setpgid(0, 0)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Machine:
    """A guest that is being prepared, or running."""

    def __init__(self, host, ends, options, kernel, image, donors, tmpdir):
        self.host = host
        self.ends = ends
        self.options = options
        self.kernel = kernel
        self.image = image
        self.donors = [d for d in donors if d.host == host]
        self.tmp = tmpdir
        self.process = None
        self.interactive = options.interactive and host == "a"

    def sock(self, name):
        """The path of one of this guest's sockets."""
        return f"{self.tmp}/{self.host}-{name}"

    def prepare(self, payload, extra):
        """Write the initramfs: the kernel's, the payload, EXTRA files."""
        with open(f"{self.tmp}/{self.host}-initrd", "wb") as out:
            for path in (self.kernel.initrd,):
                with open(path, "rb") as file:
                    out.write(file.read())
            out.write(payload)
            out.write(extra)

    def _cables(self):
        """eth0 to the peer; eth1, on which tests talk, as well."""
        args = []
        for name in CABLES:
            if name not in self.ends:
                # a cable with nobody at the other end: packets vanish
                args += ["-netdev", f"dgram,id={name},local.type=unix,"
                                    f"local.path={self.tmp}/{name},remote.type=unix,"
                                    f"remote.path={self.tmp}/nobody"]
            else:
                args += ["-netdev", f"stream,id={name},addr.type=fd,"
                                    f"addr.str={self.ends[name].fileno()}"]
        return args

    def _devices(self):
        number = NUMBER[self.host]
        nic = "virtio-net-pci,romfile=,netdev={},mac=52:54:00:{}:00:0{},host_mtu={}"
        args = ["-device", "virtio-serial-pci,bus=pcie.0,addr=5,max_ports=8",
                "-device", nic.format("control", "78", number, 1500) + ",bus=pcie.0,addr=6"]
        args += pcie.tree(self.donors, nic.format("data", "77", number, 4400))
        ports = ["out", "ctl"]
        for i, name in enumerate(ports):
            args += ["-chardev", f"socket,id={name},path={self.sock(name)}",
                     "-device", f"virtserialport,nr={i + 1},chardev={name},name=srnic.{name}"]
        if self.interactive:
            args += ["-chardev", "stdio,id=tty,signal=off",
                     "-device", "virtconsole,nr=0,chardev=tty"]
        args += ["-chardev", f"socket,id=console,path={self.sock('console')}",
                 "-serial", "chardev:console",
                 "-chardev", f"socket,id=monitor,path={self.sock('monitor')},server=on,wait=off",
                 "-mon", "chardev=monitor,mode=readline"]
        return args

    def _drives(self):
        drives = [(f"{self.image}/root.img", True), (self.kernel.modules_image, True)]
        drives += [(path, False) for host, path in disks(self.options) if host == self.host]
        args = []
        for i, (path, throw_away) in enumerate(drives):
            snapshot = "on,file.locking=off" if throw_away else "off"
            args += ["-drive", f"if=none,id=drive{i},format=raw,file={pcie.quoted(path)},snapshot={snapshot}",
                     "-device", f"virtio-blk-pci,drive=drive{i},bus=pcie.0,addr={7 + i:#x}"]
        # on a bus that is named: else QEMU may try one that takes bridges only
        args += ["-fsdev", f"local,id=srnic,path={pcie.quoted(TOP)},security_model=none,"
                           "readonly=on,multidevs=remap",
                 "-device", "virtio-9p-pci,fsdev=srnic,mount_tag=srnic,bus=pcie.0,addr=4"]
        return args

    def command(self):
        """The whole command line."""
        opt = self.options
        append = ["console=ttyS0", "loglevel=5", "panic=-1", "oops=panic", "tsc=nowatchdog",
                  "nokaslr", "mitigations=off", "rcupdate.rcu_cpu_stall_timeout=120",
                  "random.trust_cpu=on", "net.ifnames=0",
                  # a busy machine: the timer seems dead when its tick is merely late
                  "no_timer_check",
                  # what was translated is found by its virtual address: at a new one
                  # in each process all of libc would be translated again
                  "norandmaps"]
        if self.kernel.debug:
            append += ["panic_on_warn=1", "hung_task_panic=0", "workqueue.watchdog_thresh=120",
                       "sysctl.kernel.hung_task_timeout_secs=100"]
        append += opt.append
        return ["qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none",
                "-no-reboot", "-machine", "q35,usb=off", *accelerator(opt.icount),
                "-smp", str(opt.cpus), "-m", opt.memory or ("2G" if self.kernel.debug else "1G"),
                "-kernel", self.kernel.vmlinuz, "-initrd", f"{self.tmp}/{self.host}-initrd",
                "-append", " ".join(append),
                *self._cables(), *self._devices(), *self._drives()]

    def start(self):
        """Boot."""
        with open(f"{self.tmp}/{self.host}-qemu.log", "wb") as log:
            try:
                self.process = subprocess.Popen(  # pylint: disable=consider-using-with
                    self.command(), stderr=log, preexec_fn=_die_with_parent,
                    pass_fds=[end.fileno() for end in self.ends.values()],
                    stdin=None if self.interactive else subprocess.DEVNULL,
                    stdout=None if self.interactive else log)
            except FileNotFoundError as error:
                raise VmError("no qemu-system-x86_64: scripts/setup installs it") from error
        for end in self.ends.values():
            end.close()
        if self.interactive:
            # QEMU reads the terminal: it must be in its foreground
            _foreground(self.process.pid)

    def complaint(self):
        """What QEMU itself had to say."""
        with open(f"{self.tmp}/{self.host}-qemu.log", encoding="utf-8", errors="replace") as file:
            return file.read().strip()

    def stop(self):
        """End the guest; its file-backed memory is in its files already."""
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def _foreground(pgid):
    if os.isatty(0):
        old = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        os.tcsetpgrp(0, pgid)
        signal.signal(signal.SIGTTOU, old)
