package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"gbroker/grid"
)

// all is what a journal says.
type all struct {
	id      grid.JournalID
	records []grid.Record
	site    grid.SiteState
	groups  []grid.Group
	peers   map[grid.PeerID][]grid.JournalID
	history [][]grid.Event
	decided [][]grid.Decision
}

func readAll(dir string, jobs int) (a all, err error) {
	ctx := context.Background()
	j, err := Open(ctx, dir)
	if err != nil {
		return a, err
	}
	var errs [4]error
	a.id = j.ID()
	a.id.Life = 0 // each start has its own
	a.records, errs[0] = j.Load(ctx)
	a.site, errs[1] = j.Site(ctx)
	a.peers, errs[2] = j.Peers(ctx)
	a.groups, errs[3] = j.Groups(ctx)
	err = errors.Join(errs[:]...)
	for n := range jobs {
		events, e := history(j, idOf(n))
		decisions, f := j.Decisions(ctx, idOf(n))
		a.history, a.decided, err = append(a.history, events), append(a.decided, decisions), errors.Join(err, e, f)
	}
	return a, errors.Join(err, j.Close())
}

// sample is a closed journal with something in each table.
func sample(t *testing.T, dir string, jobs int) all {
	t.Helper()
	j := mustOpen(t, dir)
	for n := range jobs {
		c := save(n, "submitted", "chosen: here", strings.Repeat("why ", 20))
		c.Decisions = []grid.Decision{decision(), decision()}
		mustCommit(t, j, c)
	}
	for n := range 3 {
		if err := j.SeenPeer(context.Background(), "12D3KooWother", grid.JournalID{Incarnation: uint64(n + 1), Sequence: 9}); err != nil {
			t.Fatal(err)
		}
	}
	mustCommit(t, j, grid.Saved(&grid.SiteState{Draining: true, Since: 5}), save(0, "started"))
	mustCommit(t, j, grid.Saved(aGroup("01ARZ3NDEKTSV4RRFFQ69G5FAA")), grid.Saved(aGroup("01ARZ3NDEKTSV4RRFFQ69G5FAB")))
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	a, err := readAll(dir, jobs)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// aGroup is a group of three jobs, of which two have all their files.
func aGroup(ulid string) *grid.Group {
	return &grid.Group{
		ID: grid.NewGroupID("xeon16", ulid), Name: "three", User: grid.User{Name: "alice", Home: "12D3KooWhome"}, Key: "k" + ulid,
		Jobs: 3, Coming: []int{2}, Failing: 1, Submitted: 1795000000000, CancelRequested: true,
	}
}

// A bit that has turned, wherever, is told or changes nothing. In the text of the schema it may
// do either; no flip may change what is read without a word.
func TestSerialATurnedBitIsNeverTakenSilently(t *testing.T) {
	t.Parallel()
	const jobs, flips = 4, 100
	dir := t.TempDir()
	want := sample(t, dir, jobs)
	whole, err := os.ReadFile(filepath.Join(dir, "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 0))
	told := 0
	for range flips {
		at, bit := rnd.IntN(len(whole)), rnd.IntN(8)
		got, err := readFlipped(t, whole, at, bit, jobs)
		if err != nil {
			told++
			continue
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("seed %d: bit %d of byte %d is taken silently: %s", seed, bit, at, difference(got, want))
		}
	}
	if told == 0 {
		t.Error("none of them was told")
	}
}

// Each bit of what is written about a job, of a peer and of the site is under a checksum.
func TestSerialEachBitOfARecordCounts(t *testing.T) {
	t.Parallel()
	const jobs = 2
	dir := t.TempDir()
	sample(t, dir, jobs)
	whole, err := os.ReadFile(filepath.Join(dir, "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, place := range []string{"12D3KooWother", `"Draining":true`, "chosen: here", `"Executable":"run.sh"`, `"Attempt":3`, `"Name":"three"`} {
		k := strings.LastIndex(string(whole), place)
		if k < 0 {
			t.Fatalf("%s is not in the file", place)
		}
		for i := range place {
			if _, err := readFlipped(t, whole, k+i, i%8, jobs); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "put a backup in its place") {
				t.Errorf("%s, bit %d of byte %d: %v", place, i%8, i, err)
			}
		}
	}
}

func readFlipped(t *testing.T, whole []byte, at, bit, jobs int) (all, error) {
	t.Helper()
	dir := t.TempDir()
	b := append([]byte(nil), whole...)
	b[at] ^= 1 << bit
	if err := os.WriteFile(filepath.Join(dir, "journal.db"), b, 0o600); err != nil {
		t.Fatal(err)
	}
	return readAll(dir, jobs)
}

func difference(got, want all) string {
	g, w := reflect.ValueOf(got), reflect.ValueOf(want)
	for i := range g.NumField() {
		if a, b := fmt.Sprintf("%+v", g.Field(i)), fmt.Sprintf("%+v", w.Field(i)); a != b {
			return fmt.Sprintf("%s: %.300s, was %.300s", g.Type().Field(i).Name, a, b)
		}
	}
	return "nothing that can be printed"
}

// The error names the line, and a statement that gives up that line alone.
func TestSerialADamagedLineCanBeGivenUpAlone(t *testing.T) {
	t.Parallel()
	for harm, way := range map[string]string{
		`UPDATE entity SET record = replace(record, '12D3KooWother', '12D3KooWothes') WHERE key LIKE '%1'`:                            "DELETE FROM entity WHERE kind = 'job' AND key = '" + string(idOf(1)) + "'",
		`UPDATE entity SET state = 'READY' WHERE key LIKE '%1'`:                                                                       "DELETE FROM entity WHERE kind = 'job' AND key = '" + string(idOf(1)) + "'",
		`UPDATE document SET text = replace(text, 'alice', 'alicf') WHERE key LIKE '%1'`:                                              "DELETE FROM entity WHERE kind = 'job' AND key = '" + string(idOf(1)) + "'",
		`UPDATE peer SET sequence = '00000000000000ff' WHERE number = 2`:                                                              "DELETE FROM peer WHERE peer = '12D3KooWother'",
		`DROP TRIGGER event_stays; UPDATE event SET at = at + 1 WHERE key LIKE '%1' AND seq = 2`:                                      "DELETE FROM event WHERE kind = 'job' AND key = '" + string(idOf(1)) + "' AND seq = 2",
		`UPDATE entity SET record = '{"WentBack":true}' WHERE kind = 'site'`:                                                          "",
		`DROP TRIGGER event_stays; UPDATE event SET key = 'xeon15' WHERE key LIKE '%0' AND seq = 1`:                                   "",
		`DROP TRIGGER event_stays; UPDATE event SET kind = 'hob' WHERE key LIKE '%0' AND seq = 1`:                                     "",
		`DROP TRIGGER decision_stays; UPDATE decision SET decision = replace(decision, '1.5', '2.5') WHERE key LIKE '%1' AND seq = 2`: "DELETE FROM decision WHERE kind = 'job' AND key = '" + string(idOf(1)) + "' AND seq = 2",
		`UPDATE entity SET record = replace(record, 'three', 'thref') WHERE key LIKE '%FAA.all'`:                                      "DELETE FROM entity WHERE kind = 'group' AND key = 'xeon16.01ARZ3NDEKTSV4RRFFQ69G5FAA.all'",
		`UPDATE entity SET key = replace(key, 'FAA', 'FAC') WHERE kind = 'group'`:                                                     "DELETE FROM entity WHERE kind = 'group' AND key = 'xeon16.01ARZ3NDEKTSV4RRFFQ69G5FAC.all'",
		`UPDATE journal SET sequence = sequence - 1`:                                                                                  "",
		`DELETE FROM document WHERE key LIKE '%1'`:                                                                                    "",
	} {
		dir := t.TempDir()
		sample(t, dir, 3)
		sqlite3(t, dir, harm)
		_, err := readAll(dir, 3)
		if !errors.Is(err, ErrCorrupt) || !strings.Contains(fmt.Sprint(err), "put a backup in its place") || way != "" && !strings.Contains(err.Error(), `"PRAGMA foreign_keys = ON; `+way+`"`) {
			t.Errorf("%s: %v", harm, err)
			continue
		}
		if way == "" {
			continue
		}
		sqlite3(t, dir, "PRAGMA foreign_keys = ON; "+way)
		if _, err := readAll(dir, 3); err != nil {
			t.Errorf("%s, after %s: %v", harm, way, err)
		}
	}
}

// A journal of the first schema, as it was written then, is read as it was, and gets its checksums.
func TestTheFirstSchemaGetsChecksums(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script, err := os.ReadFile(filepath.Join("testdata", "v1", "journal.sql"))
	if err != nil {
		t.Fatal(err)
	}
	sqlite3(t, dir, string(script))
	got, err := readAll(dir, 3)
	if err != nil {
		t.Fatal(err)
	}
	other := grid.PeerID("12D3KooWother")
	want := all{
		id: grid.JournalID{Incarnation: 0x8b0188617a437835, Sequence: 3}, records: []grid.Record{*example(1), *example(2)},
		site: grid.SiteState{Draining: true}, peers: map[grid.PeerID][]grid.JournalID{other: {{Incarnation: 7, Sequence: 9}, {Incarnation: 8, Sequence: 1 << 63}}},
	}
	decided := decision()
	decided.Candidates[0].Refusal = &grid.Refusal{Reason: "r", Asked: "1", Available: "0"} // there were no kinds
	why := []string{}
	for _, e := range got.history[1] {
		why = append(why, e.Why)
	}
	if !reflect.DeepEqual(why, []string{"submitted", "chosen: here", "started"}) {
		t.Errorf("the history is %v", got.history)
	}
	if len(got.decided[1]) != 1 || !reflect.DeepEqual(got.decided[1][0], decided) {
		t.Errorf("decided: %+v", got.decided[1])
	}
	got.history, got.decided = nil, nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s", difference(got, want))
	}
	if _, err := os.Stat(filepath.Join(dir, "journal.db.v1")); err != nil {
		t.Error(err)
	}
	sqlite3(t, dir, `UPDATE entity SET record = replace(record, '12D3KooWother', '12D3KooWothes')`)
	if _, err := readAll(dir, 3); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a change after the migration: %v", err)
	}
	j := mustOpen(t, dir)
	if err := j.Commit(context.Background(), []grid.Change{save(1)}); err != nil {
		t.Error(err)
	}
}
