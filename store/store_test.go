package store

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"gbroker/grid"
)

var update = flag.Bool("update", false, "write testdata anew")

func mustOpen(t testing.TB, dir string) *Journal {
	t.Helper()
	j, err := Open(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	return j
}

func mustCommit(t testing.TB, j *Journal, changes ...grid.Change) {
	t.Helper()
	if err := j.Commit(context.Background(), changes); err != nil {
		t.Fatal(err)
	}
}

func mustLoad(t testing.TB, j *Journal) []grid.Record {
	t.Helper()
	records, err := j.Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return records
}

func idOf(n int) grid.JobID {
	return grid.NewJobID("xeon16", fmt.Sprintf("01ARZ3NDEKTSV4RRFF%08d", n))
}

func hashOf(b byte) (h grid.Hash) {
	for i := range h {
		h[i] = b + byte(i)
	}
	return h
}

// example has every field set.
func example(n int) *grid.Record {
	const home, other = grid.PeerID("12D3KooWhome"), grid.PeerID("12D3KooWother")
	e := grid.Epoch{Term: 1, Hop: 2}
	return &grid.Record{
		Job: grid.Job{
			ID: idOf(n), Name: "render", Home: home, User: grid.User{Home: home, Name: "alice"}, Rerunnable: true,
			Program: grid.Program{
				Executable: "run.sh", Arguments: []string{"-n", "<\xff>", "\uf7ff é"}, Input: "in", Output: "out", Error: "err",
				Directory: "work", Environment: []grid.Variable{{Name: "A", Value: "b"}}, Parallel: "MPI", Limits: []grid.Limit{{Name: grid.LimitMemory, Value: 1 << 30}},
			},
			Demand:   grid.Demand{Chunks: []grid.Chunk{{Count: 2, Processes: 3, Cores: 4, Memory: 5}}, Architecture: "x86_64", System: "LINUX"},
			Walltime: grid.Hour, WalltimeDefaulted: true, Queue: "long",
			Inputs:  grid.Manifest{{Path: "work/in", Size: 5 << 20, Mode: 0o644, Ranges: []grid.Hash{hashOf(1), hashOf(2)}}, {Path: "work/run.sh", Mode: 0o755}},
			Outputs: []grid.Output{{Path: "work/out\x80", Target: "out", Required: true}},
		},
		Key:             "key",
		State:           grid.Running,
		Submitted:       1795000000123,
		Ended:           1795000003000,
		Reason:          "because",
		CancelRequested: true,
		EstimateNow:     1795000006000,
		Tenure:          grid.Tenure{Role: grid.Owning, Epoch: e, Owner: other, Handoff: grid.Handoff{Phase: grid.Offering, To: other, Epoch: e}, Report: 1 << 63, Closed: true, ContactLost: 1795000004000},
		Run:             grid.Run{Attempt: 3, Local: "4711", Started: 1795000001000, Finished: 1795000002000, End: grid.Completed, ExitCode: 7, HasExit: true, Signal: 9, Outputs: grid.Manifest{{Path: "out\xfe", Size: 1, Mode: 0o600, Ranges: []grid.Hash{hashOf(9)}}}},
		AtHome:          grid.AtHome{PredictedStart: 1795000005000, Trail: []grid.PeerID{home, other}},
	}
}

// decision has every field set.
func decision() grid.Decision {
	return grid.Decision{At: 1, Epoch: grid.Epoch{Term: 1, Hop: 2}, Chosen: "xeon32", Candidates: []grid.Candidate{{
		Site: "xeon32", Peer: "12D3KooWother", Size: 1, Bandwidth: 1.5, Measured: true, Delivery: 2, Wait: 3, Run: 4, Total: 9, Chosen: true,
		Refusal: &grid.Refusal{Kind: grid.Temporary, Reason: "r", Asked: "1", Available: "0", Again: 7},
	}}}
}

// of is the record of a change of a job.
func of(c grid.Change) *grid.Record { return c.Record.(*grid.Record) }

func removed(n int) grid.Change { return grid.Deleted(grid.KindJob, string(idOf(n))) }

func history(j *Journal, id grid.JobID) ([]grid.Event, error) {
	return j.History(context.Background(), grid.KindJob, string(id))
}

func save(n int, why ...string) grid.Change {
	r := example(n)
	c := grid.Saved(r)
	for i, w := range why {
		c.Events = append(c.Events, grid.Event{At: grid.Tick(1795000000000 + i), State: grid.Ready, Site: "xeon16", Epoch: grid.Epoch{Term: 1, Hop: uint32(i)}, Why: w})
	}
	return c
}

func TestSaveLoadDelete(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "data")
	j := mustOpen(t, dir)
	first := j.ID()
	mustCommit(t, j, save(2, "submitted", "ready"), save(1, "submitted"))
	changed := save(2, "started")
	of(changed).State, of(changed).Reason = grid.Finished, "it's over\n"
	mustCommit(t, j, changed)
	want := []grid.Record{*example(1), *of(changed)}
	if got := mustLoad(t, j); !reflect.DeepEqual(got, want) {
		t.Errorf("loaded\n%+v\nnot\n%+v", got, want)
	}
	if id := j.ID(); id.Incarnation != first.Incarnation || id.Sequence != first.Sequence+2 || id.Incarnation == 0 {
		t.Errorf("from %v to %v after two commits", first, id)
	}
	last := j.ID()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Load(ctx); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if err := j.Commit(ctx, nil); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}

	j = mustOpen(t, dir)
	if !sameButLife(j.ID(), last) {
		t.Errorf("opened again it is %v, not %v", j.ID(), last)
	}
	if got := mustLoad(t, j); !reflect.DeepEqual(got, want) {
		t.Errorf("opened again: %+v", got)
	}
	events, err := history(j, idOf(2))
	var whys []string
	for _, e := range events {
		whys = append(whys, e.Why)
	}
	if err != nil || strings.Join(whys, ",") != "submitted,ready,started" {
		t.Errorf("%+v, %v", events, err)
	}
	if want := save(2, "submitted", "ready").Events; !reflect.DeepEqual(events[:2], want) {
		t.Errorf("%+v, want %+v", events[:2], want)
	}

	mustCommit(t, j, removed(2), removed(77))
	if got := mustLoad(t, j); len(got) != 1 || got[0].Job.ID != idOf(1) {
		t.Errorf("after the removal: %+v", got)
	}
	if events, err := history(j, idOf(2)); err != nil || len(events) != 0 {
		t.Errorf("a removed job has the history %+v, %v", events, err)
	}
	// The identifier may come again, as another job: a tombstone gave way.
	again := save(2, "back")
	of(again).Job.Name = "another"
	mustCommit(t, j, again)
	if got := mustLoad(t, j); len(got) != 2 || got[1].Job.Name != "another" {
		t.Errorf("%+v", got)
	}
}

