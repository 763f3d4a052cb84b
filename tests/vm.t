#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# scripts/vm does what every VM test relies on: statuses, prefixes, what a kernel
# says and what a hang looks like, options, the shell.
cd "$(dirname "$0")/.." || exit
# shellcheck source=tests/vm/lib/tap.sh
. tests/vm/lib/tap.sh
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export TMPDIR=$tmp

# script NAME LINE...: an executable of these lines
script()
{
	local name=$1

	shift
	printf '%s\n' '#!/bin/bash' "$@" >"$tmp/$name"
	chmod +x "$tmp/$name"
}

# run STATUS ARGS...: scripts/vm run ARGS ends with STATUS; its output is kept
run()
{
	local wanted=$1 status=0

	shift
	(cd "$tmp" && "$OLDPWD/scripts/vm" run "$@") >"$tmp/out" 2>&1 </dev/null || status=$?
	[ $status = "$wanted" ] || { tail -n 40 "$tmp/out"; echo "status $status"; return 1; }
}
said() { grep -qxF -- "$1" "$tmp/out" || { tail -n 40 "$tmp/out"; return 1; }; }
says() { grep -qE -- "$1" "$tmp/out" || { tail -n 40 "$tmp/out"; return 1; }; }

head -c 1M /dev/zero >"$tmp/disk"
# shellcheck disable=SC2016 # for the guests
script both 'echo "I am $HOST of $HOSTS, $WORD"' \
	'peer=10.77.0.$([ "$HOST" = a ] && echo 2 || echo 1)' \
	'until ping -c 1 -W 1 "$peer" >/dev/null; do :; done' \
	'[ "$HOST" = a ] || { ip -br addr show eth0; exit 0; }' \
	'nproc; ls /lib/modules/*/extra/srnic.ko; head -n 1 /srnic/Kbuild' \
	'printf written | dd of=/dev/vdc conv=notrunc 2>/dev/null; sync' \
	'echo "$(lspci -n -d 1af4:1110 | wc -l) donors"; sleep 2; exit 3'
ok "two hosts: the first failing status" run 3 --hosts 2 --cpus 2 --env WORD=friend \
	--disk "a:$tmp/disk" --donors a:bar,b:bar@root,a:bar:16M both
ok "a speaks" said "a| I am a of 2, friend"
ok "b speaks" said "b| I am b of 2, friend"
ok "b's addresses" says '^b\| eth0 .*10\.77\.0\.2/.* fd77::2/'
ok "CPUs" said "a| 2"
ok "modules" says '^a\| /lib/modules/.*/extra/srnic.ko'
ok "the repository" says '^a\| # SPDX'
ok "donors" said "a| 2 donors"
ok "a disk is written" cmp -n 7 "$tmp/disk" <(printf written)

# shellcheck disable=SC2016 # for the guests
script one 'echo "only $HOST"; exit 4'
# shellcheck disable=SC2016
script other 'echo "other $HOST"; sleep 1000'
built=$(scripts/kernel-build 6.12)
ok "a script for each host, --kernel with a directory" run 4 --kernel "$built" one other
ok "each ran its own" eval 'said "a| only a" && ! says "a.*other"'

ok "a BAR of 3 MiB" run 125 --donors bar:3M one
ok "is told" says "bar:3M.*power of two"
ok "memory that is none" run 2 --memory foo one
ok "no CPU" run 2 --cpus 0 one
ok "more scripts than hosts" run 2 one other one
ok "is told" says "one script for all hosts, or one for each"

script panic 'echo before; echo c >/proc/sysrq-trigger; sleep 1000'
ok "a panic" run 120 panic
ok "is shown" says 'console\| .*Kernel panic - not syncing: sysrq triggered crash'
script warning 'echo "<4>WARNING: CPU: 0 PID: 1 at tests/vm.t:1" >/dev/kmsg; exit 0'
ok "a warning, though the script succeeds" run 120 warning
ok "is shown" says 'console\| .*WARNING: CPU: 0 PID: 1 at tests/vm.t:1'

script hang 'echo before; sleep 1000'
ok "a hang ends at the timeout" run 124 --timeout 45 hang
ok "and is told as one" says 'vm: host a: timeout after 45.0 s: its script still runs'
ok "what came before it is there" said "a| before"
ok "a guest that doesn't boot" run 125 --memory 20M one
# with less memory it doesn't even begin, with more it lives
dies() { for m in 72 80 88 96 112 128; do run 120 --memory ${m}M one && return; done; return 1; }
ok "a kernel that dies in its boot" dies
ok "is told from one that a module of ours was in, and tried again" \
	eval 'says "died in its boot, before a module" && said "vm: booting once more"'
ok "a disk of a host that isn't there" run 125 --disk "b:$tmp/disk" one
ok "is told" says "no host b"
ok "a kernel that isn't there: one line" run 125 --kernel /nowhere one
ok "names it" says '/nowhere'

# shellcheck disable=SC2016 # for the guest
script clock 'awk "/MHz/ { print \"clock\", \$4; exit }" /proc/cpuinfo'
# An instruction is a nanosecond, for the CPU's own clock as well; without, that is
# the host's.
ok "--icount" run 0 --icount clock
ok "the guest's clock counts instructions" says '^a\| clock (1000|999)\.'

printf 'echo "$((6 * 7)) on $HOST"; exit 5\n' >"$tmp/typed"
ok "a shell" eval 'scripts/vm shell <"$tmp/typed" >"$tmp/out" 2>&1; says "42 on a"'
printf '%s\n' 'rdma link' '. /srnic/tests/vm/lib/lib.sh' 'on_b ls /dev/p2pmem0' \
	'perf ib_write_bw -s 8192 -n 5 : --mmap=/dev/p2pmem0 && echo written' 'exit 5' >"$tmp/typed"
ok "make vm" eval '! make vm <"$tmp/typed" >"$tmp/out" 2>&1'
ok "srnic0 is there" says 'link srnic0/1 state ACTIVE'
ok "b's donor is" says '/dev/p2pmem0'
ok "and what it suggests works" says '^(a\| )?written'
ok "no guest is left behind" eval '! pgrep -f "qemu.*$tmp/"'
ok "no file is" eval '! ls -d "$tmp"/srnic-vm.* 2>/dev/null'
done_testing
