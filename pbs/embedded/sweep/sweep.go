//go:build linux

// Package sweep finds and kills what is left of an attempt whose supervisor is gone.
package sweep

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"syscall"
	"time"

	"gbroker/pbs/control"
	"gbroker/pbs/embedded/supervise"

	"golang.org/x/sys/unix"
)

// limit bounds the hunt for the processes of one attempt.
const limit = 5 * time.Second

// Marked kills all processes of an attempt, or of one run of it, until none is found.
// Those are the ones with the mark in their environment; and those of the leader's
// session, if the leader lives or (fresh) just did, so that its number cannot be
// another's yet.
func Marked(variable string, leader control.Process, fresh bool) (killed, left int) {
	mark := append([]byte(variable), 0)
	deadline := time.Now().Add(limit)
	for {
		session := 0
		if alive, err := leader.Alive(); err == nil && (alive || fresh) {
			session = leader.PID
		}
		left = 0
		for _, pid := range supervise.Processes() {
			if IsOf(pid, mark, session) && killIf(pid, func() bool { return IsOf(pid, mark, session) }) {
				left++
			}
		}
		killed += left
		if left == 0 || time.Now().After(deadline) {
			return killed, left
		}
		time.Sleep(5 * time.Millisecond) //house:allow sleep: for the kernel to end them, which nobody tells
	}
}

// IsOf tells whether a process belongs to an attempt.
func IsOf(pid int, mark []byte, session int) bool {
	stat, err := control.ReadStat(pid)
	if err != nil || stat.Ended() || pid == os.Getpid() {
		return false
	}
	if session > 0 && stat.Session == session {
		return true
	}
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	return bytes.HasPrefix(environ, mark) || bytes.Contains(environ, append([]byte{0}, mark...))
}

// killIf kills a process if it is, once its number can no more become another's,
// still the one.
func killIf(pid int, still func() bool) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ENOSYS) {
		return still() && syscall.Kill(pid, syscall.SIGKILL) == nil
	}
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return still() && unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == nil
}
