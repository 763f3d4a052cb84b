# SPDX-License-Identifier: GPL-2.0
"""What comes out of the guests.

Three streams for each guest: the console, in which a complaint of the kernel
ends the run; the script's output; and the control port, on which a guest
says one line at a time: booted, exit STATUS, passive (nothing runs here, the
others decide), monitor COMMAND (for its own QEMU), kill (the same QEMU, at once).
"""

import os
import re
import selectors
import socket
import sys
import time

from . import VmError

KERNEL_COMPLAINT = 120
EMULATOR_FAULT = 121
BOOT_FAULT = 122
TIMEOUT = 124
NO_BOOT = 125

# How a kernel says that something is wrong. On the console only messages of
# level warning and worse arrive.
_COMPLAINT = re.compile(
    r"Kernel panic|\bOops\b|\bBUG\b|\bWARNING:|KASAN|UBSAN|kmemleak: \d+ new|"
    r"general protection fault|unable to handle|refcount_t:|ODEBUG:|"
    r"possible (?:circular|recursive|irq lock)|inconsistent lock state|"
    r"suspicious RCU usage|bad unlock balance|DEBUG_LOCKS_WARN_ON|"
    r"INFO: task .* blocked|rcu.*(?:stall|detected expedited)|non-static key|"
    r"sleeping function called|scheduling while atomic|still held|"
    r"list_(?:add|del) corruption|soft lockup|hard LOCKUP|workqueue lockup|"
    r"unregister_netdevice: waiting|sysfs: cannot create duplicate|ref_tracker: .* has|Bad page|"
    r"Out of memory: Killed|invalid opcode|stack-protector|Modules linked in")
# What merely looks like it.
_HARMLESS = re.compile(r"hogged CPU|Marking clocksource")
# Of QEMU's monitor: before a command, and after its answer.
_PROMPT = b"(qemu) "


# QEMU's emulated CPU may go wrong (seen with 7.2: a double fault whose EFLAGS were
# the low half of a pointer). Bits 22 to 31 are zero on every real CPU, whatever
# the kernel does: neither POPF nor IRET can set them.
_EFLAGS = re.compile(r"\bEFLAGS: ([0-9a-f]{8})\b")
_NO_CPU_HAS = 0xffc00000


def emulator_fault(lines):
    """The EFLAGS that no CPU can have, where a kernel's last words begin with a
    double fault with them; or None."""
    if not any("double fault" in line for line in lines[:4]):
        return None
    match = next(filter(None, map(_EFLAGS.search, lines)), None)
    return match[1] if match and int(match[1], 16) & _NO_CPU_HAS else None


def died_untouched(guest):
    """Did its kernel die while it booted, with none of our modules in it? Then it,
    or the CPU that QEMU emulates, did that alone."""
    return not guest.booted and any(
        "Not tainted" in line for line in guest.console[guest.bad_line:])


def is_complaint(line):
    """Does the kernel say on this line that something is wrong?"""
    return bool(_COMPLAINT.search(line)) and not _HARMLESS.search(line)


