package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gbroker/grid"
	"gbroker/internal/acl"
	"gbroker/pbs/external"
	"gbroker/plan"
)

// examined is a batch system of which a doctor is told all that a test says.
type examined struct {
	external.Client
	traits  external.Traits
	listing external.Listing
	slow    time.Duration // to answer
	err     error
}

func (e *examined) Traits() external.Traits { return e.traits }

func (e *examined) Listing(context.Context) (external.Listing, error) {
	time.Sleep(e.slow) //house:allow sleep: in a bubble, whose clock it moves
	return e.listing, e.err
}

// said is what a doctor says in one of its checks.
func said(t *testing.T, system string, e *examined, check func(*doctor), change ...func(*Config)) (all []Finding) {
	t.Helper()
	if e == nil {
		e = &examined{}
	}
	d := &doctor{ctx: t.Context(), client: e, listing: e.listing, tell: func(f Finding) { all = append(all, f) }}
	d.cfg.Batch.System, d.cfg.Batch.Refresh = system, 10*time.Second
	for _, f := range change {
		f(&d.cfg)
	}
	check(d)
	return all
}

func expect(t *testing.T, what string, all []Finding, verdict string, words ...string) {
	t.Helper()
	if len(all) != 1 || all[0].Verdict != verdict || slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(all[0].Text, w) }) {
		t.Errorf("%s: %+v, and it should be %s: %q", what, all, verdict, words)
	}
}

// A clock that is more than a little off is told, whichever way.
func TestDoctorOfClocks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for ahead, verdict := range map[grid.Tick]string{0: Fine, skew: Fine, -skew: Fine, skew + 1: Mend, -skew - 1: Mend} {
			e := &examined{listing: external.Listing{At: wall() + ahead}}
			now := span{wall(), wall()}
			expect(t, fmt.Sprint(ahead), said(t, Slurm, e, func(d *doctor) { d.asked = now; d.clock() }), verdict)
		}
	})
}

// A system that takes long to answer has told the time at some moment until then: that is no other clock.
func TestDoctorOfSlowAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const late = 20 * grid.Second
		for told, verdict := range map[grid.Tick]string{0: Fine, late: Fine, -skew: Fine, -skew - 1: Mend, late + skew + 1: Mend} {
			e := &examined{listing: external.Listing{At: wall() + told, Nodes: []plan.Node{{Name: "a"}}}, slow: late.Duration()}
			all := said(t, Slurm, e, func(d *doctor) { d.controller(); time.Sleep(time.Minute); d.clock() })
			expect(t, fmt.Sprint(told), all[1:], verdict)
		}
	})
}

// How jobs ended must be listed for six polls; what makes it so is said in the words of the system.
func TestDoctorOfMemory(t *testing.T) {
	t.Parallel()
	for keeps, verdict := range map[grid.Tick]string{0: Mend, 59 * grid.Second: Mend, grid.Minute: Fine} {
		e := &examined{traits: external.Traits{Forgets: keeps}}
		expect(t, fmt.Sprint(keeps), said(t, Slurm, e, (*doctor).memory), verdict, map[string]string{Mend: "MinJobAge", Fine: "1m0s"}[verdict])
	}
}

// A job that names no queue goes to one that is there and open.
func TestDoctorOfQueues(t *testing.T) {
	t.Parallel()
	queues := []plan.Queue{{Name: "open"}, {Name: "shut", Closed: true, Why: "it is drained"}, {Name: "still", Stopped: true}, {Name: "late"}}
	for name, c := range map[string]struct {
		written, fallback grid.QueueName
		verdict           string
		words             []string
	}{
		"the default":        {"", "open", Fine, []string{"to open"}},
		"the written":        {"late", "shut", Fine, []string{"to late"}},
		"closed":             {"shut", "open", Mend, []string{"it is drained"}},
		"stopped":            {"", "still", Mend, []string{"still, which is closed"}},
		"none":               {"", "", Mend, []string{"no default queue", "open, late"}},
		"one that is absent": {"gone", "open", Mend, []string{"no queue gone", "open, late"}},
	} {
		e := &examined{listing: external.Listing{Queues: queues, Default: c.fallback}}
		got := said(t, Slurm, e, (*doctor).queue, func(cfg *Config) { cfg.Batch.External.Queue = c.written })
		expect(t, name, got, c.verdict, c.words...)
		if c.verdict == Mend && strings.Contains(got[0].Text, "one of") && (strings.Contains(got[0].Text, "shut") || strings.Contains(got[0].Text, "still")) {
			t.Errorf("%s: it proposes what is closed: %s", name, got[0].Text)
		}
	}
}

// A controller that does not answer ends the examination; one without nodes does not.
func TestDoctorOfControllers(t *testing.T) {
	t.Parallel()
	goesOn := false
	ask := func(d *doctor) { goesOn = d.controller() }
	set := func(cfg *Config) { cfg.Batch.External.Environment = []string{"SLURM_CONF=/etc/other"} }
	expect(t, "silent", said(t, Slurm, &examined{err: errors.New("it hangs")}, ask, set), Mend, "it hangs", "is slurmctld up", "says SLURM_CONF=/etc/other")
	if goesOn {
		t.Error("it goes on without a listing")
	}
	expect(t, "interrupted", said(t, Torque, &examined{err: context.Canceled}, ask), Mend, "it was interrupted")
	expect(t, "too late", said(t, Torque, &examined{err: context.DeadlineExceeded}, ask), Mend, "the time was over")
	e := &examined{traits: external.Traits{Kind: "slurm", Version: "22.05"}, listing: external.Listing{Nodes: []plan.Node{{Name: "a", Down: true}, {Name: "b", Down: true}}}}
	expect(t, "all down", said(t, Slurm, e, ask), Mend, "none of its 2 nodes")
	if !goesOn {
		t.Error("it does not go on where nodes are down")
	}
	e.listing.Nodes[1].Down = false
	expect(t, "one up", said(t, Slurm, e, ask), Fine, "slurm 22.05: 1 of 2 nodes up")
}

