package agent

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// probeCommand makes this test's own binary a program of an owner's.
const probeCommand = "probe-of-a-test"

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == probeCommand {
		if err := beProbe(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// beProbe wakes every 10 ms for a span, and writes how late it was each time, in nanoseconds.
func beProbe(text string) error {
	span, err := time.ParseDuration(text)
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	const every = 10 * time.Millisecond
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return err
	}
	late := make([]int64, int(span/every))
	for at, i := now.Nano(), 0; i < len(late); i++ {
		at += int64(every)
		wanted := unix.NsecToTimespec(at)
		for unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &wanted, nil) == unix.EINTR { //house:allow sleep: how late it wakes is what is measured
		}
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
			return err
		}
		late[i] = now.Nano() - at
		at = max(at, now.Nano()-int64(every)) // what it has missed is missed once
	}
	return binary.Write(os.Stdout, binary.LittleEndian, late)
}

// probe runs a program of an owner's, in a session of its own, and gives how late it was.
func probe(t *testing.T, span time.Duration) []int64 {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, probeCommand, span.String())
	cmd.Stderr, cmd.SysProcAttr = os.Stderr, &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	late := make([]int64, len(out)/8)
	if _, err := binary.Decode(out, binary.LittleEndian, late); err != nil {
		t.Fatal(err)
	}
	return late
}

// rounds are those of TestLateness: each is a second with the job, and one without.
const rounds = 25

// TestLateness measures by how much jobs on all cores make a program of the owner's late that wakes every 10 ms. A second with the jobs and one without take turns, and of
// each pair the one comes first that did not in the pair before: what else the computer does is in both, and in the median of their differences least of all.
func TestLateness(t *testing.T) {
	if os.Getenv("GBROKER_BENCH_LATENESS") == "" {
		t.Skip("GBROKER_BENCH_LATENESS is not set: make bench-lateness sets it")
	}
	p, _ := begin(t, fmt.Sprintf("for i in $(seq %d); do while :; do :; done & done; wait", runtime.NumCPU()))
	var with, without, adds []int64
	for round := range rounds {
		late := map[bool]int64{}
		for _, suspended := range []bool{round%2 == 0, round%2 != 0} {
			if err := p.Suspend(suspended); err != nil {
				t.Fatal(err)
			}
			late[suspended] = part(probe(t, time.Second), 0.99)
		}
		with, without, adds = append(with, late[false]), append(without, late[true]), append(adds, late[false]-late[true])
	}
	added := time.Duration(part(adds, 0.5))
	t.Logf("%d rounds of 100 wakes each, p99 with jobs on %d cores %v, without %v (medians): they add %v (median; from %v to %v in half of the rounds)", rounds, runtime.NumCPU(),
		time.Duration(part(with, 0.5)), time.Duration(part(without, 0.5)), added, time.Duration(part(adds, 0.25)), time.Duration(part(adds, 0.75)))
	if added > 2*time.Millisecond {
		t.Error("that is more than 2 ms")
	}
}

// part is the number that a part of all are not above.
func part(all []int64, of float64) int64 {
	slices.Sort(all)
	return all[int(of*float64(len(all)))]
}
