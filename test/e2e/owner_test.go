package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/overlay"
	"gbroker/test/cluster"
	"gbroker/wire"
)

// sharing gives sites one grid key.
func sharing(t *testing.T, sites ...site) (key string) {
	t.Helper()
	for _, s := range sites {
		args := []string{"grid", "--config", s.Config()}
		if key != "" {
			args = append(args, "--key", key)
		}
		r := s.Admin(t.Context(), args...)
		if r.Code != 0 {
			t.Fatal(r.Stderr)
		}
		key = strings.TrimSpace(r.Stdout)
	}
	return key
}

// While the home of a job is down, its owner answers for it beyond the neighbours, as it has the home's word for it; the user is told that
// nobody confirms it. Who only says
// that he is the owner, in the directory that all of the grid may write, is not believed.
func TestOwnerAnswersForTheHome(t *testing.T) {
	t.Parallel()
	dir := place(t)
	home, away, asker := newSite(t, dir, "home", cluster.Options{Nodes: 1, Cores: 1}), newSite(t, dir, "away", cluster.Options{Nodes: 1, Cores: 2}), newSite(t, dir, "asker", cluster.Options{Nodes: 1, Cores: 1})
	text := sharing(t, home, away, asker)
	start(t, home, away, asker)
	know(t, line(home, away), line(away, home, "--send=false"), line(away, asker, "--send=false"), line(asker, away, "--send=false"))
	must(t, home.Sees(t.Context(), patience, "away"))
	must(t, asker.Sees(t.Context(), patience, "away"))
	mine := filepath.Join(dir, "mine")
	if _, why, err := passing(t.Context(), home, mine, "pass"); err != nil {
		t.Fatal(why)
	}
	id := work{script: waits(dir, "go"), cpus: 2, walltime: 60}.submit(t, home, dir, "moves")
	reaches(t, home, id, "RUNNING")
	ask := func() (string, string) {
		out, why, err := passing(t.Context(), asker, mine, "status", id)
		if err == nil && !strings.Contains(why, "warning") {
			return out, ""
		}
		return out, why
	}
	eventually(t, "the job is seen through its home", func() bool {
		out, why := ask()
		return strings.Contains(out, "RUNNING") && why == ""
	})
	home.Stop()
	eventually(t, "its owner answers", func() bool {
		out, why := ask()
		t.Log(why)
		return strings.Contains(out, "RUNNING") && strings.Contains(why, "has, or once had, the job")
	})

	key, err := overlay.ParseGridKey(text)
	must(t, err)
	l := newLiar(t, dir, "liar", func(*liar, grid.PeerID, wire.Message) {}, asker)
	l.overlay.SetGridKey(key)
	l.overlay.HandleFar("/gbroker/api/1", func(_ grid.PeerID, c net.Conn) {
		c.Read(make([]byte, 4096))
		body := fmt.Sprintf(`{"id":%q,"state":"COMPLETED"}`, id)
		fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		io.Copy(io.Discard, c)
	})
	must(t, asker.Sees(t.Context(), patience, "liar"))
	eventually(t, "the false record is there", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		return l.overlay.PublishOwner(ctx, grid.JobID(id), grid.Epoch{Term: 9}) == nil
	})
	eventually(t, "the false owner is asked, and not believed", func() bool {
		out, why := ask()
		if strings.Contains(out, "COMPLETED") {
			t.Fatalf("a liar is believed: %s", out)
		}
		return strings.Contains(why, "does not prove")
	})
	must(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o644))
}
