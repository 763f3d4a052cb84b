#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The README's commands that are typed on the machine itself: make demo, and what
# builds and installs, against the headers of the guests' kernel; and that what
# it says of them is so. tests/vm/readme.t has those for a machine in use.
cd "$(dirname "$0")/.." || exit
# shellcheck source=tests/vm/lib/tap.sh
. tests/vm/lib/tap.sh
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# The lines of the README that show what make demo prints: with other figures.
as_shown()
{
	local line pattern count=0

	while IFS= read -r line; do
		[ "$line" != ... ] || continue
		pattern=$(sed 's/[].[*^$\]/\\&/g; s/\b[0-9a-f][0-9a-f]\b/[0-9a-f][0-9a-f]/g
			s/[0-9]*\\\.[0-9]\{2,\}/[0-9.]*/g; s/  */ */g' <<<"$line")
		count=$((count + 1))
		grep -q "$pattern" "$tmp/demo" ||
			{ echo "not printed: $line ($pattern)"; return 1; }
	done < <(sed -n '/^## Two commands/,/^    make test/s/^    //p' README.md |
		sed -n '/^a\$/,/^the device/p')
	[ $count -gt 6 ] || { echo "the README shows $count lines"; return 1; }
}

ok "make demo" eval 'make demo >"$tmp/demo" 2>&1 || { tail -n 40 "$tmp/demo"; false; }'
ok "it ends as the README shows" as_shown

# make, make provider, make install, as in the README, but into a directory; root
# is somebody else, who has built nothing
line=$(sed -n 's/^    \(make && .*\)/\1/p' README.md)
ok "the README builds and installs" [ "$line" = "make && make provider && sudo make install" ]
kernel=$(scripts/kernel-build 6.12)/build
git ls-files -z | xargs -0 cp --parents -t "$tmp"
root="env -u XDG_CACHE_HOME HOME=$tmp/home"
ok "$line" eval "cd '$tmp' && export KDIR='$kernel' DESTDIR='$tmp/root' &&
	{ ${line/sudo/$root} ; } >'$tmp/log' 2>&1 || { tail -n 40 '$tmp/log'; false; }"
ok "root builds nothing" [ ! -e "$tmp/home" ]
# Debian's kernels have their modules compressed
for i in 'srnic.ko*' 'p2pmem.ko*' 'p2pmem_bar.ko*' 'p2pmem_nvme.ko*' 'libsrnic-rdmav*.so' srnic.driver \
		p2pmem.h 60-p2pmem.rules srnic.7 p2pmem.4 p2pmem.1; do
	ok "it installs $i" eval "find '$tmp/root' -name '$i' | grep -q ."
done
like "it installs the tool" "$("$tmp/root/usr/local/bin/p2pmem" --help)" '^usage: p2pmem'

# dkms.conf names what there is, and where
dkms()
{
	# shellcheck disable=SC2034 # dkms.conf reads it
	local i kernel_source_dir=$kernel

	# shellcheck disable=SC1091 # what DKMS reads
	. ./dkms.conf
	[ "${MAKE[0]}" = "make KDIR=$kernel modules" ] && [ ${#BUILT_MODULE_NAME[@]} = 4 ] || return
	for i in "${!BUILT_MODULE_NAME[@]}"; do
		[ -e "$tmp/${BUILT_MODULE_LOCATION[i]}/${BUILT_MODULE_NAME[i]}.ko" ] &&
			[ -n "${DEST_MODULE_LOCATION[i]}" ] || return
	done
}
ok "dkms.conf fits" dkms

# a libibverbs of another version, none, and a tree where nothing was built
mkdir "$tmp/bin" "$tmp/empty"
install_with() # LIBIBVERBS
{
	printf '#!/bin/sh\n%s\n' "${1:+echo libibverbs.so.1 '=>' $1}" >"$tmp/bin/ldconfig"
	chmod +x "$tmp/bin/ldconfig"
	! PATH=$tmp/bin:$PATH make -C "$tmp" install KDIR=/nowhere >"$tmp/log" 2>&1
}
ok "no provider for another libibverbs" install_with "$tmp/libibverbs.so.1.14.44.0"
like "both versions are named, and the way out" "$(cat "$tmp/log")" \
	'built for .*rdma-core [5-9][0-9].*here is 44.*PROVIDER=no'
ok "no provider where there is no libibverbs" install_with ''
like "it is said" "$(cat "$tmp/log")" 'no libibverbs on this machine.*PROVIDER=no'
(cd "$tmp" && cp --parents -t empty Makefile Kbuild scripts/install)
ok "nothing is installed where nothing was built" \
	eval '! make -C "$tmp/empty" install DESTDIR="$tmp/none" >"$tmp/log" 2>&1'
like "and what to do is said" "$(cat "$tmp/log")" "run 'make provider' first"
ok "not a file" [ ! -e "$tmp/none" ]
done_testing
