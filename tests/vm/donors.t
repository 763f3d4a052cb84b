#!/bin/bash
# vm: --hosts 2 --donors a:bar,a:pmr:32M,b:bar:16M@root,a:cmb:8M,a:testdev:4M,a:edu,a:bar:128M,a:both:8M,a:nvme,a:cmb@root,b:edu,b:bar:32M@host
# SPDX-License-Identifier: GPL-2.0
# What --donors promises: each kind is what it says, as large as it says, and
# where it says: under the one switch, @root on a root port of its own, or @host
# on one below another host bridge.
# shellcheck source=tests/vm/lib/lib.sh
. /srnic/tests/vm/lib/lib.sh

switch=0x104c:0x8233	# a downstream port of it
root=0x1b36:0x000c

# port_of BDF: vendor:device of the port above
port_of()
{
	local port

	port=$(realpath "/sys/bus/pci/devices/$1/..") &&
		echo "$(cat "$port/vendor"):$(cat "$port/device")"
}

# host_of BDF: the host bridge
host_of()
{
	realpath "/sys/bus/pci/devices/$1" | cut -d/ -f4
}

# bar_size BDF N: bytes
bar_size()
{
	local first last _

	read -r first last _ < <(sed -n "$(($2 + 1))p" "/sys/bus/pci/devices/$1/resource")
	[ $((first)) -eq 0 ] && echo 0 || echo $((last - first + 1))
}

# nvme_has BDF BIT: a capability of a controller (NVMe base specification,
# figure "Offset 0h: CAP"): 56 PMRS, 57 CMBS
nvme_has()
{
	setpci -s "$1" COMMAND=2:2
	python3 - "$1" "$2" <<-'PYTHON'
		import mmap, os, sys
		fd = os.open(f"/sys/bus/pci/devices/{sys.argv[1]}/resource0", os.O_RDWR)
		cap = int.from_bytes(mmap.mmap(fd, 4096)[0:8], "little")
		print(cap >> int(sys.argv[2]) & 1)
	PYTHON
}

# donor WHAT BDF BAR SIZE PORT
donor()
{
	is "$1: size" "$(bar_size "$2" "$3")" "$4"
	is "$1: where" "$(port_of "$2")" "$5"
}

M=$((1 << 20))
if [ "$HOST" = b ]; then
	donor "bar@root" "$(donor_bdf bar)" 2 $((16 * M)) $root
	donor "edu on b" "$(donor_bdf edu)" 0 $M $switch
	donor "bar@host" "$(donor_bdf bar 1)" 2 $((32 * M)) $root
	is "bar@root: which host bridge" "$(host_of "$(donor_bdf bar)")" pci0000:00
	ok "bar@host: another host bridge" [ "$(host_of "$(donor_bdf bar 1)")" != pci0000:00 ]
	is "no other bar" "$(donor_bdf bar 2)" ""
	is "no nvme" "$(donor_bdf nvme)" ""
	done_testing
	exit
fi
donor "the first bar" "$(donor_bdf bar)" 2 $((64 * M)) $switch
donor "the second bar" "$(donor_bdf bar 1)" 2 $((128 * M)) $switch
donor "testdev" "$(donor_bdf testdev)" 2 $((4 * M)) $switch
donor "edu" "$(donor_bdf edu)" 0 $M $switch

# five NVMe controllers, in the order of the list
pmr=$(donor_bdf nvme 0)
cmb=$(donor_bdf nvme 1)
both=$(donor_bdf nvme 2)
neither=$(donor_bdf nvme 3)
far=$(donor_bdf nvme 4)
donor "pmr" "$pmr" 4 $((32 * M)) $switch
donor "cmb" "$cmb" 2 $((8 * M)) $switch
donor "both: the CMB" "$both" 2 $((4 * M)) $switch
donor "both: the PMR" "$both" 4 $((8 * M)) $switch
donor "nvme" "$neither" 2 0 $switch
donor "cmb@root" "$far" 2 $((16 * M)) $root
is "pmr: a PMR" "$(nvme_has "$pmr" 56)" 1
is "pmr: no CMB" "$(nvme_has "$pmr" 57)" 0
is "cmb: a CMB" "$(nvme_has "$cmb" 57)" 1
is "cmb: no PMR" "$(nvme_has "$cmb" 56)" 0
is "both: a CMB" "$(nvme_has "$both" 57)" 1
is "both: a PMR" "$(nvme_has "$both" 56)" 1
is "nvme: no CMB" "$(nvme_has "$neither" 57)" 0
is "nvme: no PMR" "$(nvme_has "$neither" 56)" 0
is "cmb@root: a CMB" "$(nvme_has "$far" 57)" 1
done_testing
