#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Bytes that a program writes to /dev/p2pmemN are in the memory behind the
# BAR, which is a file out here; and on a persistent donor they are there
# after a reboot.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
# shellcheck source=tests/vm/lib/tap.sh
. tests/vm/lib/tap.sh

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
pattern="seen from outside $RANDOM-$RANDOM-$$"

boot() # STEP
{
	scripts/vm run --quiet --donors bar:16M,bar:16M \
		--donor-file "$dir/volatile" --donor-file "$dir/persistent" \
		--env "PATTERN=$pattern" --env "STEP=$1" tests/vm/guest/p2pmem_outside.py >&2
}

# at FILE OFFSET: the pattern is there, and only there
at()
{
	[ "$(grep -aobF "$pattern" "$1" | cut -d: -f1)" = "$2" ]
}

inside=$(((1 << 20) + 4091))
ok "a program in the guest maps both donors and writes" boot write
ok "volatile: the bytes are at the mapping's place" at "$dir/volatile" $inside
ok "persistent: the bytes are at the offset of mmap" \
	at "$dir/persistent" $(((12 << 20) + inside))
ok "persistent: after a reboot a program finds them" boot read
done_testing
