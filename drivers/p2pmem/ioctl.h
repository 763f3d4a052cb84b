/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _P2PMEM_IOCTL_H
#define _P2PMEM_IOCTL_H

#include <linux/fs.h>

struct p2pmem;
struct p2pmem_account;
struct p2pmem_region;

/**
 * struct p2pmem_asked - one request
 * @p: of which donation
 * @r: of which region; NULL: of the device
 * @account: the device's, for what is allocated
 * @of: the file that was asked
 * @file: a file that the request has made, or NULL
 * @fd: its descriptor, not yet there for the program
 */
struct p2pmem_asked {
	struct p2pmem *p;
	struct p2pmem_region *r;
	struct p2pmem_account *account;
	struct file *of;
	struct file *file;
	int fd;
};

long p2pmem_ioctl_run(struct p2pmem_asked *asked, unsigned int cmd,
		      void __user *user);

#endif /* _P2PMEM_IOCTL_H */
