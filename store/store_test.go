package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

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
		Tenure:          grid.Tenure{Role: grid.Owning, Epoch: e, Owner: other, Handoff: grid.Handoff{Phase: grid.Offering, To: other, Epoch: e}, Report: 1 << 63, Closed: true},
		Run:             grid.Run{Attempt: 3, Local: "4711", Started: 1795000001000, Finished: 1795000002000, End: grid.Completed, ExitCode: 7, HasExit: true, Signal: 9, Outputs: grid.Manifest{{Path: "out\xfe", Size: 1, Mode: 0o600, Ranges: []grid.Hash{hashOf(9)}}}},
		AtHome:          grid.AtHome{ContactLost: 1795000004000, PredictedStart: 1795000005000, Trail: []grid.PeerID{home, other}},
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

func TestModes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	j := mustOpen(t, dir)
	mustCommit(t, j, save(1))
	for name, want := range map[string]os.FileMode{"": 0o700, "journal.db": 0o600, "journal.db-wal": 0o600, "journal.db-shm": 0o600, "lock": 0o600} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
		} else if info.Mode().Perm() != want {
			t.Errorf("%q has mode %v", name, info.Mode())
		}
	}
}

// A folder name is no part of a query or an escape.
func TestOddFolderName(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a?b#c %41&_pragma=x")
	j := mustOpen(t, dir)
	mustCommit(t, j, save(1))
	if _, err := os.Stat(filepath.Join(dir, "journal.db-wal")); err != nil {
		t.Error(err)
	}
}

func TestPragmas(t *testing.T) {
	t.Parallel()
	j := mustOpen(t, t.TempDir())
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1"} {
		var got string
		if err := j.conn.QueryRowContext(context.Background(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %s, %v", pragma, got, err)
		}
	}
	if _, err := j.reader.Exec(`DELETE FROM entity`); err == nil {
		t.Error("the readers may write")
	}
	mustCommit(t, j, save(1, "x"))
	if _, err := j.conn.ExecContext(context.Background(), `UPDATE event SET why = 'y'`); err == nil {
		t.Error("history can be changed")
	}
}

func TestSecondOpener(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := mustOpen(t, dir)
	_, err := Open(context.Background(), dir)
	if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), fmt.Sprintf("process %d ", os.Getpid())) {
		t.Error(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, dir)
}

func TestNetworkFileSystems(t *testing.T) {
	t.Parallel()
	for magic, name := range remote {
		stat := func(_ string, st *unix.Statfs_t) error { st.Type = int64(magic); return nil }
		dir := t.TempDir()
		_, err := open(context.Background(), dir, options{stat, migrations})
		if !errors.Is(err, ErrNetwork) || !strings.Contains(err.Error(), "is on "+name) || !strings.Contains(err.Error(), "local disk") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "journal.db")); err == nil {
			t.Errorf("%s: a database was made", name)
		}
	}
	broken := func(string, *unix.Statfs_t) error { return unix.EIO }
	if _, err := open(context.Background(), t.TempDir(), options{broken, migrations}); !errors.Is(err, unix.EIO) {
		t.Error(err)
	}
}

func TestSpace(t *testing.T) {
	t.Parallel()
	j := mustOpen(t, t.TempDir())
	if free, err := j.Space(); err != nil || free <= 0 {
		t.Error(free, err)
	}
	j.stat = func(_ string, st *unix.Statfs_t) error { st.Bavail, st.Bfree, st.Bsize = 3, 100, 4096; return nil }
	if free, err := j.Space(); err != nil || free != 3*4096 {
		t.Error(free, err)
	}
}

func sqlite3(t testing.TB, dir, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
}

func TestNewerSchema(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := mustOpen(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	sqlite3(t, dir, `PRAGMA user_version = 41`)
	_, err := Open(context.Background(), dir)
	if !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), "schema version 41") || !strings.Contains(err.Error(), fmt.Sprintf("up to %d", len(migrations))) {
		t.Error(err)
	}
}

func TestForeignDatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sqlite3(t, dir, `CREATE TABLE recipes (name TEXT)`)
	if _, err := Open(context.Background(), dir); !errors.Is(err, ErrForeign) {
		t.Error(err)
	}
}

