#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Bounded runs of the fuzzers. First the judge is judged: with a fault put into
# the check (one line of it, each in turn) the fuzzer must find it, within 400,000
# inputs: a few thousand are enough for most, but the same seed doesn't take the
# same way each time. Then at least 10^7 pairs go through the driver's own, others
# in each run: the seed is told, and SEED=N in the environment chooses it.
cd "$(dirname "$0")/.." || exit
# shellcheck source=tests/vm/lib/tap.sh
. tests/vm/lib/tap.sh
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
check=drivers/srnic/mpt_check.c
pairs=10000000
seed=${SEED:-$((RANDOM << 15 | RANDOM | 1))}

# build OUT CHECK_C
build()
{
	clang -g -O2 -Wall -Wextra -Werror -fsanitize=fuzzer,address,undefined \
		-fno-sanitize-recover=all -Itests/fuzz/include -Idrivers/srnic \
		-DMPT_CHECK_C="\"$2\"" tests/fuzz/mpt_check.c -o "$1"
}

# fuzz BINARY RUNS SEED: its output to $tmp/out; an input that fails goes to $tmp
fuzz()
{
	"$1" -runs="$2" -seed="$3" -max_len=4096 -len_control=0 \
		-artifact_prefix="$tmp/" >"$tmp/out" 2>&1
}

mutant()
{
	local what=$1

	sed "$2" $check >"$tmp/mutant.c"
	! cmp -s $check "$tmp/mutant.c" ||
		{ fail "$what: the line to change is there"; return; }
	build "$tmp/mutant" "$tmp/mutant.c" || { fail "$what: it compiles"; return; }
	fuzz "$tmp/mutant" 400000 1
	ok "found: $what" grep -q 'check says' "$tmp/out"
}

mutant "a byte more than the region" 's/len <= e->length - off/len <= e->length - off + 1/'
mutant "a byte less" 's/len <= e->length - off/len < e->length - off/'
mutant "a sum that overflows" 's/len <= e->length - off/off + len <= e->length/'
mutant "below the region" 's/addr < e->iova || off > e->length/off > e->length/'
mutant "2^64 is passed" 's/ && !wraps(addr, len)//'
mutant "2^64 may not be reached" 's/addr + (len - 1) < addr/addr + len < addr/'
mutant "another PD" 's/e->pdn != rq->pdn/0/'
mutant "a window of type 2A" 's/ \&\& e->pdn != SRNIC_MPT_ANY_PD//'
mutant "another QP" 's/e->qpn != SRNIC_MPT_ANY_QP \&\& e->qpn != rq->qpn/0/'
mutant "one right of two" 's/(e->access & rq->access) != rq->access/rq->access \&\& !(e->access \& rq->access)/'
mutant "another life" 's/e->key != rq->key/(e->key ^ rq->key) \& ~0xffu/'
mutant "the low byte only" 's/e->key != rq->key/(e->key ^ rq->key) \& 0xff/'
mutant "the highest bit of a key" 's/e->key != rq->key/(e->key ^ rq->key) << 1/'
mutant "any PD's low byte" 's/e->pdn != rq->pdn/(u8)e->pdn != (u8)rq->pdn/'
mutant "a window as L_Key" '/a window has an R_Key only/,/return SRNIC_KEY_ACCESS/d'
mutant "a window of type 1 as L_Key" 's/e->kind == SRNIC_MPT_MW1 || //'
mutant "a window of type 2 as L_Key" 's/ || e->kind == SRNIC_MPT_MW2//'
mutant "no window for peers" 's/!(rq->access & SRNIC_REMOTE_RIGHTS) \&\&/1 \&\&/'
mutant "kernel memory that wraps" 's/return wraps(rq->addr, rq->len) ? SRNIC_KEY_BOUNDS :/return rq->len == 0 ? SRNIC_KEY_BOUNDS :/'
mutant "kernel memory with bounds" 's/e->kind == SRNIC_MPT_DMA/0/'
mutant "bounds of no bytes" '/if (!rq->len)/,+1d'
mutant "no bytes, no rights" 's/^\tif (e->key != rq->key)/\tif (!rq->len)\n\t\treturn SRNIC_KEY_OK;\n&/'
# the reasons in another order
mutant "the PD before the state" '/^\tif (e->key != rq->key)/i\
	if (e->key == rq->key \&\& e->pdn != rq->pdn \&\& e->pdn != SRNIC_MPT_ANY_PD)\
		return SRNIC_KEY_PD;'
mutant "the QP before the PD" '/^\tif (e->pdn != rq->pdn/i\
	if (e->qpn != SRNIC_MPT_ANY_QP \&\& e->qpn != rq->qpn)\
		return SRNIC_KEY_QP;'
mutant "rights before the QP" '/^\tif (e->qpn != SRNIC_MPT_ANY_QP/i\
	if ((e->access \& rq->access) != rq->access)\
		return SRNIC_KEY_ACCESS;'
mutant "bounds before rights" '/^\tif ((e->access & rq->access)/i\
	if (rq->len \&\& e->kind != SRNIC_MPT_DMA \&\& !within(e, rq->addr, rq->len))\
		return SRNIC_KEY_BOUNDS;'
mutant "the state before the key" 's/^\tif (e->key != rq->key)/\tif (e->state == SRNIC_MPT_INVALID)\n\t\treturn SRNIC_KEY_STATE;\n&/'
mutant "a dead entry" 's/srnic_mpt_state_reason(READ_ONCE(e->state))/e->state == SRNIC_MPT_INVALID ? SRNIC_KEY_OK : srnic_mpt_state_reason(e->state)/'

ok "the driver's check compiles here" build "$tmp/fuzz" ../../$check
# some 20 pairs each
diag "seed $seed"
fuzz "$tmp/fuzz" $((pairs / 12)) "$seed"
ok "no difference to the oracle" [ $? = 0 ] ||
	diag "$(tail -n 30 "$tmp/out")" "SEED=$seed repeats it"
diag "$(tail -n 1 "$tmp/out")"
compared=$(sed -n 's/^\([0-9]*\) pairs.*/\1/p' "$tmp/out")
num "pairs compared" "${compared:-0}" -ge $pairs
# how often each answer was right, by enum srnic_key_reason; 1 is the table's own
read -ra count < <(sed -n 's/^[0-9]* pairs//p' "$tmp/out")
for reason in 0 2 3 4 5 6 7 8; do
	num "answer $reason was due often enough to mean something" \
		"${count[reason]:-0}" -gt 1000
done
done_testing
