package control

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// Process names a process so that no other is taken for it: process numbers are
// used again, but not with the same start on the same boot of the machine.
type Process struct {
	PID   int
	Start uint64 // field 22 of /proc/PID/stat: clock ticks since boot
	Boot  string // /proc/sys/kernel/random/boot_id
}

var boot = sync.OnceValues(func() (string, error) {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(data)), err
})

// Stat is what of /proc/PID/stat is used here.
type Stat struct {
	State                  byte // Z and X: it has ended
	Parent, Group, Session int
	Start                  uint64
}

// ReadStat reads /proc/PID/stat.
func ReadStat(pid int) (Stat, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Stat{}, err
	}
	// The second field is the command in parentheses and may hold anything.
	_, rest, _ := cutLast(string(data), ") ")
	f := strings.Fields(rest)
	if len(f) < 20 || len(f[0]) != 1 {
		return Stat{}, fmt.Errorf("/proc/%d/stat has an unknown form", pid)
	}
	s := Stat{State: f[0][0]}
	var errs [4]error
	s.Parent, errs[0] = strconv.Atoi(f[1])
	s.Group, errs[1] = strconv.Atoi(f[2])
	s.Session, errs[2] = strconv.Atoi(f[3])
	s.Start, errs[3] = strconv.ParseUint(f[19], 10, 64)
	return s, errors.Join(errs[:]...)
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// Ended tells that the process runs no more and waits for its parent to notice.
func (s Stat) Ended() bool { return s.State == 'Z' || s.State == 'X' }

// Describe names the process that has this number now.
func Describe(pid int) (Process, error) {
	s, err := ReadStat(pid)
	if err != nil {
		return Process{}, fmt.Errorf("reading the state of process %d: %w", pid, err)
	}
	b, err := boot()
	if err != nil {
		return Process{}, fmt.Errorf("reading the machine's boot: %w", err)
	}
	return Process{PID: pid, Start: s.Start, Boot: b}, nil
}

// Self names this process.
func Self() (Process, error) { return Describe(os.Getpid()) }

// Alive tells whether this very process still runs. An error is neither yes nor no.
func (p Process) Alive() (bool, error) {
	b, err := boot()
	if err != nil {
		return false, err
	}
	if p.PID <= 0 || p.Boot != b {
		return false, nil
	}
	s, err := ReadStat(p.PID)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return s.Start == p.Start && !s.Ended(), nil
}

// Rebooted tells that the machine was started again since the process ran.
func (p Process) Rebooted() (bool, error) {
	b, err := boot()
	return err == nil && p.Boot != "" && p.Boot != b, err
}

func (p Process) fields() []field {
	return []field{{"pid", strconv.Itoa(p.PID)}, {"start", strconv.FormatUint(p.Start, 10)}, {"boot", p.Boot}}
}

func (r *reader) process() Process {
	return Process{
		PID:   int(r.number("pid", 0, 1<<31-1)),
		Start: uint64(r.number("start", 0, 1<<62)),
		Boot:  r.text("boot"),
	}
}
