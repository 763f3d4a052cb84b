/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRNIC_DEBUGFS_H
#define SRNIC_DEBUGFS_H

struct srnic_dev;

/* The module's directory. */
void srnic_debugfs_init(void);
void srnic_debugfs_exit(void);

/* A device's; on return of _del nobody reads in it any more. */
void srnic_debugfs_add(struct srnic_dev *dev, const char *name);
void srnic_debugfs_del(struct srnic_dev *dev);

#endif /* SRNIC_DEBUGFS_H */
