package supervise

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// openGroup opens the folder of the job's control group; nil where it has none.
func (s *Spec) openGroup() (*os.File, error) {
	if s.Group == "" {
		return nil, nil
	}
	f, err := os.OpenFile(s.Group, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, fmt.Errorf("the job's control group cannot be opened: %w", err)
	}
	return f, nil
}

// leaveGroup ends the job's control group; it says so where the kernel killed in it for
// want of memory.
func (s *Spec) leaveGroup() (detail string) {
	if s.Group == "" {
		return ""
	}
	if OutOfMemory(s.Group) {
		detail = fmt.Sprintf("it was killed for it took more memory than it had asked for at site %s", s.Site)
	}
	if err := ClearGroup(s.Group); err != nil {
		complain(0, fmt.Errorf("%s: %w", s.ID, err))
	}
	return detail
}

// OutOfMemory tells that the kernel killed in a control group for want of memory.
func OutOfMemory(group string) bool {
	events, err := os.ReadFile(path.Join(group, "memory.events"))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(events)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "oom_kill" {
			n, err := strconv.Atoi(f[1])
			return err == nil && n > 0
		}
	}
	return false
}

// ClearGroup kills all processes of a control group and removes it, if it is there, with the groups that a program has made in it.
func ClearGroup(dir string) error {
	deadline := time.Now().Add(lingering)
	for {
		if f, err := os.OpenFile(path.Join(dir, "cgroup.kill"), os.O_WRONLY, 0); err == nil { // Linux 5.14
			f.WriteString("1")
			f.Close()
		}
		err := removeGroups(dir)
		if err == nil || errors.Is(err, syscall.ENOENT) {
			return nil
		}
		if !errors.Is(err, syscall.EBUSY) || time.Now().After(deadline) {
			return fmt.Errorf("removing the control group %s: %w", dir, err)
		}
		time.Sleep(5 * time.Millisecond) // for the kernel to end its processes
	}
}

// removeGroups removes a control group after those in it.
func removeGroups(dir string) error {
	list, _ := os.ReadDir(dir)
	for _, e := range list {
		if e.IsDir() {
			_ = removeGroups(path.Join(dir, e.Name())) // else dir cannot be removed, and says why
		}
	}
	return syscall.Rmdir(dir)
}

// OwnGroup is the folder of the control group that this process is in.
func OwnGroup() (string, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	return findGroup(string(mounts), string(groups))
}

// findGroup reads /proc/self/mountinfo and /proc/self/cgroup.
func findGroup(mounts, groups string) (string, error) {
	var own string
	for line := range strings.Lines(groups) {
		if rest, is := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); is {
			own = rest
		}
	}
	if own == "" {
		return "", errors.New("this process is in no control group of version 2")
	}
	for line := range strings.Lines(mounts) {
		before, after, _ := strings.Cut(line, " - ")
		b, a := strings.Fields(before), strings.Fields(after)
		if len(b) < 5 || len(a) < 1 || a[0] != "cgroup2" {
			continue
		}
		if below, is := strings.CutPrefix(own, strings.TrimSuffix(b[3], "/")); is { // b[3] is the part that is mounted
			return path.Join(b[4], below), nil
		}
	}
	return "", errors.New("control groups of version 2 are not mounted")
}

// SetGroup writes one of the files of a control group.
func SetGroup(dir, file, value string) error {
	f, err := os.OpenFile(path.Join(dir, file), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}
