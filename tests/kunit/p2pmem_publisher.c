// SPDX-License-Identifier: GPL-2.0
/*
 * p2pmem_publisher: a driver that knows nothing of p2pmem and publishes a BAR
 * through the PCI layer, for tests of adoption.
 *
 * It stands where the kernel's nvme driver stands, but its module can be removed,
 * and it can do what that one doesn't: publish late, think better of it, have its
 * memory in several pieces, or get more of it.
 */
#include <linux/module.h>
#include <linux/pci-p2pdma.h>
#include <linux/pci.h>

#define BAR	2

static uint pieces = 1;
module_param(pieces, uint, 0644);
MODULE_PARM_DESC(pieces, "in how many to make pages for the BAR");

static bool half;
module_param(half, bool, 0644);
MODULE_PARM_DESC(half, "the attribute 'grow' makes the other half of the pages");

static bool hidden;
module_param(hidden, bool, 0644);
MODULE_PARM_DESC(hidden, "don't publish, wait for the attribute 'publish'");

static ssize_t publish_store(struct device *dev, struct device_attribute *attr,
			     const char *buf, size_t count)
{
	bool value;
	int ret = kstrtobool(buf, &value);

	if (ret)
		return ret;
	pci_p2pmem_publish(to_pci_dev(dev), value);
	return count;
}
static DEVICE_ATTR_WO(publish);

static ssize_t grow_store(struct device *dev, struct device_attribute *attr,
			  const char *buf, size_t count)
{
	struct pci_dev *pdev = to_pci_dev(dev);
	size_t size = pci_resource_len(pdev, BAR) / 2;
	int ret = pci_p2pdma_add_resource(pdev, BAR, size, size);

	return ret ?: count;
}
static DEVICE_ATTR_WO(grow);

static struct attribute *publisher_attrs[] = {
	&dev_attr_publish.attr,
	&dev_attr_grow.attr,
	NULL,
};
ATTRIBUTE_GROUPS(publisher);

static int publisher_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	unsigned int i, n = READ_ONCE(pieces) ?: 1;
	size_t size = pci_resource_len(pdev, BAR) / n >> READ_ONCE(half);
	int ret;

	ret = pcim_enable_device(pdev);
	if (!ret)
		ret = pcim_request_region(pdev, BAR, KBUILD_MODNAME);
	for (i = 0; i < n && !ret; i++)
		ret = pci_p2pdma_add_resource(pdev, BAR, size, i * size);
	if (!ret && !READ_ONCE(hidden))
		pci_p2pmem_publish(pdev, true);
	return ret;
}

static struct pci_driver publisher_driver = {
	.name		= KBUILD_MODNAME,
	.probe		= publisher_probe,
	.dev_groups	= publisher_groups,
};
module_pci_driver(publisher_driver);

MODULE_DESCRIPTION("Publishes a BAR for tests of p2pmem");
MODULE_LICENSE("GPL");
