package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gbroker/api"
	"gbroker/test/cluster"
)

// holding is a reservation as its holder's broker lists it.
func holding(t *testing.T, s site, id string) (h api.HeldReservation) {
	t.Helper()
	for _, h := range told[[]api.HeldReservation](t, s, "reservations") {
		if string(h.ID) == id {
			return h
		}
	}
	return h
}

// reserved is a reservation that begins soon: on a machine that is busy an instant may be past before it is asked for.
func reserved(t *testing.T, s site, args ...string) string {
	t.Helper()
	for ahead := 4 * time.Second; ; ahead *= 2 {
		r := s.Client(t.Context(), append([]string{"reserve", "--at", ahead.String()}, args...)...)
		if r.Code == 0 {
			return strings.TrimSpace(r.Stdout)
		}
		if ahead > time.Minute {
			t.Fatalf("nothing is reserved: %s%s", r.Stdout, r.Stderr)
		}
	}
}

// A user reserves nodes at another site by the broker at home, and runs a job there in them: the
// reservation ends with the job, and what was not used is given up.
func TestAReservationAtAnotherSite(t *testing.T) {
	t.Parallel()
	dir := place(t)
	home, other := newSite(t, dir, "home", cluster.Options{Nodes: 1, Cores: 2}), newSite(t, dir, "other", cluster.Options{Nodes: 3, Cores: 2})
	start(t, home, other)
	introduce(t, home, other)
	id := reserved(t, home, "--site", "other", "--nodes", "2", "--for", "4m")
	if h := holding(t, home, id); h.State != "CONFIRMED" || string(h.Site) != "other" || len(h.Nodes) != 2 {
		t.Fatalf("it is %+v", h)
	}
	if r := home.Client(t.Context(), "reserve", "--site", "other", "--nodes", "2", "--at", "4s", "--for", "4m"); r.Code == 0 {
		t.Errorf("more nodes are reserved than there are: %s", r.Stdout)
	}
	job := work{script: `echo "$GBROKER_SITE"`, cpus: 4, walltime: 60, output: "out.txt"}.write(t, dir, "in")
	for _, unfit := range []work{{script: "true", cpus: 4, walltime: 1200}, {script: "true", cpus: 5, walltime: 60}} {
		if r := home.Client(t.Context(), "submit", "--reservation", id, unfit.write(t, dir, fmt.Sprintf("unfit%d", unfit.cpus))); r.Code != 1 || !strings.Contains(r.Stderr, ", available ") {
			t.Errorf("a job that does not fit the reservation: %d: %s%s", r.Code, r.Stdout, r.Stderr)
		}
	}
	one := strings.TrimSpace(client(t, home, "submit", "--reservation", id, job))
	if second := home.Client(t.Context(), "submit", "--reservation", id, "--queue-anyway", "--wait", job); second.Code == 0 {
		t.Errorf("a second job ran in it: %s", second.Stdout)
	}
	completed(t, home, one, "other")
	eventually(t, "the reservation is to end with its job", func() bool { return holding(t, home, id).State == "RELEASED" })
	guaranteed := strings.TrimSpace(client(t, home, "submit", "--guaranteed", "--wait", job))
	if !strings.HasPrefix(guaranteed, "home.") {
		t.Errorf("the guaranteed job is %q", guaranteed)
	}
	wider := work{script: "true", cpus: 100, walltime: 60}.write(t, dir, "wider")
	if r := home.Client(t.Context(), "submit", "--guaranteed", wider); r.Code == 0 || !strings.Contains(r.Stderr, "could ever run it: home: too few processors") {
		t.Errorf("what no site can ever run is guaranteed: %+v", r)
	}
	unused := strings.TrimSpace(client(t, home, "reserve", "--site", "other", "--nodes", "1", "--at", "1h", "--for", "1m"))
	client(t, home, "release", unused)
	if h := holding(t, other, unused); h.State != "RELEASED" {
		t.Errorf("at its site it is %+v", h)
	}
}

// A reservation is moved, made shorter and given another node by the command; what does not fit is refused, and stays as it was.
func TestAReservationIsModified(t *testing.T) {
	t.Parallel()
	dir := place(t)
	home, other := newSite(t, dir, "home", cluster.Options{Nodes: 1, Cores: 2}), newSite(t, dir, "other", cluster.Options{Nodes: 3, Cores: 2})
	start(t, home, other)
	introduce(t, home, other)
	id := strings.TrimSpace(client(t, home, "reserve", "--site", "other", "--nodes", "1", "--at", "1h", "--for", "1h"))
	before := holding(t, home, id)
	client(t, home, "reserve", "--modify", id, "--for", "30m", "--nodes", "2")
	for _, s := range []site{home, other} {
		if h := holding(t, s, id); h.State != "CONFIRMED" || len(h.Nodes) != 2 || h.Start != before.Start || h.End != before.Start+api.Time(30*time.Minute/time.Millisecond) {
			t.Errorf("%s has it as %+v, before %+v", s.Name, h, before)
		}
	}
	client(t, home, "reserve", "--modify", id, "--at", "3h")
	moved := holding(t, other, id)
	if moved.Start < before.Start+api.Time(time.Hour/time.Millisecond) || moved.End-moved.Start != api.Time(30*time.Minute/time.Millisecond) {
		t.Errorf("it is moved to %+v", moved)
	}
	client(t, home, "reserve", "--site", "other", "--nodes", "3", "--at", "1h", "--for", "1h")
	for _, args := range [][]string{{"--at", "90m"}, {"--nodes", "4"}} {
		if r := home.Client(t.Context(), append([]string{"reserve", "--modify", id}, args...)...); r.Code == 0 || !strings.Contains(r.Stderr, "other says") {
			t.Errorf("%v: %s%s", args, r.Stdout, r.Stderr)
		}
	}
	if h := holding(t, other, id); h.Start != moved.Start || len(h.Nodes) != 2 {
		t.Errorf("what was refused has made it %+v", h)
	}
}

// Maintenance that the operator enters takes the place of a reservation, at once, and its holder is told.
func TestMaintenanceComesFirst(t *testing.T) {
	t.Parallel()
	dir := place(t)
	home, other := newSite(t, dir, "home", cluster.Options{Nodes: 1, Cores: 2}), newSite(t, dir, "other", cluster.Options{Nodes: 1, Cores: 2})
	start(t, home, other)
	introduce(t, home, other)
	id := strings.TrimSpace(client(t, home, "reserve", "--site", "other", "--nodes", "1", "--at", "2h", "--for", "1h"))
	from := time.Now().Add(time.Hour).UTC()
	text, err := os.ReadFile(filepath.Join(other.Dir, "gbroker.yaml"))
	must(t, err)
	text = fmt.Appendf(text, "\nreservations:\n  maintenance:\n    - {name: pump, from: %s, until: %s}\n", from.Format(time.RFC3339), from.Add(5*time.Hour).Format(time.RFC3339))
	must(t, os.WriteFile(filepath.Join(other.Dir, "gbroker.yaml"), text, 0o600))
	must(t, other.Signal(syscall.SIGHUP))
	eventually(t, "its holder is to be told", func() bool {
		h := holding(t, home, id)
		return h.State == "LOST" && strings.Contains(h.Reason, "pump")
	})
	if r := home.Client(t.Context(), "reserve", "--site", "other", "--nodes", "1", "--at", "2h", "--for", "1h"); !strings.Contains(r.Stderr, "pump") {
		t.Errorf("within the window: %s%s", r.Stdout, r.Stderr)
	}
}
