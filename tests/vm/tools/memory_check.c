// SPDX-License-Identifier: GPL-2.0
/*
 * Whose the memory of queues is, and that a region never has a donor's memory
 * by chance. TAP on stdout.
 *
 *   memory_check DEV GID-INDEX --memcg CGROUP
 *   memory_check DEV GID-INDEX --race P2PMEM-DEVICE
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "verbs_check.h"

#define PAGE		4096
#define CQ_OF_16_MIB	262144	/* entries of 64 bytes */

static void put_file(const char *dir, const char *name, const char *text)
{
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		die(path);
	close(fd);
}

static long long get_number(const char *dir, const char *name)
{
	long long n = -1;
	char path[300];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%lld", &n) != 1)
		die(path);
	fclose(f);
	return n;
}

/* Rings count as the program's, and a limit is an error, not a death. */
static void check_memcg(const char *cgroup)
{
	long long before, with, mib = 1 << 20;
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC, .cap = { 16384, 16384, 32, 32, 1024 },
	};
	time_t limit = time(NULL) + 10;
	struct ibv_cq *cq;
	char text[30];

	attr.send_cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	attr.recv_cq = attr.send_cq;
	snprintf(text, sizeof(text), "%d", getpid());
	put_file(cgroup, "cgroup.procs", text);
	before = get_number(cgroup, "memory.current");
	cq = ibv_create_cq(ctx, CQ_OF_16_MIB, NULL, NULL, 0);
	if (!result(cq, "a CQ of 16 MiB"))
		return;
	with = get_number(cgroup, "memory.current");
	if (!result(with - before >= 16 * mib && with - before < 24 * mib,
		    "the cgroup pays for it, once"))
		printf("# %lld bytes before, %lld with it\n", before, with);
	is("ibv_destroy_cq", ibv_destroy_cq(cq), 0);
	while (get_number(cgroup, "memory.current") > with - 15 * mib &&
	       time(NULL) < limit)
		usleep(1000);
	result(get_number(cgroup, "memory.current") <= with - 15 * mib,
	       "and gets it back");

	snprintf(text, sizeof(text), "%lld",
		 get_number(cgroup, "memory.current") + 4 * mib);
	put_file(cgroup, "memory.max", text);
	cq = ibv_create_cq(ctx, CQ_OF_16_MIB, NULL, NULL, 0);
	result(!cq && errno == ENOMEM, "with 4 MiB left: ENOMEM");
	result(!ibv_create_qp(pd, &attr) && errno == ENOMEM, "a large QP: ENOMEM");
	put_file(cgroup, "memory.max", "max");
	cq = ibv_create_cq(ctx, CQ_OF_16_MIB, NULL, NULL, 0);
	result(cq, "without the limit it can be had again");
	if (cq)
		ibv_destroy_cq(cq);
	ibv_destroy_cq(attr.send_cq);
}

/*
 * While a region is being registered, a donor's memory appears in it. The
 * first page is one that this thread brings only when it has done that.
 */
struct mapper {
	uint8_t *area;
	int uffd, device;
};

static void *mapper(void *arg)
{
	struct mapper *m = arg;
	struct uffdio_zeropage zero = { .range = { (uintptr_t)m->area, PAGE } };
	struct uffd_msg msg;

	if (read(m->uffd, &msg, sizeof(msg)) != sizeof(msg) ||
	    msg.event != UFFD_EVENT_PAGEFAULT)
		die("userfaultfd");
	if (mmap(m->area + PAGE, PAGE, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED, m->device, 0) == MAP_FAILED)
		die("mmap");
	if (ioctl(m->uffd, UFFDIO_ZEROPAGE, &zero))
		die("UFFDIO_ZEROPAGE");
	return NULL;
}

static void check_race(const char *device)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct mapper m;
	pthread_t thread;
	struct ibv_mr *both;

	m.device = open(device, O_RDWR);
	m.uffd = syscall(SYS_userfaultfd, O_CLOEXEC);
	m.area = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	reg.range.start = (uintptr_t)m.area;
	reg.range.len = PAGE;
	if (m.device < 0 || m.uffd < 0 || m.area == MAP_FAILED ||
	    ioctl(m.uffd, UFFDIO_API, &api) ||
	    ioctl(m.uffd, UFFDIO_REGISTER, &reg))
		die("userfaultfd or p2pmem");
	pthread_create(&thread, NULL, mapper, &m);
	both = ibv_reg_mr(pd, m.area, 2 * PAGE, ACCESS);
	/* by us, or where its pages are of type PCI_P2PDMA by the kernel */
	result(!both && (errno == EFAULT || errno == EREMOTEIO),
	       "donor's memory that comes in between is not pinned: %s",
	       both ? "it is" : strerror(errno));
	pthread_join(thread, NULL);
	if (both)
		ibv_dereg_mr(both);
	both = ibv_reg_mr(pd, m.area, PAGE, ACCESS);
	result(both, "the page beside it can be registered");
	if (both)
		ibv_dereg_mr(both);
	both = ibv_reg_mr(pd, m.area + PAGE, PAGE, ACCESS);
	result(both, "the donor's as well");
	if (both)
		ibv_dereg_mr(both);
	munmap(m.area, 2 * PAGE);
	close(m.uffd);
	close(m.device);
}

int main(int argc, char **argv)
{
	if (argc != 5) {
		fprintf(stderr, "usage: %s DEV GID-INDEX --memcg CGROUP | --race P2PMEM-DEVICE\n",
			argv[0]);
		return 2;
	}
	gid_index = atoi(argv[2]);
	open_device(argv[1]);
	if (!strcmp(argv[3], "--memcg"))
		check_memcg(argv[4]);
	else
		check_race(argv[4]);
	return close_device();
}
