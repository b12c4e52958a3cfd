package external

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/control"
)

// Who has no time left is told so, whatever the broker is doing, and nothing has changed: the
// batch system was not asked, and what others are in the middle of goes on.
func TestNobodyWaitsLongerThanHeWants(t *testing.T) {
	inBubble(t, func(b *bench) {
		waits, r := b.job(), b.reservation("good", "n1")
		b.submit(waits)
		if err := b.Reserve(b.Context(), r); err != nil {
			t.Fatal(err)
		}
		b.later(time.Second)
		for what, act := range map[string]func(context.Context) error{
			"submit":   func(ctx context.Context) error { _, err := b.Submit(ctx, waits); return err },
			"withdraw": func(ctx context.Context) error { _, err := b.Withdraw(ctx, waits.ID, waits.Control); return err },
			"kill":     func(ctx context.Context) error { return b.Kill(ctx, waits.ID, waits.Control) },
			"listing":  func(ctx context.Context) error { return b.killByListing(ctx, waits.ID) },
			"hold":     func(ctx context.Context) error { return b.Hold(ctx, waits.ID, waits.Control) },
			"unhold":   func(ctx context.Context) error { return b.Unhold(ctx, waits.ID, waits.Control) },
			"reserve":  func(ctx context.Context) error { return b.Reserve(ctx, b.reservation("more", "n2")) },
			"change":   func(ctx context.Context) error { return b.Change(ctx, r) },
			"release":  func(ctx context.Context) error { return b.Release(ctx, r.ID) },
		} {
			first, _ := b.begin(waits.ID.String())
			second, _ := b.begin("reservations")
			ctx, cancel := context.WithTimeout(b.Context(), time.Second)
			before := time.Now()
			err := act(ctx)
			cancel()
			if !errors.Is(err, grid.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) || time.Since(before) != time.Second {
				t.Errorf("%s, after %v: %v", what, time.Since(before), err)
			}
			if b.busy[waits.ID.String()] == nil || b.busy["reservations"] == nil {
				t.Fatalf("%s ended what others are in the middle of", what)
			}
			first()
			second()
		}
		if taken, _, err := control.ReadToken(waits.Control, waits.ID); err != nil || taken != (control.Token{}) {
			t.Errorf("its token is taken: %+v, %v", taken, err)
		}
		if asked, err := control.KillAsked(waits.Control, waits.ID); asked || err != nil {
			t.Errorf("its end is asked for: %v, %v", asked, err)
		}
		if n := len(b.far.live()); n != 1 || len(b.far.gone()) > 0 || len(b.far.handed()) != 1 || len(b.far.held()) != 1 {
			t.Errorf("%d jobs, %v removed, %d orders, %+v", n, b.far.gone(), len(b.far.handed()), b.far.held())
		}
	})
}

// A file of the spool that cannot be one of ours is not read into memory.
func TestHugeSpoolFile(t *testing.T) {
	for what, over := range map[string]int{"just": 0, "more": 1} {
		t.Run(what, func(t *testing.T) { testHugeSpoolFile(t, over) })
	}
}

func testHugeSpoolFile(t *testing.T, over int) {
	inBubble(t, func(b *bench) {
		j := b.job()
		b.submit(j)
		b.stop()
		name := b.jobFile(j.ID)
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, strings.Repeat(" ", maxSpoolFile+over-len(text))...)
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		b.start()
		if _, err := os.Stat(name + ".corrupt"); (err == nil) != (over > 0) {
			t.Errorf("%d bytes: %v", len(text), err)
		}
	})
}

// The end is when the listing says, not when it is seen.
func TestTheEndIsWhenTheListingSays(t *testing.T) {
	inBubble(t, func(b *bench) {
		j := b.job()
		id := b.submit(j)
		if !b.begins(j, id) {
			t.Fatal("it does not start")
		}
		ended := control.Now()
		b.later(time.Hour)
		b.far.change(id, func(k *Job) { k.State, k.Finished, k.End = Done, ended, &End{Cause: grid.ByWalltime} })
		b.later(time.Minute)
		if p := b.progress(j); p.Phase != grid.Ended || p.Finished != ended {
			t.Errorf("it ended at %d: %+v", ended, p)
		}
	})
}

func TestConfigHasItsBounds(t *testing.T) {
	t.Parallel()
	good := Config{Client: &batch{}, Owner: strings.Repeat("a", 40), Spool: "/spool"}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for what, spoil := range map[string]func(*Config){
		"no client": func(c *Config) { c.Client = nil },
		"spool":     func(c *Config) { c.Spool = "spool" },
		"the owner": func(c *Config) { c.Owner += "a" },
		`owner ""`:  func(c *Config) { c.Owner = "" },
		`"a_b"`:     func(c *Config) { c.Owner = "a_b" },
		"refresh":   func(c *Config) { c.Refresh = -1 },
		"age -1":    func(c *Config) { c.Age = -1 },
		"grace -1":  func(c *Config) { c.Grace = -1 },
	} {
		bad := good
		spoil(&bad)
		if err := bad.Validate(); !errors.Is(err, grid.ErrInvalid) || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Limits that were met are bounded in number; one that is known goes on being learned.
func TestLimitsAreBounded(t *testing.T) {
	t.Parallel()
	var l Limits
	now := time.Now()
	key := func(n int) LimitKey { return LimitKey{Name: "jobs", User: strings.Repeat("u", n+1)} }
	for n := range maxLimits + 1 {
		l.Meet(key(n), 5, now)
	}
	l.Meet(key(0), 7, now)
	var in Listing
	if l.Put(&in, now); len(in.Caps) != maxLimits {
		t.Errorf("%d limits", len(in.Caps))
	}
	for _, c := range in.Caps {
		if c.Why == key(0).String() && c.Most != 7 {
			t.Errorf("the first: %+v", c)
		}
	}
}