// The document of a job follows the record that carries it, also where it was
// written by an earlier run.
func TestDocumentIsReplacedWhenItDiffers(t *testing.T) {
	t.Parallel()
	j := mustOpen(t, t.TempDir())
	slim := save(1)
	of(slim).Job.Inputs = nil
	for _, c := range []grid.Change{save(1), slim, save(1), save(1)} {
		mustCommit(t, j, c)
		if got := mustLoad(t, j); !reflect.DeepEqual(got[0], *of(c)) {
			t.Errorf("%+v", got)
		}
	}
}

// A context that has ended before the commit began changes nothing.
func TestCancelledBefore(t *testing.T) {
	t.Parallel()
	j := mustOpen(t, t.TempDir())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := j.Commit(ctx, []grid.Change{save(1)}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	mustCommit(t, j, save(1))
}

func TestPeers(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := t.TempDir()
	j := mustOpen(t, dir)
	see := func(peer grid.PeerID, incarnation, sequence uint64) {
		if err := j.SeenPeer(ctx, peer, grid.JournalID{Incarnation: incarnation, Sequence: sequence}); err != nil {
			t.Fatal(err)
		}
	}
	see("a", 1<<63+5, 10)
	see("a", 1<<63+5, 1<<63)
	see("a", 1<<63+5, 9)
	mustCommit(t, j)
	see("a", 3, 1)
	see("b", 1, 0)
	for n := range uint64(maxSeen + 3) {
		if see("liar", 100+n, n); n == maxSeen-1 {
			mustCommit(t, j) // the first of them are on disk when they are dropped
		}
	}
	see("liar", 100, 50)
	want, err := j.Peers(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got := want["a"]; !reflect.DeepEqual(got, []grid.JournalID{{Incarnation: 1<<63 + 5, Sequence: 1 << 63}, {Incarnation: 3, Sequence: 1}}) {
		t.Errorf("%v", got)
	}
	if n := len(want["liar"]); n != maxSeen {
		t.Errorf("%d lives are kept of one peer", n)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := mustOpen(t, dir).Peers(ctx); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

// The views are for people with sqlite3.
func TestViews(t *testing.T) {
	t.Parallel()
	j := mustOpen(t, t.TempDir())
	waiting := save(1, "submitted")
	of(waiting).Ended = 0
	mustCommit(t, j, waiting)
	var id, state, role, user, owner, submitted, reason string
	var ended sql.NullString
	if err := j.reader.QueryRow(`SELECT * FROM jobs`).Scan(&id, &state, &role, &user, &owner, &submitted, &ended, &reason); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join([]string{id, state, role, user, owner, submitted, reason}, " "); got !=
		string(idOf(1))+" RUNNING owning alice 12D3KooWother 2026-11-18T11:06:40.123Z because" || ended.Valid {
		t.Errorf("%s, %v", got, ended)
	}
	var kind, job, seq, at, site, epoch, why string
	if err := j.reader.QueryRow(`SELECT * FROM history`).Scan(&kind, &job, &seq, &at, &state, &site, &epoch, &why); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join([]string{job, seq, at, state, site, epoch, why}, " "); got != string(idOf(1))+" 1 2026-11-18T11:06:40.000Z READY xeon16 1.0 submitted" {
		t.Error(got)
	}
}
