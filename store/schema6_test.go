package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"gbroker/grid"
)

// What was decided of jobs leaves their records, and all else stays as it was.
func TestAJournalOfBeforeGetsEntities(t *testing.T) {
	t.Parallel()
	dir := stored(t, "v4", "decisions.sql", "")
	j := mustOpen(t, dir)
	if id := j.ID(); id.Incarnation != 6832124644113668653 || id.Sequence != 4 {
		t.Errorf("it is %v", id)
	}
	two, three, four := example(2), example(3), example(4)
	two.State, two.End, two.Ended, two.Outputs = grid.Ready, 0, 0, nil
	three.Job.User.Name, three.State = "bob", grid.Assigned
	three.Certificates = []grid.Certificate{{Epoch: three.Epoch, To: "12D3KooWother", Signature: []byte{1, 2, 255}}}
	four.State, four.Removed, four.Job.Inputs = grid.CancelledDeadline, true, nil
	if got, want := mustLoad(t, j), []grid.Record{*example(1), *two, *three, *four}; !reflect.DeepEqual(got, want) {
		t.Errorf("records\n%+v\nnot\n%+v", got, want)
	}
	for n, want := range map[int]string{1: "submitted,chosen: xeon32,started", 2: "submitted", 3: "submitted,waits", 4: ""} {
		events, err := history(j, idOf(n))
		var whys []string
		for _, e := range events {
			whys = append(whys, e.Why)
		}
		if got := strings.Join(whys, ","); err != nil || got != want {
			t.Errorf("the history of %d is %q, %v", n, got, err)
		}
	}
	for n, want := range map[int]int{1: 3, 2: 0, 3: 65, 4: 0} {
		list, err := j.Decisions(t.Context(), idOf(n))
		if err != nil || len(list) != want {
			t.Fatalf("%d decisions of %d, %v", len(list), n, err)
		}
		for i, d := range list {
			stays := n == 3 && i == 64
			if d.Chosen != "xeon32" || len(d.Candidates) != 2 || (d.Stays != "") != stays || !stays && d.At != grid.Tick(1795000000000+i) ||
				d.Candidates[0].Refusal == nil || d.Candidates[0].Refusal.Kind != grid.Temporary || d.Candidates[0].Refusal.Reason != "it's <full> é" || !stays && d.Candidates[1].Bandwidth != 0.1+float64(i) {
				t.Errorf("decision %d of %d is %+v", i, n, d)
			}
		}
	}
	state, err := j.Site(t.Context())
	if want := (grid.SiteState{Draining: true, Since: 5, Lost: []grid.JournalID{{Incarnation: 1, Sequence: 1 << 60, Life: 1 << 63}}}); err != nil || !reflect.DeepEqual(state, want) {
		t.Errorf("the site is %+v, %v", state, err)
	}
	if page, err := j.Page(t.Context(), "", "bob", 10); err != nil || len(page) != 1 || page[0].Job.ID != idOf(3) {
		t.Errorf("the jobs of one user: %+v, %v", page, err)
	}
	if peers, err := j.Peers(t.Context()); err != nil || len(peers["12D3KooWother"]) != 3 {
		t.Errorf("%v, %v", peers, err)
	}
	mustCommit(t, j, save(3, "started"), removed(1))
	if list, err := j.Decisions(t.Context(), idOf(1)); err != nil || len(list) != 0 {
		t.Errorf("%d decisions are left of a job that is not here, %v", len(list), err)
	}
}

// A line that was damaged before gets no checksum that it fits.
func TestAMigrationBelievesNoDamagedLine(t *testing.T) {
	t.Parallel()
	for _, harm := range []string{
		`UPDATE job SET record = replace(record, '12D3KooWother', '12D3KooWothes') WHERE id LIKE '%1'`,
		`UPDATE document SET job = replace(job, 'alice', 'alicf') WHERE id LIKE '%1'`,
		`DROP TRIGGER event_stays; UPDATE event SET why = why || 'x' WHERE job LIKE '%1'`,
		`UPDATE site SET state = '{}'`,
		`DELETE FROM document WHERE id LIKE '%1'`,
	} {
		dir := stored(t, "v4", "decisions.sql", harm)
		if _, err := Open(t.Context(), dir); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "put a backup in its place") {
			t.Errorf("%s: %v", harm, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "journal.db.v4")); err != nil {
			t.Errorf("the copy of before: %v", err)
		}
	}
}

// What brokers of before told users stands in a file that no migration changes.
func TestWhatWasToldBeforeIsRead(t *testing.T) {
	t.Parallel()
	dir := stored(t, "v4", "decisions.sql", "")
	told, err := os.ReadFile(filepath.Join("testdata", "v4", "journal.told"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "journal.told"), told, 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := mustOpen(t, dir).Told(t.Context(), everything)
	if err != nil || len(list) != 1 || list[0].Job.ID != idOf(4) || list[0].State != grid.Completed || list[0].Ended != 1795000003000 {
		t.Errorf("%+v, %v", list, err)
	}
}

// The first decision stays, and the latest; one that leaves the job where it is goes when
// another follows.
func TestSerialDecisionsAreBounded(t *testing.T) {
	t.Parallel()
	j := mustOpen(t, t.TempDir())
	at := func(n int, stays string) grid.Change {
		c := save(1)
		d := decision()
		d.At, d.Unmoved, d.Stays = grid.Tick(n), stays != "", stays
		c.Decisions = []grid.Decision{d}
		return c
	}
	for n := range 200 {
		mustCommit(t, j, at(2*n, ""))
		mustCommit(t, j, at(2*n+1, "no gain"), save(2))
	}
	list, err := j.Decisions(context.Background(), idOf(1))
	if err != nil || len(list) != maxDecisions+1 || list[0].At != 0 || list[1].At != 2*(200-maxDecisions+1) || list[maxDecisions].Stays == "" || list[maxDecisions].At != 399 {
		t.Fatalf("%d decisions, %v", len(list), err)
	}
	for _, d := range list[:maxDecisions] {
		if d.Unmoved {
			t.Errorf("at %d it stays, and another follows", d.At)
		}
	}
	if list, err := j.Decisions(context.Background(), idOf(2)); err != nil || len(list) != 0 {
		t.Errorf("another job has %d decisions, %v", len(list), err)
	}
	bare := save(1)
	bare.Undecided = true
	mustCommit(t, j, bare)
	if list, err := j.Decisions(context.Background(), idOf(1)); err != nil || len(list) != 0 {
		t.Errorf("%d decisions are left of a removed job, %v", len(list), err)
	}
}

// A save of a job costs the same whatever was decided of it before.
func TestASaveDoesNotWriteDecisionsAgain(t *testing.T) {
	t.Parallel()
	cost := func(decisions int) int64 {
		j := mustOpen(t, t.TempDir())
		c := save(1)
		c.Decisions = decisionsOf(decisions, 12)
		mustCommit(t, j, c)
		c.Decisions = nil
		cutLog(t, j)
		for range 20 {
			of(c).Report++
			mustCommit(t, j, c)
		}
		return written(t, j) / 20
	}
	few, many := cost(1), cost(64)
	if few == 0 || many > few+few/10 {
		t.Errorf("%d bytes a save after one decision, %d after 64", few, many)
	}
}
