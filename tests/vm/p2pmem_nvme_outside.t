#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# perftest with an NVMe controller's PMR and CMB; what was written to the PMR is in
# the file behind it, out here, at the exact offset; and is found there by RDMA when
# the guest, whose QEMU was killed, has been started anew.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
# shellcheck source=tests/vm/lib/tap.sh
. tests/vm/lib/tap.sh

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# 64 bytes, as perftest wants them and as they are in memory
words=$(od -An -v -tx4 -N64 /dev/urandom | tr -s ' \n' '\n' | sed '/^$/d; s/^/0x/' | paste -sd,)
pattern=$(python3 -c 'import struct, sys
words = [int(i, 16) for i in sys.argv[1].split(",")]
print(struct.pack("<16I", *words).hex())' "$words")
place=$(((9 << 20) + 65536))

boot() # STEP
{
	scripts/vm run --tap --hosts 2 --timeout 400 --donors b:pmr:16M,b:cmb:16M,a:pmr:16M,a:cmb:16M \
		--donor-file "$dir/pmr" --env "WORDS=$words" --env "PATTERN=$pattern" \
		--env "PLACE=$place" --env "STEP=$1" tests/vm/guest/p2pmem_nvme_rdma.sh >"$dir/$1" 2>&1
	local status=$?
	cat "$dir/$1"
	return $status
}

# The whole of the 64 KiB at the place, and no such byte elsewhere.
outside()
{
	python3 - "$dir/pmr" "$place" "$pattern" <<-'PYTHON'
		import sys
		data = open(sys.argv[1], "rb").read()
		place, pattern = int(sys.argv[2]), bytes.fromhex(sys.argv[3])
		good = data[place:place + 65536] == pattern * (65536 // len(pattern))
		print("at the place:", data[place:place + 64].hex(), "in all:", data.count(pattern))
		sys.exit(0 if good and data.count(pattern) == 65536 // len(pattern) else 1)
	PYTHON
}

ok "perftest with everything in a PMR and in a CMB, and then a power cut" boot write
num "all of it was run" "$(grep -c '^ok ' "$dir/write")" -eq 22
ok "the bytes are in the file behind the PMR, at their offset" outside
ok "a guest that is started anew" boot read
num "it has read them" "$(grep -c '^ok ' "$dir/read")" -eq 2
ok "and the file has not changed" outside
done_testing
