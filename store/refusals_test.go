package store

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"gbroker/grid"
)

// stored is a journal of an older schema, as it was written then, and what was done to it.
func stored(t *testing.T, schema, name, more string) (dir string) {
	t.Helper()
	script, err := os.ReadFile(filepath.Join("testdata", schema, name))
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	sqlite3(t, dir, string(script)+more)
	return dir
}

// A journal of the fourth schema tells of a refusal no more than that it was passing; all else of
// its records stays as it was.
func TestTheFourthSchemaGetsKindsOfRefusals(t *testing.T) {
	t.Parallel()
	dir := stored(t, "v4", "journal.sql", "")
	got, err := readAll(dir, 4)
	if err != nil {
		t.Fatal(err)
	}
	unknown := &grid.Refusal{Reason: "r", Asked: "1", Available: "0"}
	lasting, ended, plain := example(1), example(2), example(3)
	lasting.Usage, lasting.Queued, lasting.ExpectedStart = grid.Usage{CPU: 90_500, Memory: 1 << 31}, 1795000000500, 1795000000900
	decided, stays, passed := decision(), decision(), decision()
	decided.Candidates[0].Refusal = unknown
	decided.Candidates = append(decided.Candidates, grid.Candidate{
		Site: "xeon16", Peer: "12D3KooWhome", Size: 1, Bandwidth: 1e9 / 3,
		Refusal: &grid.Refusal{Kind: grid.Temporary, Reason: "nodes that it needs are down", Asked: "2", Available: "1"},
	})
	stays.Candidates, stays.Chosen, stays.Unmoved, stays.Stays = decided.Candidates, "", true, "no neighbour can take it now"
	ended.State, ended.Role = grid.Completed, grid.Tombstone
	passed.Candidates[0].Refusal = &grid.Refusal{Kind: grid.Temporary, Reason: "r", Asked: "1", Available: "0"}
	want := []grid.Record{*lasting, *ended, *plain}
	if !reflect.DeepEqual(got.records, want) {
		t.Errorf("%s", difference(got, all{records: want}))
	}
	if want := [][]grid.Decision{nil, {decided, stays}, {passed}, nil}; !reflect.DeepEqual(got.decided, want) {
		t.Errorf("%s", difference(got, all{decided: want}))
	}
	if !got.site.Draining || got.site.Since != 6 || len(got.peers) != 1 {
		t.Errorf("%+v, %+v", got.site, got.peers)
	}
	if _, err := os.Stat(filepath.Join(dir, "journal.db.v4")); err != nil {
		t.Error(err)
	}
}

// A line in which a bit has turned is not made whole by a migration.
func TestAMigrationBelievesNoDamagedRecord(t *testing.T) {
	t.Parallel()
	dir := stored(t, "v4", "journal.sql", `; UPDATE job SET record = replace(record, '"Attempt":3', '"Attempt":7')`)
	if _, err := readAll(dir, 0); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
}