// Migrations run once each, in order, and all of one or nothing of it.
func TestMigrations(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := t.TempDir()
	first := mustOpen(t, dir)
	mustCommit(t, first, save(1, "submitted"))
	id := first.ID()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	list := append(migrations[:len(migrations):len(migrations)],
		migration{"a column", statements(`ALTER TABLE entity ADD COLUMN extra TEXT NOT NULL DEFAULT 'x'`)},
		migration{"its value", statements(`UPDATE entity SET extra = extra || 'y'; CREATE TABLE half (a)`)},
	)
	broken := append(list[:len(list):len(list)], migration{"a mistake", statements(`CREATE TABLE rest (a); CREATE TABLE half (a)`)})
	if _, err := open(ctx, dir, options{unix.Statfs, broken}); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("version %d (a mistake)", len(broken))) {
		t.Fatal(err)
	}
	j, err := open(ctx, dir, options{unix.Statfs, list})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	var extra string
	var rest int
	if err := j.reader.QueryRow(`SELECT extra, (SELECT count(*) FROM sqlite_schema WHERE name = 'rest') FROM entity`).Scan(&extra, &rest); err != nil || extra != "xy" || rest != 0 {
		t.Error(extra, rest, err)
	}
	if !sameButLife(j.ID(), id) {
		t.Errorf("migration changed the identity to %v", j.ID())
	}
	if got := mustLoad(t, j); len(got) != 1 || !reflect.DeepEqual(got[0], *example(1)) {
		t.Errorf("%+v", got)
	}
	j.Close()
	// The way back: the copy made before, with the program of before.
	kept, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("journal.db.v%d", len(migrations))))
	if err != nil {
		t.Fatal(err)
	}
	back := t.TempDir()
	if err := os.WriteFile(filepath.Join(back, "journal.db"), kept, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := mustLoad(t, mustOpen(t, back)); len(got) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestDamage(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func([]byte){
		"header": func(b []byte) { copy(b, "no database at all") },
		"pages": func(b []byte) {
			for i := 4096; i < len(b); i++ {
				b[i] = 0xa5
			}
		},
	} {
		dir := t.TempDir()
		j := mustOpen(t, dir)
		for n := range 50 {
			mustCommit(t, j, save(n, "submitted"))
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "journal.db")
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		harm(b)
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err = Open(context.Background(), dir)
		if !errors.Is(err, ErrCorrupt) || !strings.Contains(fmt.Sprint(err), ".recover") || strings.Count(fmt.Sprint(err), ".recover") > 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRecordsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, statement := range []string{
		`UPDATE entity SET record = '{'`,
		`UPDATE entity SET record = json_set(record, '$.Later', 1)`,
		`UPDATE document SET text = json_set(text, '$.ID', 'another')`,
		`UPDATE document SET text = json_set(text, '$.Inputs[0].Ranges', 'AAAA')`,
	} { // as a program would write them
		statement += `; UPDATE entity SET sum = ` + sumOfEntity + `; UPDATE document SET sum = ` + sumOfDocument
		dir := t.TempDir()
		j := mustOpen(t, dir)
		mustCommit(t, j, save(1))
		sqlite3(t, dir, statement)
		if _, err := j.Load(context.Background()); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), string(idOf(1))) {
			t.Errorf("%s: %v", statement, err)
		}
	}
}

