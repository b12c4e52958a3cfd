package pool_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/pbs/pool/tape"
	"gbroker/plan"
)

// by gives a job a deadline after a span from now, and the work of a walltime.
func by(span, walltime grid.Tick) func(*grid.Submission) {
	return func(j *grid.Submission) {
		j.Job.Terms.Deadline, j.Job.Walltime, j.Limit = control.Now()+span, walltime, walltime
	}
}

// refused hands in a job that the pool will not have, and gives what it says.
func (s *site) refused(change func(*grid.Submission)) error {
	s.Helper()
	j := s.draft("exit 0", change)
	_, err := s.Submit(s.Context(), j)
	if err == nil {
		s.Fatalf("the job is taken")
	}
	return err
}

// A job that no computer ends by its deadline is refused in words: for good if it would not end in an empty pool, and for now if others
// are before it. With the end that the refusal tells as its deadline it is taken.
func TestDeadlineThatCannotBeMet(t *testing.T) {
	t.Parallel()
	s := newSite(t, plan.Node{Name: "a", Cores: 1}) // nothing is known of it: half of it is presumed
	err := s.refused(by(90*grid.Minute, grid.Hour))
	if !errors.Is(err, grid.ErrInvalid) || !strings.Contains(err.Error(), "no computer of this pool can make ") || !strings.Contains(err.Error(), "the earliest end is ") {
		t.Errorf("two hours on half a computer, in one and a half: %v", err)
	}
	first := s.submit(lives, by(3*grid.Hour, grid.Hour))
	s.process(first, "pid")
	err = s.refused(by(3*grid.Hour, grid.Hour))
	if !errors.Is(err, grid.ErrUnavailable) || !strings.Contains(err.Error(), "no computer of this pool can make ") {
		t.Errorf("behind another job of two hours, in three: %v", err)
	}
	second := s.submit("exit 0", by(4*grid.Hour+grid.Minute, grid.Hour))
	if err := os.WriteFile(s.at(first, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s.end(first)
	s.end(second)
}

// What a pool saw of a computer before it was started again decides whether a deadline can be met: by day its owner is there.
func TestForecastFromTheTape(t *testing.T) {
	t.Parallel()
	s := newSite(t, plan.Node{Name: "a", Cores: 1})
	s.stop()
	now := control.Now()
	for n := tape.Number(now) - tape.Kept + 1; n < tape.Number(now); n++ { // the owner goes in an hour, and comes back ten hours later
		e := tape.Entry{Watched: 1, Reached: 1, Active: 1}
		if since := (now - tape.Begin(n)) % grid.Day; since >= 13*grid.Hour && since < 23*grid.Hour {
			e = tape.Entry{Watched: 1, Reached: 1, Idle: 1}
		}
		if err := tape.Write(filepath.Join(s.conf.Spool, "seen", "a"), n, e); err != nil {
			t.Fatal(err)
		}
	}
	s.start()
	if err := s.refused(by(2*grid.Hour+30*grid.Minute, 3*grid.Hour)); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("three hours of work in two and a half: %v", err)
	}
	if err := s.refused(by(12*grid.Hour, 11*grid.Hour)); !errors.Is(err, grid.ErrInvalid) || !strings.Contains(err.Error(), "the earliest end is ") {
		t.Errorf("eleven hours of work before the owner comes back: %v", err)
	}
	j := s.submit(lives, by(12*grid.Hour, 9*grid.Hour))
	s.process(j, "pid")
	if err := s.refused(by(12*grid.Hour, 9*grid.Hour)); !errors.Is(err, grid.ErrUnavailable) {
		t.Errorf("the same behind another: %v", err)
	}
	if err := s.Kill(t.Context(), j.ID, j.Control); err != nil {
		t.Fatal(err)
	}
	s.end(j)
}

// Those that wait go by deadline, before who has none, and each to the weakest computer that ends it in time.
func TestEarliestDeadlineFirst(t *testing.T) {
	t.Parallel()
	s := newSite(t, plan.Node{Name: "strong", Cores: 1, Speed: 1}, plan.Node{Name: "weak", Cores: 1, Speed: 0.5})
	for _, n := range []grid.NodeName{"strong", "weak"} {
		if err := s.fleet.owner(n, "paused"); err != nil {
			t.Fatal(err)
		}
	}
	s.until("no computer takes jobs", s.allDown)
	const script = `cat "$GBROKER_HOSTFILE" > host; date +%s%N > begun; sleep 0.3`
	none := s.submit(script, nil)
	strong := func(j *grid.Submission) { j.Job.Demand.Hosts = []string{"strong"} }
	with := func(a, b func(*grid.Submission)) func(*grid.Submission) {
		return func(j *grid.Submission) { a(j); b(j) }
	}
	last := s.submit(script, with(strong, by(8*grid.Hour, grid.Hour)))
	first := s.submit(script, with(strong, by(5*grid.Hour, grid.Hour)))
	slow := s.submit(script, by(24*grid.Hour, grid.Hour))
	for _, n := range []grid.NodeName{"strong", "weak"} {
		if err := s.fleet.owner(n, "free"); err != nil {
			t.Fatal(err)
		}
	}
	begun := map[string]string{}
	for name, j := range map[string]grid.Submission{"none": none, "last": last, "first": first, "slow": slow} {
		s.end(j)
		at, err := os.ReadFile(filepath.Join(j.Work, "begun"))
		if err != nil {
			t.Fatal(err)
		}
		begun[name] = string(at)
	}
	if host, err := os.ReadFile(filepath.Join(slow.Work, "host")); err != nil || strings.TrimSpace(string(host)) != "weak" {
		t.Errorf("what has time ran on %s, %v", host, err)
	}
	if begun["first"] >= begun["last"] || begun["slow"] >= begun["none"] {
		t.Errorf("they began at %v", begun)
	}
}

func (s *site) allDown() bool {
	shot, err := s.Snapshot(s.Context())
	for _, n := range shot.Nodes {
		if !n.Down {
			return false
		}
	}
	return err == nil
}

// What an agent sees of its owner is on the tape of its computer when the pool has ended, and the next pool adds to it.
func TestWhatIsSeenIsKept(t *testing.T) {
	t.Parallel()
	s := newSite(t, plan.Node{Name: "a", Cores: 1})
	seen := func() (sum tape.Entry) {
		list, err := tape.Read(filepath.Join(s.conf.Spool, "seen", "a"), tape.Number(control.Now())+1)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			sum.Watched, sum.Reached, sum.Active = sum.Watched+e.Watched, sum.Reached+e.Reached, sum.Active+e.Active
		}
		return sum
	}
	pass := func(span time.Duration) {
		begun := time.Now()
		s.until("time has passed", func() bool { return time.Since(begun) > span })
	}
	pass(2500 * time.Millisecond)
	s.stop()
	free := seen()
	second := float64(grid.Second) / float64(tape.Slot)
	if free.Reached < second || free.Active > 0 || free.Watched < free.Reached {
		t.Errorf("after a while without its owner: %+v", free)
	}
	s.start()
	if err := s.fleet.owner("a", "active"); err != nil {
		t.Fatal(err)
	}
	pass(2500 * time.Millisecond)
	s.stop()
	if both := seen(); both.Active < second || both.Reached < free.Reached+second || both.Watched < both.Reached {
		t.Errorf("after a while with its owner: %+v, before %+v", both, free)
	}
}

// An agent that is started again tells what its computer gives now: its owner may have changed it.
func TestAgentRegistersAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t, plan.Node{Name: "a", Cores: 1, Memory: 1 << 30})
	if err := s.fleet.crash("a"); err != nil {
		t.Fatal(err)
	}
	s.fleet.nodes[0].Memory = 2 << 30
	if err := s.fleet.revive("a"); err != nil {
		t.Fatal(err)
	}
	s.until("the pool knows it", func() bool {
		shot, err := s.Snapshot(t.Context())
		return err == nil && shot.Nodes[0].Memory == 2<<30
	})
}