// What jobs meet is told: whether age counts, and how much longer reservations must be.
func TestDoctorOfLimits(t *testing.T) {
	t.Parallel()
	e := &examined{traits: external.Traits{NameLimit: 15, Least: grid.Minute, RequeueFlag: "-r n"}}
	got := said(t, Torque, e, (*doctor).limits)
	expect(t, "bare", got, Fine, "15 bytes", "below 1m0s", "does not order", "-r n")
	if strings.Contains(got[0].Text, "reservation") {
		t.Errorf("no slack is needed: %s", got[0].Text)
	}
	e.traits.Ages, e.traits.Slack = true, 2*grid.Minute
	expect(t, "more", said(t, Torque, e, (*doctor).limits), Fine, "age of a job orders", "must be 2m0s longer")
}

// Commands are looked for where the configuration says, then on the path; those for reservations are not needed.
func TestDoctorOfCommands(t *testing.T) {
	t.Parallel()
	goesOn := false
	ask := func(d *doctor) { goesOn = d.commands() }
	folder, empty := t.TempDir(), t.TempDir()
	install := func(names ...string) {
		for _, name := range names {
			if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	at := func(commands string) func(*Config) {
		return func(cfg *Config) {
			cfg.Batch.External.Commands = commands
			cfg.Batch.External.Environment = []string{"PATH=" + folder}
		}
	}
	expect(t, "none", said(t, OpenPBS, nil, ask, at("")), Mend, "qsub, qstat", "not found")
	if goesOn {
		t.Error("it goes on without commands")
	}
	install(used[OpenPBS].always...)
	expect(t, "no reservations", said(t, OpenPBS, nil, ask, at("")), Mend, "pbs_rsub", "no reservations")
	if !goesOn {
		t.Error("it does not go on without reservations")
	}
	install(used[OpenPBS].reserving...)
	expect(t, "all", said(t, OpenPBS, nil, ask, at(folder)), Fine, "qsub in "+folder)
	expect(t, "elsewhere", said(t, OpenPBS, nil, ask, at(empty)), Mend, "batch.commands says "+empty)
	maui := func(cfg *Config) { at("")(cfg); cfg.Batch.External.Maui = true }
	expect(t, "Maui", said(t, Torque, nil, ask, maui), Mend, "showq")
}

// The test job runs under the account that is named, or one that users are mapped to.
func TestDoctorsAccount(t *testing.T) {
	t.Parallel()
	several := UsersConfig{Mapped: true, Map: map[string]string{"x": "zoe", "y": "anna", "z": "anna"}}
	if got := several.accounts(); !slices.Equal(got, []string{"anna", "zoe"}) {
		t.Errorf("accounts are %v", got)
	}
	for want, d := range map[string]*doctor{"bert": {as: "bert"}, "guest": {}, "anna": {}} {
		d.cfg.Batch.System, d.cfg.Batch.External.Users = Slurm, several
		if want == "guest" {
			d.cfg.Batch.External.Users.Otherwise = "guest"
		}
		if got, why := d.testAccount(); got != want || why != "" {
			t.Errorf("it is %q and not %q: %s", got, want, why)
		}
	}
}

// Who could enter a reservation is told by whether users are mapped, also where no test account is named.
func TestDoctorOfEntering(t *testing.T) {
	t.Parallel()
	for system, want := range map[string]string{Slurm: "of its own", Torque: "of its own", OpenPBS: "same account"} {
		if got := entering(system, true); !strings.Contains(got, want) {
			t.Errorf("%s with users: %s", system, got)
		}
		if got := entering(system, false); !strings.Contains(got, "no users are mapped") {
			t.Errorf("%s without users: %s", system, got)
		}
	}
}

// Whether folders can have lists is tried without a trace.
func TestTryingLists(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "jobs")
	if err := tryLists(folder); err != nil && !errors.Is(err, acl.ErrUnsupported) {
		t.Error(err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// The start that was told is held against the real one.
func TestDoctorOfEstimates(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		progress grid.Progress
		refusal  *grid.Refusal
		verdict  string
		words    []string
	}{
		"refused":     {grid.Progress{Started: 5}, &grid.Refusal{Reason: "too few", Asked: "9", Available: "2"}, Mend, []string{"too few (asked 9, available 2)"}},
		"not started": {grid.Progress{}, nil, Untried, nil},
		"later":       {grid.Progress{Started: 61_000}, nil, Fine, []string{"00:00:01.0Z", "00:01:01.0Z", "1m0s apart"}},
	} {
		expect(t, name, said(t, Slurm, nil, func(d *doctor) { d.estimate(c.progress, 1_000, c.refusal) }), c.verdict, c.words...)
	}
}
