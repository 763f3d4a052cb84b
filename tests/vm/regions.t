#!/bin/bash
# vm: --hosts 1 --cpus 2 --append memmap=128M!512M --timeout 900
# SPDX-License-Identifier: GPL-2.0
# Registrations of a program: a hundred thousand lives in the smallest key table,
# each dead key presented again; huge pages; 8 GiB; a DAX device's memory (the 128 MiB that
# the kernel is told to take for persistent memory); what exactly a key allows, and what
# happens when a region is registered anew under traffic.
# shellcheck source=tests/vm/lib/lib.sh
. /srnic/tests/vm/lib/lib.sh

# with PARAMETER...: the module anew, and its link
with()
{
	! [ -e /sys/module/srnic ] || { rdma link del srnic0 && rmmod srnic; } || return
	modprobe srnic "$@" && rdma_up srnic && index=$(wait_for 10 gid_index srnic0 "$MY_IP")
}

debug=/sys/kernel/debug/srnic/srnic0
with mpt_order=8 || bail "no srnic link"
is "a table of 256 slots" "$(cat /sys/module/srnic/parameters/mpt_order)" 8
[ -e $debug ] || mount -t debugfs debugfs /sys/kernel/debug
adopt timeout 100 key_check srnic0 "$index" --fill "$(wc -l <$debug/mpt)"
adopt timeout 500 key_check srnic0 "$index" --lives 100000

# what people are told of a region whose slot has lived often
cut -d' ' -f1 $debug/mpt >/tmp/own
traffic srnic0 "$MY_IP" /tmp/meet idle >/tmp/idle 2>&1 &
idle=$!
wait_for 20 grep -q ready /tmp/idle || diag "$(cat /tmp/idle)"
shown=$(rdma -dd resource show mr | grep -A1 "comm traffic")
generation=$(grep -vFf /tmp/own $debug/mpt | sed -n 's/.* mr .* generation \([0-9]*\) .*/\1/p')
num "its key's slot has had many lives" "${generation:-0}" -gt 100
is "rdma says how many" "$(grep -o 'drv_generation [0-9]*' <<<"$shown")" \
	"drv_generation $generation"
kill -9 $idle
wait $idle 2>/dev/null

# Keys in use, on another CPU: for as long as the copy of a packet takes.
in_flight()
{
	local i

	for ((i = 0; i < 50; i++)); do
		! grep -q ' mr .* state valid .* in-flight [1-9]' $debug/mpt || return 0
	done
	return 1
}
traffic -l srnic0 "$MY_IP" /tmp/meet write >/tmp/answers 2>&1 &
pids=$!
traffic srnic0 "$MY_IP" /tmp/meet write >/tmp/asks 2>&1 &
pids="$pids $!"
wait_for 30 grep -q flows /tmp/asks || diag "$(cat /tmp/answers /tmp/asks)"
ok "a key that a packet is using is in flight" wait_for 60 in_flight
# shellcheck disable=SC2086 # words
kill -9 $pids
wait
ok "they go" wait_for 10 eval '! grep -vFf /tmp/own $debug/mpt'
fails "none is without packets" in_flight

# The other parameters: what they do can be seen.
with key_cache=0 || bail "no srnic link"
adopt timeout 100 key_check srnic0 "$index" --lives 500
is "no key cache: nothing found, nothing missed" \
	"$(counter srnic0 cache_hits) $(counter srnic0 cache_misses)" "0 0"
with key_cache=4096 mw_type_2a=Y || bail "no srnic link"
adopt timeout 100 key_check srnic0 "$index" --lives 500
num "with one, keys are found in it" "$(counter srnic0 cache_hits)" -gt 0
like "windows of type 2A" "$(ibv_devinfo -v -d srnic0)" MEM_WINDOW_TYPE_2A
adopt timeout 200 exact_check srnic0 "$index"	# for those of type 2B: ledger.t
with || bail "no srnic link"
fails "of type 2B it is" grep -q MEM_WINDOW_TYPE_2A <(ibv_devinfo -v -d srnic0)
rdma link del srnic0 && rmmod srnic
fails "a key cache of 4097" modprobe srnic key_cache=4097
with || bail "no srnic link"
# table_of BYTES: of the region of that length: "RUNS TABLE-BYTES"
table_of()
{
	grep -A 1 "mrlen $1 " /tmp/adopt | grep -o 'drv_runs .* drv_gen' | tr -dc '0-9 '
}
adopt timeout 100 key_check srnic0 "$index" --huge 32
read -r runs bytes <<<"$(table_of $((32 << 20)))"
num "16 transparent huge pages are 16 runs at the most" "${runs:-999}" -le 16
adopt timeout 200 rereg_check srnic0 "$index" 100
adopt timeout 200 key_check srnic0 "$index" --large 8192
read -r runs bytes <<<"$(table_of 8589934592)"
num "its table is as large as its runs need" "$bytes" -ge $((runs * 24))
num "and not much larger" "$bytes" -lt $((runs * 25 + 4096))

# A region of persistent memory becomes a device that programs map.
dax()
{
	local seed space=namespace0.0

	modprobe nd_e820 && modprobe nd_pmem && modprobe dax_pmem && modprobe device_dax &&
		cd /sys/bus/nd/devices && seed=$(cat region0/dax_seed) &&
		echo $space >../drivers/nd_pmem/unbind || return
	cat /proc/sys/kernel/random/uuid >"$seed/uuid"
	echo ram >"$seed/mode"
	echo 4096 >"$seed/align"
	echo $space >"$seed/namespace"
	echo "$seed" >../drivers/dax_pmem/bind && wait_for 10 test -c /dev/dax0.0
}
ok "a DAX device" dax
adopt timeout 100 key_check srnic0 "$index" --memory /dev/dax0.0
ok "the module unloads" eval "rdma link del srnic0 && rmmod srnic"
done_testing
