#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: --kernel debug --generic --cpus 2 --donors bar:16M,bar:16M@root,bar:16M,bar:16M@root,bar:16M@host,drive,drive,drive@root --append iomem=relaxed --env UNPLUG_ROUNDS --timeout 1200
# p2pmem_take.t, p2pmem_rules.t and p2pmem_block.t under KASAN, lockdep and kmemleak,
# with pages of type PCI_P2PDMA; and each way for a donor to go but device_del under
# each load, twice (UNPLUG_ROUNDS; see p2pmem_unplug.t). That allocations fail is
# p2pmem_debug.t's. Then the main ones with the pages that Debian's kernel has, under
# the same eyes.
export SECONDS_OF_STRESS=6 ROUNDS=500
# tests CLASS NAME...
tests()
{
	local name

	for name in "${@:2}"; do
		printf ':%s.test_%s' "$1" "$name"
	done
}
mmap=$(tests MmapTest direct_io_pins dontneed_brings_the_bytes_back fork_shares kill \
	many_rounds old_data_is_never_seen partial_unmap_keeps_the_region)
hold=$(tests HoldTest access holds_against_unbind outlives_munmap outlives_the_process revoke)
unplug=$(tests UnplugTest mapped open_and_map_against_unbind rmmod_with_everything_open)
block=$(tests BlockTest small_and_many unbind_in_flight)
pins=$(tests PinsTest a_pinned_region_stays many_pinned_and_released)
exec /srnic/tests/vm/guest/p2pmem_suite.py take limits dmabuf rules srnic_rules find block churn unplug_loads \
	generic SECONDS_OF_STRESS=2 ROUNDS=100 \
	"mmap$mmap" "hold$hold" "unplug$unplug" "block$block" "pins$pins"