// After a failed commit nothing of it is on disk, and the journal must be opened again.
func TestFailedCommit(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := t.TempDir()
	j := mustOpen(t, dir)
	mustCommit(t, j, save(1, "submitted"))
	before := j.ID()
	if _, err := j.conn.ExecContext(ctx, `PRAGMA max_page_count = 40`); err != nil {
		t.Fatal(err)
	}
	big := save(2)
	of(big).Reason = strings.Repeat("x", 1<<20)
	err := j.Commit(ctx, []grid.Change{save(3, "submitted"), big})
	if !errors.Is(err, ErrFull) || !strings.Contains(fmt.Sprint(err), "free space") {
		t.Fatal(err)
	}
	if err := j.Commit(ctx, []grid.Change{save(4)}); !errors.Is(err, ErrBroken) || !errors.Is(err, ErrFull) {
		t.Error(err)
	}
	if _, err := j.Load(ctx); !errors.Is(err, ErrBroken) {
		t.Error(err)
	}
	if j.ID() != before {
		t.Error("the sequence was raised")
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = mustOpen(t, dir)
	if got := mustLoad(t, j); len(got) != 1 || !sameButLife(j.ID(), before) {
		t.Errorf("%d records, %v", len(got), j.ID())
	}
	mustCommit(t, j, save(3), big)
}

func TestMistakenChanges(t *testing.T) {
	t.Parallel()
	other, event, unknown := save(1), save(1, "x"), save(1)
	other.Key = string(idOf(2))
	event.Kind = grid.KindSite
	unknown.Kind = 99
	for _, c := range []grid.Change{other, event, unknown, {Kind: grid.KindJob, Key: string(idOf(1)), Record: &grid.SiteState{}}} {
		j := mustOpen(t, t.TempDir())
		if err := j.Commit(context.Background(), []grid.Change{c}); err == nil {
			t.Error("it is written")
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

func TestManyChangesAreOneTransaction(t *testing.T) {
	t.Parallel()
	j := mustOpen(t, t.TempDir())
	var changes []grid.Change
	for n := range 256 {
		changes = append(changes, save(n, "submitted"))
	}
	before := j.ID().Sequence
	mustCommit(t, j, changes...)
	if j.ID().Sequence != before+1 || len(mustLoad(t, j)) != 256 {
		t.Errorf("sequence from %d to %d", before, j.ID().Sequence)
	}
	// One bad change takes the others with it.
	bad := save(1000)
	bad.Decisions = []grid.Decision{decision()}
	bad.Decisions[0].Candidates[0].Bandwidth /= 0.0 * float64(len(bad.Events)) // +Inf
	if err := j.Commit(context.Background(), []grid.Change{save(999), bad}); err == nil {
		t.Error("JSON holds an infinity")
	}
}

// A manifest of 100 GiB: 25,600 hashes.
func TestLargeRecord(t *testing.T) {
	t.Parallel()
	j := mustOpen(t, t.TempDir())
	c := save(1)
	const ranges = 25600
	of(c).Job.Inputs[0].Size = ranges * grid.RangeSize
	of(c).Job.Inputs[0].Ranges = make([]grid.Hash, ranges)
	for i := range ranges {
		of(c).Job.Inputs[0].Ranges[i] = hashOf(byte(i))
	}
	mustCommit(t, j, c)
	if got := mustLoad(t, j); !reflect.DeepEqual(got[0], *of(c)) {
		t.Error("it comes back changed")
	}
	var document, record int
	if err := j.reader.QueryRow(`SELECT length(text), length(record) FROM document JOIN entity USING (kind, key)`).Scan(&document, &record); err != nil {
		t.Fatal(err)
	}
	if document > ranges*32*4/3+4096 || record > 4096 {
		t.Errorf("document %d bytes, record %d", document, record)
	}
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
		see("liar", 100+n, n)
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

func TestReadWhileCommitting(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	j := mustOpen(t, t.TempDir())
	mustCommit(t, j, save(0, "0"))
	const commits = 100
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			last := 0
			for ended := false; !ended; {
				select {
				case <-done:
					ended = true // read once more
				default:
				}
				// Every commit adds one record and one event: a reading sees both or none.
				records, err := j.Load(ctx)
				if err != nil || len(records) < last {
					t.Errorf("%d records after %d, %v", len(records), last, err)
					return
				}
				last = len(records)
				events, err := history(j, idOf(0))
				if err != nil || len(events) < last {
					t.Errorf("%d events after %d records, %v", len(events), last, err)
					return
				}
				_ = j.ID()
			}
			if last != commits+1 {
				t.Errorf("%d records at the end", last)
			}
		})
	}
	for n := range commits {
		mustCommit(t, j, save(n+1), save(0, fmt.Sprint(n+1)))
	}
	close(done)
	readers.Wait()
}

func TestManyRecords(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := mustOpen(t, dir)
	const n = 10000
	for at := 0; at < n; at += 500 {
		var changes []grid.Change
		for i := range 500 {
			changes = append(changes, save(at+i))
		}
		mustCommit(t, j, changes...)
	}
	records := mustLoad(t, j)
	if len(records) != n {
		t.Fatalf("%d records", len(records))
	}
	for i, r := range records {
		if r.Job.ID != idOf(i) {
			t.Fatalf("record %d is %s", i, r.Job.ID)
		}
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

// A field renamed or added in package grid changes what is on disk: that needs a
// migration, and a new golden file.
func TestGoldenJSON(t *testing.T) {
	t.Parallel()
	r := example(1)
	record, err := encodeRecord(r)
	if err != nil {
		t.Fatal(err)
	}
	job, err := encodeJob(&r.Job)
	if err != nil {
		t.Fatal(err)
	}
	demanding := r.Job
	demanding.Demand.Chunks = []grid.Chunk{{Count: 2, Processes: 3, Cores: 4, Memory: 5, Resources: []grid.Resource{{Name: "gpu:a100", Amount: 2}}}}
	demanding.Demand.Properties, demanding.Demand.Exclusive = []string{"ib"}, true
	demandingJob, err := encodeJob(&demanding)
	if err != nil {
		t.Fatal(err)
	}
	later := r.Job
	term(&later)
	termedJob, err := encodeJob(&later)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := decode(record, termedJob); err != nil || !reflect.DeepEqual(got.Job, later) {
		t.Errorf("%+v\nbecomes\n%+v, %v", later, got.Job, err)
	}
	partJob, err := encodeJob(aPart(r.Job))
	if err != nil {
		t.Fatal(err)
	}
	estimated := *r
	estimated.Queued, estimated.ExpectedStart = 1795000000500, 1795000000900
	estimatedRecord, err := encodeRecord(&estimated)
	if err != nil {
		t.Fatal(err)
	}
	used := *r
	used.Usage = grid.Usage{CPU: 90_500, Memory: 1 << 31}
	usedRecord, err := encodeRecord(&used)
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string][]byte{"record-estimated.json": estimatedRecord, "record-used.json": usedRecord, "record.json": record, "job.json": job, "job-demanding.json": demandingJob, "job-termed.json": termedJob, "job-part.json": partJob} {
		var pretty strings.Builder
		e := json.NewEncoder(&pretty)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		if err := e.Encode(json.RawMessage(got)); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata", fmt.Sprint("v", len(migrations)), name)
		if *update {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(pretty.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if pretty.String() != string(want) {
			t.Errorf("%s is now\n%s", name, pretty.String())
		}
	}
	back, err := decode(record, job)
	if err != nil || !reflect.DeepEqual(back, *r) {
		t.Errorf("%+v, %v", back, err)
	}
}

// Every field survives: one that a row forgets would be zero here.
func TestEveryFieldIsKept(t *testing.T) {
	t.Parallel()
	var r grid.Record
	fill(reflect.ValueOf(&r).Elem(), new(int))
	r.Stay = nil // among the decisions
	record, err := encodeRecord(&r)
	if err != nil {
		t.Fatal(err)
	}
	job, err := encodeJob(&r.Job)
	if err != nil {
		t.Fatal(err)
	}
	back, err := decode(record, job)
	if err != nil || !reflect.DeepEqual(back, r) {
		t.Errorf("%+v\nnot\n%+v, %v", back, r, err)
	}
}

// The state of the site is beside the jobs, and as durable.
func TestTheSiteIsKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := mustOpen(t, dir)
	if s, err := j.Site(t.Context()); err != nil || !reflect.DeepEqual(s, grid.SiteState{}) {
		t.Errorf("a new journal has %+v, %v", s, err)
	}
	var want grid.SiteState
	fill(reflect.ValueOf(&want).Elem(), new(int))
	mustCommit(t, j, save(1), grid.Saved(&grid.SiteState{Since: 1}), grid.Saved(&want))
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = mustOpen(t, dir)
	if s, err := j.Site(t.Context()); err != nil || !reflect.DeepEqual(s, want) {
		t.Errorf("it was %+v and is %+v, %v", want, s, err)
	}
	if n := len(mustLoad(t, j)); n != 1 {
		t.Errorf("%d records", n)
	}
}

// fill sets everything within v to values that differ.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), n)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.String:
		v.SetString(fmt.Sprint("s", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(float64(*n) + 0.5)
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(*n%250 + 1))
	default:
		v.SetInt(int64(*n))
	}
}

func TestTextKeepsAnyBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := text(rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
			rapid.StringOf(rapid.RuneFrom([]rune{0xf77f, firstByte, lastByte, 0xf800, 0xfffd, '"', '\\', 0}))).Draw(t, "text"))
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var back text
		if err := json.Unmarshal(b, &back); err != nil || back != s {
			t.Fatalf("%q becomes %s and %q, %v", s, b, back, err)
		}
	})
}

// sameButLife: each start of a journal has a life of its own.
func sameButLife(a, b grid.JournalID) bool {
	return a.Incarnation == b.Incarnation && a.Sequence == b.Sequence
}
