package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gbroker/api"
	"gbroker/test/cluster"
)

// Two sites whose wall clocks are 20 minutes apart: a job of the one runs at the other, and its output comes back; home knows
// how far the other clock is, and who joins is told. One that starts with its clock three hours ahead, as where a hardware clock is taken for another zone's,
// is met as any other.
func TestAJobBetweenClocksApart(t *testing.T) {
	t.Parallel()
	if err := cluster.Clocks(); err != nil {
		t.Skip(err)
	}
	dir := place(t)
	home := newSite(t, dir, "home", cluster.Options{Nodes: 1, Cores: 1})
	away := newSite(t, dir, "away", cluster.Options{Nodes: 1, Cores: 2})
	home.OwnClock, home.Ahead = true, -10*time.Minute
	away.OwnClock, away.Ahead = true, 10*time.Minute
	start(t, home, away)
	r := home.Admin(t.Context(), "invite", "--config", home.Config())
	if r.Code != 0 {
		t.Fatal(r.Stderr)
	}
	r = away.Admin(t.Context(), "join", "--config", away.Config(), strings.TrimSpace(r.Stdout)) // a command has the clock of this machine
	if r.Code != 0 || !strings.Contains(r.Stderr, "clock: the one over there is ") || !strings.Contains(r.Stderr, " behind this one: set both by NTP") {
		t.Fatalf("join: %d, %s%s", r.Code, r.Stdout, r.Stderr)
	}
	must(t, home.Sees(t.Context(), patience, "away"))

	id := work{script: "echo over there", output: "out.txt", cpus: 2, walltime: 60}.submit(t, home, dir, "job")
	completed(t, home, id, "away")
	if r := home.Client(t.Context(), "output", id, filepath.Join(dir, "back")); r.Code != 0 {
		t.Fatal(r.Stderr)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "back", "out.txt")); err != nil || strings.TrimSpace(string(text)) != "over there" {
		t.Errorf("it brought %q, %v", text, err)
	}
	eventually(t, "home tells how far the clock there is", func() bool {
		r := home.Client(t.Context(), "sites", "--json")
		var list []api.Site
		if json.Unmarshal([]byte(r.Stdout), &list) != nil || len(list) != 2 || list[1].ClockOffsetS == nil {
			return false
		}
		return *list[1].ClockOffsetS > 1198 && *list[1].ClockOffsetS < 1202
	})

	away.Kill()
	away.Ahead = 3 * time.Hour
	start(t, away)
	must(t, home.Sees(t.Context(), patience, "away"))
}
