// Package cgroup makes control groups (version 2) that hold a job: what a program starts cannot leave the group of its job, whatever session or process group it goes to,
// is stopped and ended there as a whole, and has there what the job was given. Batch systems of ours that run programs themselves have their jobs' groups below one
// of their own; of which controllers they make use, and whether they do without, they decide.
package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Processes is the file of a group in which its processes are named.
const Processes = "cgroup.procs"

// Controllers confine a job where the system gives them; to kill and to freeze none is wanted.
var Controllers = []string{"cpu", "memory", "pids"}

// patience is how long processes that do not die are waited for.
const patience = 10 * time.Second

// mostProcesses is how many processes and threads a job may have for each core.
const mostProcesses = 4096

// Limits are what the kernel holds a job to.
type Limits struct {
	Cores  int
	Memory int64 // bytes; 0 is any
	Weight int   // of its processor time beside that of others, from 1 to 10,000
	Idle   bool  // it has only what nobody else wants
}

// Set sets the limits of a group, as far as it has controllers for them.
func (l Limits) Set(dir string) error {
	settings := [][2]string{{"cpu.weight", strconv.Itoa(min(max(l.Weight, 1), 10_000))}, {"pids.max", strconv.Itoa(max(l.Cores, 1) * mostProcesses)}}
	if l.Idle {
		settings = append(settings, [2]string{"cpu.idle", "1"})
	}
	if l.Memory > 0 {
		settings = append(settings, [2]string{"memory.max", strconv.FormatInt(l.Memory, 10)}, [2]string{"memory.oom.group", "1"})
	}
	for _, s := range settings {
		if err := Set(dir, s[0], s[1]); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("setting %s of a control group: %w", s[0], err)
		}
	}
	return nil
}

// Given are the controllers that a group has, of those that are wanted.
func Given(dir string, wanted []string) ([]string, error) {
	text, err := os.ReadFile(path.Join(dir, "cgroup.controllers"))
	if err != nil {
		return nil, err
	}
	has := strings.Fields(string(text))
	return slices.DeleteFunc(slices.Clone(wanted), func(c string) bool { return !slices.Contains(has, c) }), nil
}

// Grant gives a controller to the groups below a group.
func Grant(dir, controller string) error { return Set(dir, "cgroup.subtree_control", "+"+controller) }

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

// Clear kills all processes of a control group and removes it, if it is there, with the groups that a program has made in it.
func Clear(dir string) error {
	deadline := time.Now().Add(patience)
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
		time.Sleep(5 * time.Millisecond) //house:allow sleep: for the kernel to end its processes, which nobody tells
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

// Own is the folder of the control group that this process is in.
func Own() (string, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	return find(string(mounts), string(groups))
}

// find reads /proc/self/mountinfo and /proc/self/cgroup.
func find(mounts, groups string) (string, error) {
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

// Set writes one of the files of a control group.
func Set(dir, file, value string) error {
	f, err := os.OpenFile(path.Join(dir, file), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}
