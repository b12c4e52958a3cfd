package embedded_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs"
	"gbroker/pbs/embedded"
	"gbroker/plan"
)

func inAnHour(id string, nodes ...grid.NodeName) pbs.Reservation {
	start := grid.InstantOf(time.Now()) + grid.Hour
	return pbs.Reservation{ID: id, Nodes: nodes, Start: start, End: start + grid.Hour}
}

// A node that is down is not reserved, alone or beside others.
func TestNoReservationOnDownNode(t *testing.T) {
	t.Parallel()
	s, _ := siteWith(t, t.TempDir(), "easy", plan.Node{Name: "n1", Cores: 1}, plan.Node{Name: "n2", Cores: 1, Down: true})
	for _, r := range []pbs.Reservation{inAnHour("a", "n2"), inAnHour("b", "n1", "n2")} {
		if err := s.Reserve(context.Background(), r); !errors.Is(err, grid.ErrInvalid) || !strings.Contains(err.Error(), "n2 is down") {
			t.Errorf("Reserve: %v", err)
		}
	}
	if all, err := s.Reservations(context.Background()); err != nil || len(all) > 0 {
		t.Errorf("reservations: %+v, %v", all, err)
	}
}

// A spool of reservations that cannot be read stops the site from opening: to forget a reservation would
// let others onto its nodes.
func TestReservationsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func([]byte) []byte{
		"torn":      func(b []byte) []byte { return b[:len(b)/2] },
		"unknown":   func(b []byte) []byte { return []byte(strings.Replace(string(b), "Start", "Begin", 1)) },
		"another's": func(b []byte) []byte { return []byte(strings.Replace(string(b), `"keep"`, `"other"`, 1)) },
		"endless":   func(b []byte) []byte { return append(b, make([]byte, 1<<20)...) },
	} {
		dir := t.TempDir()
		s, _ := siteWith(t, dir, "easy", plan.Node{Name: "n1", Cores: 1})
		if err := s.Reserve(context.Background(), inAnHour("keep", "n1")); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "spool", "reservations", "keep.json")
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, spoil(data), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err = embedded.New(embedded.Config{
			Site: grid.Site{Name: "here"}, Nodes: []plan.Node{{Name: "n1", Cores: 1}}, Spool: filepath.Join(dir, "spool"), Supervisor: quick(t),
		})
		if err == nil || !strings.Contains(err.Error(), "keep.json") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// One reservation is for one job: a second is refused, as is one that does not fit into it.
func TestBoundJobs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, _ := siteWith(t, dir, "easy", plan.Node{Name: "n1", Cores: 2}, plan.Node{Name: "n2", Cores: 4})
	if err := s.Reserve(context.Background(), inAnHour("r", "n1")); err != nil {
		t.Fatal(err)
	}
	bound := func(ulid string, cores int, limit grid.Tick) grid.Submission {
		j := asking(dir, ulid, "exit 0", cores, 0, limit)
		j.Reservation = "r"
		return j
	}
	for name, j := range map[string]grid.Submission{"too large": bound("A", 3, grid.Minute), "too long": bound("B", 1, 2*grid.Hour)} {
		if _, err := s.Submit(context.Background(), j); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	first := bound("C", 2, grid.Hour)
	submit(t, s, first, first)
	if _, err := s.Submit(context.Background(), bound("D", 1, grid.Minute)); !errors.Is(err, grid.ErrInvalid) || !strings.Contains(err.Error(), string(first.ID.Job)) {
		t.Errorf("a second job: %v", err)
	}
	again := first
	again.ID.Attempt++
	if ok, err := s.Withdraw(context.Background(), first.ID, first.Control); !ok || err != nil {
		t.Fatal(err)
	}
	submit(t, s, again) // the same job, after its first attempt was withdrawn
}
