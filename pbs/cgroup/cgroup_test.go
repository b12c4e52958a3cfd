package cgroup

import "testing"

// The control group of a process is found where it is mounted, also where only a part of the tree is.
func TestFindGroup(t *testing.T) {
	t.Parallel()
	const mounts = "31 1 0:2 / / rw - ext4 /dev/vda rw\n41 31 0:38 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw\n"
	const inside = "41 31 0:38 /docker/abc /sys/fs/cgroup rw,relatime - cgroup2 cgroup rw\n"
	for _, c := range []struct{ mounts, groups, want string }{
		{mounts, "4:memory:/x\n0::/system.slice/gbroker.service/daemon\n", "/sys/fs/cgroup/system.slice/gbroker.service/daemon"},
		{mounts, "0::/\n", "/sys/fs/cgroup"},
		{inside, "0::/docker/abc/d\n", "/sys/fs/cgroup/d"},
		{inside, "0::/elsewhere\n", ""},
		{mounts, "4:memory:/x\n", ""},
		{"31 1 0:2 / / rw - ext4 /dev/vda rw\nodd\n", "0::/\n", ""},
	} {
		got, err := find(c.mounts, c.groups)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%q, %q: %q, %v", c.mounts, c.groups, got, err)
		}
	}
}
