# SPDX-License-Identifier: GPL-2.0
"""Messages in pieces."""

from rdmanode import PAGE


class Layout:
    """Where a message of 'size' bytes lies in a buffer, in 'pieces' pieces."""

    def __init__(self, rng, size, pieces):
        cuts = sorted(rng.randrange(size + 1) for _ in range(pieces - 1))
        lengths = [b - a for a, b in zip([0] + cuts, cuts + [size])]
        at = PAGE - rng.randrange(1, 64)	# odd places, page borders inside
        self.parts = []
        for length in lengths:
            self.parts.append((at, length))
            at += length + rng.randrange(1, 9)
        self.total = at + 200

    def sges(self, addr, lkey):
        return [(addr + at, length, lkey) for at, length in self.parts]

    def gather(self, data):
        return b"".join(data[at:at + length] for at, length in self.parts)

    def scatter(self, data, message):
        data, done = bytearray(data), 0
        for at, length in self.parts:
            data[at:at + length] = message[done:done + length]
            done += length
        return bytes(data)
