#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A program that has a device open when it goes: link_holder.py DEVICE

Makes one of everything, says "ready", waits for IBV_EVENT_DEVICE_FATAL, then
tries to go on, with its objects and with its mapped rings; says what happened.
"""

import errno
import sys

import pyverbs.enums as e
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.addr import AH
from pyverbs.cq import CQ, CompChannel
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR

context = Context(name=sys.argv[1])
pd = PD(context)
mr = MR(pd, 1 << 20, e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE)
cq = CQ(context, 16, None, CompChannel(context), 0)
cap = QPCap(max_recv_wr=16)
qp = QP(pd, QPInitAttr(e.IBV_QPT_RC, scq=cq, rcq=cq, cap=cap))
gid = context.query_gid(1, 1)
ah = AH(pd, attr=AHAttr(gr=GlobalRoute(dgid=gid, sgid_index=1), is_global=1,
                        port_num=1))
print("ready")

event = context.get_async_event()
while event.event_type != e.IBV_EVENT_DEVICE_FATAL:
    event.ack()
    event = context.get_async_event()
event.ack()

# the rings are still mapped: memory of our own by now
cq.poll()
try:
    qp.post_recv(RecvWR(0, 1, [SGE(mr.buf, 64, mr.lkey)]))
except PyverbsRDMAError:
    pass
try:
    PD(context)
    print("fatal, and a PD was made")
except PyverbsRDMAError as error:
    print("fatal, then", errno.errorcode[error.error_code])
