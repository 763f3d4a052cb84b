#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: --kernel debug --generic --cpus 2 --donors bar:16M,bar:16M@root,bar:16M,bar:16M@root,bar:16M@host,drive,drive,drive@root --append iomem=relaxed --env UNPLUG_ROUNDS --timeout 1200
# p2pmem_take.t, p2pmem_rules.t and p2pmem_block.t under KASAN, lockdep and kmemleak,
# with pages of type PCI_P2PDMA; and each way for a donor to go under each load, twice
# (UNPLUG_ROUNDS; "make unplug": 20 times). That allocations fail is p2pmem_debug.t's.
# Then the main ones with the pages that Debian's kernel has, under the same eyes.
export SECONDS_OF_STRESS=6 ROUNDS=500
mmap=mmap
for i in direct_io_pins dontneed_brings_the_bytes_back fork_shares kill many_processes \
	many_rounds old_data_is_never_seen partial_unmap_keeps_the_region; do
	mmap+=:MmapTest.test_$i
done
block=block:BlockTest.test_from_drive_to_drive:BlockTest.test_small_and_many
block+=:BlockTest.test_unbind_in_flight
dmabuf=dmabuf:ImportTest.test_map:ImportTest.test_departure
pins=pins:PinsTest.test_a_pinned_region_stays:PinsTest.test_many_pinned_and_released
exec /srnic/tests/vm/guest/p2pmem_suite.py take limits dmabuf rules srnic_rules find block \
	churn unplug_loads \
	generic SECONDS_OF_STRESS=2 ROUNDS=100 $mmap hold unplug $dmabuf $block $pins
