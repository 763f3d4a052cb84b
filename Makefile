# SPDX-License-Identifier: GPL-2.0
# For people; the modules' own build is in Kbuild.

KDIR ?= /lib/modules/$(shell uname -r)/build
DESTDIR ?=
PROVIDER ?= yes
# where a distribution's libibverbs looks
LIBDIR ?= /usr/lib/$(shell gcc -print-multiarch 2>/dev/null)
SHELL = /bin/bash

.PHONY: help modules provider test check kunit unplug demo vm bench install clean

modules:		## build the modules (KDIR=: against these headers)
	$(MAKE) -C $(KDIR) M=$(CURDIR) modules

help:			## this list
	@sed -n 's/^\([a-z]*\):[^#]*## /  make \1|/p' $(MAKEFILE_LIST) | column -t -s '|'

demo:			## two VMs, ib_write_bw into a PCIe BAR, and the proof (sets itself up)
	@scripts/demo

test:			## everything: checks, KUnit, VM tests (sets itself up)
	@tests/run

check:			## static checks: W=1, sparse, checkpatch, shellcheck, layers
	@tests/run tests/check.t

kunit:			## the KUnit suites, in user-mode Linux and in the debug kernel
	@tests/run tests/kunit-um.t tests/kunit-debug.t

unplug:			## each way for a donor to go under each load, UNPLUG_ROUNDS (20) times
	@tests/run -v tests/vm/long

vm:			## a shell on host A, with host B behind the cable
	@scripts/setup && scripts/vm shell --hosts 2 --donors bar scripts/lib/vm/ready

bench:			## measure srnic against rdma_rxe (tests/perf)
	@tests/run -v tests/perf

provider:		## build the libibverbs provider and the tool p2pmem (printed: where)
	@scripts/setup
	@out=$$(scripts/programs) && ln -sfn "$$out" .programs && echo "$$out/lib"

install:		## install modules, provider, tool (as root; PROVIDER=no: modules only)
	@KDIR="$(KDIR)" DESTDIR="$(DESTDIR)" LIBDIR="$(LIBDIR)" PROVIDER="$(PROVIDER)" scripts/install

clean:			## remove what "make" built here (the cache stays)
	$(MAKE) -C $(KDIR) M=$(CURDIR) clean
	@rm -f .programs
