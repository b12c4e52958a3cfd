package external

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/plan"
)

// What was half written when the daemon ended is swept from the spool, and nothing else is.
func TestHalfWrittenFilesAreSwept(t *testing.T) {
	inBubble(t, func(b *bench) {
		j := b.job()
		b.submit(j)
		b.stop()
		half, strange := filepath.Join(b.config.Spool, ".tmp17"), filepath.Join(b.config.Spool, "README")
		if err := errors.Join(os.WriteFile(half, []byte("{"), 0o600), os.WriteFile(strange, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		b.start()
		for name, there := range map[string]bool{half: false, strange: true, b.jobFile(j.ID): true} {
			if _, err := os.Stat(name); (err == nil) != there {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// The number of our job went to another attempt of ours, which is left alone too.
func TestAnotherAttemptOfTheNumber(t *testing.T) {
	inBubble(t, func(b *bench) {
		j, other := b.job(), b.job()
		id := b.submit(j)
		b.later(time.Minute)
		if err := b.far.change(id, func(k *Job) { k.Name, k.Mark = other.ID.Tag(), markOf("suite", other.ID) }); err != nil {
			t.Fatal(err)
		}
		if err := b.Hold(b.Context(), j.ID, j.Control); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("Hold: %v", err)
		}
		if _, there, err := b.look(b.Context(), j.ID, id); there || !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("a look finds it: %v, %v", there, err)
		}
	})
}

// Jobs of the daemon's own account are its own: they are handed over as nobody else's.
func TestTheOwnAccountIsNoOther(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.stop()
		b.config.Accounts = func(u grid.User) (string, error) { return u.Name, nil }
		b.config.Lend = nil
		b.start()
		j := b.job()
		j.Job.User.Name = "me"
		b.submit(j)
		if all := b.far.handed(); len(all) != 1 || all[0].As != "" {
			t.Errorf("handed over: %+v", all)
		}
	})
}

// A snapshot has the policy that the site says, and counts a job of an odd state as running where it has nodes.
func TestSnapshotOfOddJobs(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.stop()
		b.config.Policy = &plan.Policy{Kind: plan.EASYSJBF}
		b.start()
		b.stranger("1", "x", 1)
		b.stranger("2", "x", 1)
		b.far.change("1", func(k *Job) { k.State, k.Started, k.Places = Odd, 1, []Place{{Node: "n1", Cores: 1}} })
		b.far.change("2", func(k *Job) { k.State = Odd })
		b.later(time.Minute)
		if s := b.shot(); s.Policy.Kind != plan.EASYSJBF || len(s.Running) != 1 || len(s.Waiting) != 1 {
			t.Errorf("policy %v; %d run, %d wait", s.Policy.Kind, len(s.Running), len(s.Waiting))
		}
	})
}

// A system that cannot be is not made.
func TestInvalidConfigIsRefused(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Config){
		"no client":           func(c *Config) { c.Client = nil },
		"a relative spool":    func(c *Config) { c.Spool = "spool" },
		"no owner":            func(c *Config) { c.Owner = "" },
		"an owner of capital": func(c *Config) { c.Owner = "Me" },
		"a long owner":        func(c *Config) { c.Owner = strings.Repeat("a", 41) },
		"negative refresh":    func(c *Config) { c.Refresh = -1 },
		"negative age":        func(c *Config) { c.Age = -1 },
		"negative grace":      func(c *Config) { c.Grace = -1 },
		"a spool in a file":   func(c *Config) { c.Spool = filepath.Join(file, "spool") },
	} {
		c := Config{Client: &batch{}, Owner: strings.Repeat("a", 40), Own: "me", Spool: t.TempDir(), Site: grid.Site{Name: "here", Speed: 1}}
		if _, err := New(c); err != nil {
			t.Fatal(err)
		}
		change(&c)
		if s, err := New(c); err == nil {
			t.Errorf("%s: %v", name, s)
		}
	}
}

// What a job of an unknown state has is not free: not for what would start at once, and not for a reservation.
func TestNodesOfOddJobsAreNotFree(t *testing.T) {
	inBubble(t, func(b *bench) {
		has := []Place{{Node: "n1", Cores: 2}}
		full := poll{Listing: Listing{Nodes: []plan.Node{{Name: "n1", Cores: 2}}, Jobs: []Job{{State: Odd, Places: has}}}}
		if full.idle() {
			t.Error("they count as idle")
		}
		b.stranger("1", "x", 1)
		b.far.change("1", func(k *Job) { k.State, k.Started, k.Places, k.Limit = Odd, control.Now(), has, grid.Day })
		b.later(time.Minute)
		err := b.Reserve(b.Context(), b.reservation("abcdefghijklmnopqrstuvwx", "n1"))
		if !errors.Is(err, grid.ErrInvalid) || !strings.Contains(err.Error(), "job 1 may run on node n1") {
			t.Errorf("they are reserved: %v", err)
		}
	})
}

// A job of ours of an unknown state is not lost: it is listed, and neither handed over again, told to have ended, nor removed; without
// its control files nothing is known of it.
func TestOddJobOfOursIsNotLost(t *testing.T) {
	inBubble(t, func(b *bench) {
		j, lost := b.job(), b.job()
		id := b.submit(j)
		b.far.set(func() { b.far.deaf = true })
		if _, err := b.Submit(b.Context(), lost); err == nil {
			t.Fatal("the answer is not lost")
		}
		b.far.set(func() { b.far.deaf = false })
		odd := func(k *Job) { k.State, k.NeverStarted = Odd, false }
		b.far.change(id, odd)
		b.far.change("2", odd)
		b.far.set(func() { b.far.lookless = true })
		b.later(time.Hour)
		if all, err := b.Attempts(b.Context()); err != nil || len(all) != 2 {
			t.Errorf("listed are %v, %v", all, err)
		}
		if again, err := b.Submit(b.Context(), lost); err != nil || again != "2" || len(b.far.handed()) != 2 {
			t.Errorf("it is handed over again as %s, %v", again, err)
		}
		if p, err := b.asked(j); err != nil || p.Phase != grid.Waiting {
			t.Errorf("%+v, %v", p, err)
		}
		if err := os.RemoveAll(j.Control); err != nil {
			t.Fatal(err)
		}
		if p, err := b.asked(j); p.Phase != grid.Unknown || p.Local != id || !errors.Is(err, grid.ErrDamaged) {
			t.Errorf("without control files: %+v, %v", p, err)
		}
	})
}
