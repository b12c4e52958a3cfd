package agent

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// What nobody wants, and what those use who give way, is spare; the rest is not.
func TestSpare(t *testing.T) {
	t.Parallel()
	stat := filepath.Join(t.TempDir(), "stat")
	write := func(user, nice, system, idle, wait int) {
		text := fmt.Sprintf("cpu  %d %d %d %d %d 0 0 0 7 7\ncpu0 1 1 1 1\n", user, nice, system, idle, wait)
		if err := os.WriteFile(stat, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l := &linuxSenses{stat: stat}
	write(1000, 0, 0, 0, 0)
	if _, ok := l.Spare(); ok {
		t.Error("at the first look it says something of the time before")
	}
	write(1020, 50, 10, 15, 5)
	if part, ok := l.Spare(); !ok || math.Abs(part-0.7) > 1e-9 {
		t.Errorf("spare %v, %v", part, ok)
	}
	if _, ok := l.Spare(); ok {
		t.Error("no time has passed, and it says something")
	}
}

type owners func(time.Time) Sight

func (o owners) Look(now time.Time) Sight { return o(now) }

// A report tells of all the time since the one before: what the owner had, what was on battery, and what nobody used.
func TestWhatAWatcherSaw(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		w := newWatcher(owners(func(now time.Time) Sight {
			switch at := now.Sub(begun); {
			case at < 10*time.Second:
				return Sight{Active: true, Idle: 0.1}
			case at < 30*time.Second:
				return Sight{Battery: true, Barred: errBattery, Idle: 1}
			}
			return Sight{Idle: 0.5}
		}))
		go w.run(t.Context(), func(bool) {})
		time.Sleep(50*time.Second + 100*time.Millisecond) //house:allow sleep: virtual time
		s := w.report()
		near := func(got int64, want time.Duration) bool {
			return math.Abs(float64(got)-float64(want.Milliseconds())) < 500
		}
		if !near(s.Span, 50*time.Second) || !near(s.Active, 10*time.Second) || !near(s.Battery, 20*time.Second) || math.Abs(s.Idle-0.75) > 0.02 {
			t.Errorf("it saw %+v", s)
		}
		time.Sleep(10 * time.Second) //house:allow sleep: virtual time
		if s := w.report(); !near(s.Span, 10*time.Second) || s.Active != 0 || s.Battery != 0 || math.Abs(s.Idle-0.5) > 0.01 {
			t.Errorf("then it saw %+v", s)
		}
	})
}

// The pool is told the hours of the day that the rules give, also over midnight.
func TestPolicyOfRules(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.FixedZone("", -3600))
	r := Rules{From: 22, To: 6, Battery: true}
	p := r.Policy(now)
	if p.Hours != 0b11<<22|0b111111 || !p.Battery || p.Offset != -3600_000 {
		t.Errorf("%+v", p)
	}
	if always := (&Rules{}).Policy(now); always.Hours != 1<<24-1 {
		t.Errorf("%+v", always)
	}
}
