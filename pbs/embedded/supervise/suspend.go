package supervise

import (
	"os"
	"syscall"
	"time"

	"gbroker/pbs/control"
)

// Signals to a supervisor: it stops all processes of its program, and lets them go on. While they are stopped
// their time does not run, neither to the limit nor to the warning.
const (
	Suspend = syscall.SIGUSR1
	Resume  = syscall.SIGUSR2
)

// meter measures for how long a program has run, without the time in which it was suspended.
type meter struct {
	since  time.Time // zero while it is suspended
	ran    time.Duration
	alarms []alarm
}

// alarm is a timer that rings when the program has run for so long.
type alarm struct {
	timer *time.Timer
	after time.Duration
}

func newMeter() *meter { return &meter{since: time.Now()} }

// timer rings when the program has run for d.
func (m *meter) timer(d time.Duration) *time.Timer {
	t := time.NewTimer(d)
	m.alarms = append(m.alarms, alarm{t, d})
	return t
}

func (m *meter) pause() {
	if m.since.IsZero() {
		return
	}
	m.ran += time.Since(m.since)
	m.since = time.Time{}
	for _, a := range m.alarms {
		a.timer.Stop()
	}
}

func (m *meter) resume() {
	if !m.since.IsZero() {
		return
	}
	m.since = time.Now()
	for _, a := range m.alarms {
		if left := a.after - m.ran; left > 0 { // what rang before does not ring again
			a.timer.Reset(left)
		}
	}
}

// freeze stops all processes of the program. What was just born is found in another pass.
func freeze() {
	for range 20 {
		running := 0
		for _, pid := range Descendants(os.Getpid()) {
			if p, err := control.ReadStat(pid); err == nil && !p.Ended() && p.State != 'T' {
				running++
				syscall.Kill(pid, syscall.SIGSTOP)
			}
		}
		if running == 0 {
			return
		}
		time.Sleep(time.Millisecond) //house:allow sleep: for the kernel to stop them, which nobody tells
	}
}

// thaw lets all processes of the program go on.
func thaw() {
	for _, pid := range Descendants(os.Getpid()) {
		syscall.Kill(pid, syscall.SIGCONT)
	}
}

// Descendants are the processes that a process has started, and those that these have.
func Descendants(of int) (pids []int) {
	children := map[int][]int{}
	for _, pid := range Processes() {
		if p, err := control.ReadStat(pid); err == nil {
			children[p.Parent] = append(children[p.Parent], pid)
		}
	}
	for next := []int{of}; len(next) > 0; next = next[1:] {
		pids = append(pids, children[next[0]]...)
		next = append(next, children[next[0]]...)
	}
	return pids
}
