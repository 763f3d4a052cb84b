#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: --hosts 2 --donors a:bar,b:bar --kernel debug --timeout 5400
#
# teardown.t under KASAN, lockdep and kmemleak: two such guests are so slow that
# it takes most of an hour, so "make slow" runs it and "make test" does not.
. /srnic/tests/vm/teardown.t
