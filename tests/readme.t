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
	local line pattern

	while IFS= read -r line; do
		[ "$line" != ... ] || continue
		pattern=$(sed 's/[].[*^$\]/\\&/g; s/\b[0-9a-f][0-9a-f]\b/[0-9a-f][0-9a-f]/g
			s/[0-9]*\\\.[0-9]\{2,\}/[0-9.]*/g; s/  */ */g' <<<"$line")
		grep -q "$pattern" "$tmp/demo" ||
			{ echo "not printed: $line ($pattern)"; return 1; }
	done < <(sed -n '/^## Two commands/,/^    make test/s/^    //p' README.md |
		sed -n '/^a\$/,/^the device/p')
}

ok "make demo" eval 'make demo >"$tmp/demo" 2>&1 || { tail -n 40 "$tmp/demo"; false; }'
ok "it ends as the README shows" as_shown

# make, make provider, make install, as in the README, but into a directory
line=$(sed -n 's/^    \(make && .*\)/\1/p' README.md)
ok "the README builds and installs" [ "$line" = "make && make provider && sudo make install" ]
kernel=$(scripts/kernel-build 6.12)/build
git ls-files -z | xargs -0 cp --parents -t "$tmp"
ok "$line" eval "cd '$tmp' && export KDIR='$kernel' DESTDIR='$tmp/root' &&
	{ ${line/sudo/} ; } >'$tmp/log' 2>&1 || { tail -n 40 '$tmp/log'; false; }"
# Debian's kernels have their modules compressed
for i in 'srnic.ko*' 'p2pmem.ko*' 'p2pmem_bar.ko*' 'libsrnic-rdmav*.so' srnic.driver; do
	ok "it installs $i" eval "find '$tmp/root' -name '$i' | grep -q ."
done
done_testing