class Lines:
    """A stream that arrives in pieces, cut into lines."""

    def __init__(self):
        self._rest = b""

    def feed(self, data):
        """The lines that DATA completes."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [line.rstrip(b"\r").decode("utf-8", "replace") for line in lines]

    def rest(self):
        """A last line without its end."""
        rest, self._rest = self._rest, b""
        return [rest.decode("utf-8", "replace")] if rest else []


class Guest:
    """What is known of one guest."""

    def __init__(self, machine):
        self.machine = machine
        self.host = machine.host
        self.lines = {"console": Lines(), "out": Lines(), "ctl": Lines()}
        self.console = []
        self.bad_line = None
        self.booted = False
        self.passive = False
        self.status = None

    @property
    def done(self):
        """Is there nothing to wait for?"""
        return self.passive or self.status is not None


class Watch:
    """Follows the guests until they are done or one of them fails."""

    def __init__(self, machines, options, mode="w"):
        self.guests = [Guest(machine) for machine in machines]
        self.options = options
        self.started = time.monotonic()
        self.selector = selectors.DefaultSelector()
        try:
            self._log = open(options.log, mode, encoding="utf-8") if options.log else None
        except OSError as error:
            raise VmError(f"--log {options.log}: {error.strerror}") from error
        for guest in self.guests:
            for name in guest.lines:
                listener = socket.socket(socket.AF_UNIX)
                listener.bind(guest.machine.sock(name))
                listener.listen()
                self.selector.register(listener, selectors.EVENT_READ, (guest, name, True))

    def _read(self, key):
        guest, name, listening = key.data
        if listening:
            conn, _ = key.fileobj.accept()
            self.selector.register(conn, selectors.EVENT_READ, (guest, name, False))
            return
        try:
            data = key.fileobj.recv(65536)
        except OSError:
            data = b""
        if not data:
            self.selector.unregister(key.fileobj)
            lines = guest.lines[name].rest()
        else:
            lines = guest.lines[name].feed(data)
        for line in lines:
            getattr(self, "_on_" + name)(guest, line)

    def _on_out(self, guest, line):
        if self.options.tap:
            # host a's lines are the test's; the others' are comments
            line = line if guest.host == "a" else f"# {guest.host}| {line}"
        else:
            line = f"{guest.host}| {line}"
        print(line, flush=True)
        self._record(line)

    def _on_console(self, guest, line):
        guest.console.append(line)
        self._record(f"{guest.host} console| {line}")
        if self.options.verbose:
            self.say(f"{guest.host} console| {line}")
        if guest.bad_line is None and is_complaint(line):
            guest.bad_line = len(guest.console) - 1
            # "cut here" and what leads to it belong to the report
            guest.bad_line = max(0, guest.bad_line - 2)

    def _on_ctl(self, guest, line):
        self._record(f"{guest.host} control| {line}")
        word, _, rest = line.partition(" ")
        if word == "booted":
            guest.booted = True
            self.say(f"host {guest.host} is up after "
                     f"{time.monotonic() - self.started:.1f} s", quiet=True)
        elif word == "passive":
            guest.passive = True
        elif word == "exit":
            guest.status = int(rest)
        elif word == "monitor":
            self._monitor(guest, rest)
        elif word == "kill":
            guest.machine.process.kill()

    def _monitor(self, guest, command):
        try:
            with socket.socket(socket.AF_UNIX) as conn:
                conn.settimeout(5)
                conn.connect(guest.machine.sock("monitor"))
                conn.sendall(command.encode() + b"\n")
                # It echoes each letter. Who hangs up before the command has been
                # read to its end, and done, takes it back
                answer = b""
                while answer.count(_PROMPT) < 2:
                    answer += conn.recv(65536) or _PROMPT * 2
            said = answer.split(b"\n", 2)[-1].decode(errors="replace")
            self._record(f"{guest.host} monitor| {command}: {said.strip()}")
        except OSError as error:
            self.say(f"{guest.host}: monitor: {error}")

    def _record(self, line):
        if self._log:
            print(f"{time.monotonic() - self.started:8.2f} {line}", file=self._log, flush=True)

    def say(self, line, quiet=False):
        """A word of our own."""
        if quiet and self.options.quiet:
            return
        if self.options.tap:
            print(f"# {line}", flush=True)
        else:
            print(line, file=sys.stderr, flush=True)

    def pump(self, seconds):
        """Take in what arrives; True if anything did."""
        events = self.selector.select(seconds)
        for key, _ in events:
            self._read(key)
        return bool(events)

    def _drain(self, seconds):
        """What is still on its way: up to SECONDS, less when it is quiet."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.pump(min(0.3, seconds)):
            pass

    def _show_console(self, guest, first):
        lines = guest.console[first:][:100]
        for line in lines:
            self.say(f"{guest.host} console| {line}")

    def _complaints(self):
        bad = [g for g in self.guests if g.bad_line is not None]
        if not bad:
            return None
        self._drain(5)
        for guest in bad:
            self._show_console(guest, guest.bad_line)
        faults = [emulator_fault(guest.console[guest.bad_line:]) for guest in bad]
        if all(faults):
            self.say(f"vm: the CPU that QEMU emulates for host {bad[0].host} went wrong: "
                     f"EFLAGS {faults[0]} has bits that no CPU has. Run it again")
            return EMULATOR_FAULT
        if all(died_untouched(guest) for guest in bad):
            self.say(f"vm: the kernel of host {bad[0].host} died in its boot, "
                     "before a module of srnic was in it (above)")
            return BOOT_FAULT
        self.say(f"vm: the kernel of host {bad[0].host} complained (above)")
        return KERNEL_COMPLAINT

    def _verdict(self):
        """A status, or None while the run goes on."""
        status = self._complaints()
        if status is not None:
            return status
        for guest in self.guests:
            if guest.status:
                self.say(f"vm: host {guest.host}: status {guest.status}", quiet=True)
                return guest.status
        for guest in self.guests:
            if not guest.done and guest.machine.process.poll() is not None:
                self._drain(1)
                if guest.done or guest.bad_line is not None:
                    return self._verdict()
                self._show_console(guest, -20)
                self.say(f"vm: host {guest.host} ended by itself: "
                         f"{guest.machine.complaint() or 'reset or powered off'}")
                return NO_BOOT
        if all(g.done for g in self.guests) and not all(g.passive for g in self.guests):
            return 0
        return self._overdue()

    def _overdue(self):
        limit = self.options.timeout
        if not limit or time.monotonic() - self.started < limit:
            return None
        for guest in self.guests:
            if guest.done:
                continue
            self._show_console(guest, -20)
            what = "its script still runs" if guest.booted else "it has not booted"
            self.say(f"vm: host {guest.host}: timeout after {limit} s: {what}")
        return TIMEOUT if all(g.booted for g in self.guests) else NO_BOOT

    def run(self):
        """Until the end; the status of it all."""
        while True:
            self.pump(0.2)
            status = self._verdict()
            if status is not None:
                break
        if status not in (KERNEL_COMPLAINT, EMULATOR_FAULT, BOOT_FAULT):
            # output first, then a complaint that the last moments brought
            self._drain(0.3)
            for guest in self.guests:
                for line in guest.lines["out"].rest():
                    self._on_out(guest, line)
            status = self._complaints() or status
        return status

    def close(self):
        """Let go of the sockets."""
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()
        self.selector.close()
        if self._log:
            self._log.close()
            if os.path.getsize(self.options.log) == 0:
                os.unlink(self.options.log)
