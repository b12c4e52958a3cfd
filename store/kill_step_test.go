package store

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"gbroker/grid"
)

// childStep tells the test binary, run again as a process of its own, to migrate the journal of a folder, and when to be killed.
const childStep = "GBROKER_STORE_TEST_STEP"

// migrateUntilKilled opens the journal of a folder, and is killed before the migration to a version, or in its transaction.
func migrateUntilKilled(what string) error {
	var dir, when string
	var version int
	if _, err := fmt.Sscanf(what, "%s %d %s", &when, &version, &dir); err != nil {
		return err
	}
	list := append([]migration(nil), migrations...)
	apply := list[version-1].apply
	list[version-1].apply = func(ctx context.Context, conn *sql.Conn) error {
		if when == "in" {
			if err := apply(ctx, conn); err != nil {
				return err
			}
		}
		return syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	_, err := open(context.Background(), dir, options{unix.Statfs, list, "sqlite"})
	return fmt.Errorf("it was not killed: %w", err)
}

// A journal whose migration was killed at any step is the same after the next start as one whose was not, and the copy of before is kept.
func TestKilledMigrations(t *testing.T) {
	t.Parallel()
	type content struct {
		id        grid.JournalID
		records   []grid.Record
		histories [][]grid.Event
		decisions [][]grid.Decision
		peers     map[grid.PeerID][]grid.JournalID
	}
	read := func(dir string) (c content) {
		j := mustOpen(t, dir)
		defer j.Close()
		c.id, c.records = j.ID(), mustLoad(t, j)
		c.id.Life = 0
		for _, r := range c.records {
			events, err1 := history(j, r.Job.ID)
			decisions, err2 := j.Decisions(t.Context(), r.Job.ID)
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			c.histories, c.decisions = append(c.histories, events), append(c.decisions, decisions)
		}
		var err error
		if c.peers, err = j.Peers(t.Context()); err != nil {
			t.Fatal(err)
		}
		return c
	}
	for _, from := range []struct {
		version int
		file    string
	}{{1, "journal.sql"}, {2, "journal.sql"}, {4, "journal.sql"}, {4, "decisions.sql"}} {
		schema := fmt.Sprintf("v%d", from.version)
		want := read(stored(t, schema, from.file, ""))
		if len(want.records) == 0 {
			t.Fatalf("%s %s has no records", schema, from.file)
		}
		for version := from.version + 1; version <= len(migrations); version++ {
			for _, when := range []string{"before", "in"} {
				dir := stored(t, schema, from.file, "")
				child := exec.Command(os.Args[0])
				child.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %s", childStep, when, version, dir))
				said, err := child.CombinedOutput()
				if len(said) > 0 || err == nil || !strings.Contains(err.Error(), "killed") {
					t.Fatalf("%s, killed %s version %d: %v %s", schema, when, version, err, said)
				}
				if got := read(dir); !reflect.DeepEqual(got, want) {
					t.Errorf("%s %s, killed %s version %d:\n%+v\nnot\n%+v", schema, from.file, when, version, got, want)
				}
				kept, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "journal.db."+schema)+"?mode=ro")
				if err != nil {
					t.Fatal(err)
				}
				var is int
				if err := kept.QueryRow(`PRAGMA user_version`).Scan(&is); err != nil || is != from.version {
					t.Errorf("%s, killed %s version %d: the copy of before is of version %d, %v", schema, when, version, is, err)
				}
				kept.Close()
			}
		}
	}
}
