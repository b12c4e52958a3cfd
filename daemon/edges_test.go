package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/grid"
)

// A job that any site of enough cores can run is handed in without asking others; whoever wants more than cores asks.
func TestWhichJobsAreSimple(t *testing.T) {
	t.Parallel()
	site := grid.Site{Processes: 4}
	plain := func() grid.Job {
		return grid.Job{Demand: grid.Demand{Chunks: []grid.Chunk{{Count: 4, Processes: 1, Cores: 1}}}}
	}
	if !simple(plain(), site) {
		t.Error("as many cores as there are")
	}
	for name, change := range map[string]func(j *grid.Job){
		"more cores":     func(j *grid.Job) { j.Demand.Chunks[0].Count = 5 },
		"cores together": func(j *grid.Job) { j.Demand.Chunks[0] = grid.Chunk{Count: 1, Processes: 1, Cores: 2} },
		"memory":         func(j *grid.Job) { j.Demand.Chunks[0].Memory = 1 },
		"a resource":     func(j *grid.Job) { j.Demand.Chunks[0].Resources = []grid.Resource{{Name: "gpu", Amount: 1}} },
		"a deadline":     func(j *grid.Job) { j.Terms.Deadline = 1 },
		"certain sites":  func(j *grid.Job) { j.Sites.Only = []grid.SiteName{"a"} },
		"not some sites": func(j *grid.Job) { j.Sites.Not = []grid.SiteName{"a"} },
		"a reservation":  func(j *grid.Job) { j.Reservation = "r" },
		"a queue":        func(j *grid.Job) { j.Queue = "long" },
		"nodes alone":    func(j *grid.Job) { j.Demand.Exclusive = true },
		"nodes apart":    func(j *grid.Job) { j.Demand.DistinctNodes = true },
		"a disk":         func(j *grid.Job) { j.Demand.Disk = 1 },
		"a property":     func(j *grid.Job) { j.Demand.Properties = []string{"ib"} },
		"a host":         func(j *grid.Job) { j.Demand.Hosts = []string{"n1"} },
		"a measure":      func(j *grid.Job) { j.Demand.Measures = []grid.Measure{{}} },
		"a machine":      func(j *grid.Job) { j.Demand.Architecture = "arm" },
		"a system":       func(j *grid.Job) { j.Demand.System = "LINUX" },
	} {
		j := plain()
		if change(&j); simple(j, site) {
			t.Errorf("a job that wants %s is simple", name)
		}
	}
}

// A webhook gets what became of a job as JSON; what it answers badly is tried again, and where none may be told that is final.
func TestWebhooksAreTold(t *testing.T) {
	t.Parallel()
	status, got := http.StatusNoContent, map[string]any{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if clear(got); err != nil || q.Method != http.MethodPost || q.Header.Get("Content-Type") != "application/json" || json.Unmarshal(body, &got) != nil {
			t.Errorf("%s of %q: %q, %v", q.Method, q.Header.Get("Content-Type"), body, err)
		}
		w.WriteHeader(status)
	}))
	defer server.Close()
	name := func(grid.PeerID) string { return "alpha" }
	n, err := newNotifier(Config{Outbound: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, name)
	if err != nil {
		t.Fatal(err)
	}
	r := &grid.Record{Job: grid.Job{ID: "j", Name: "render", User: grid.User{Name: "ann"}}, State: grid.Completed, Run: grid.Run{HasExit: true, ExitCode: 3}}
	owed := func(to string) grid.Owed { return grid.Owed{Notice: grid.Notice{To: to, When: "end"}, At: 5} }
	if err := n.Notify(t.Context(), r, owed(server.URL)); err != nil {
		t.Errorf("told: %v", err)
	}
	if got["job"] != "j" || got["name"] != "render" || got["user"] != "ann" || got["occasion"] != "end" || got["state"] != "COMPLETED" || got["site"] != "alpha" || got["exit_code"] != 3. {
		t.Errorf("it hears %v", got)
	}
	status = http.StatusServiceUnavailable
	if err := n.Notify(t.Context(), r, owed(server.URL)); err == nil || errors.Is(err, grid.ErrInvalid) || !strings.Contains(err.Error(), "503") {
		t.Errorf("one that is busy: %v", err)
	}
	if err := n.Notify(t.Context(), r, owed("http://\x7f")); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("one that cannot be: %v", err)
	}
	if err := n.Notify(t.Context(), r, owed("mailto:ann@example.org")); !errors.Is(err, grid.ErrInvalid) || !strings.Contains(err.Error(), "sends no mail") {
		t.Errorf("a mail where none is sent: %v", err)
	}
	inner, err := newNotifier(Config{}, name)
	if err != nil {
		t.Fatal(err)
	}
	if err := inner.Notify(t.Context(), r, owed(server.URL)); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("one on this machine, which is not allowed: %v", err)
	}
	for range maxHooks {
		if _, err := n.all.enter(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := n.Notify(ctx, r, owed(server.URL)); !errors.Is(err, context.Canceled) {
		t.Errorf("while as many as may be are told: %v", err)
	}
}

// A site that could not be made leaves nothing behind but what was there.
func TestASiteThatCannotBeMadeLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := Config{File: filepath.Join(dir, "gbroker.yaml"), Data: filepath.Join(dir, "data"), Neighbours: filepath.Join(dir, "neighbours.yaml")}
	if err := os.Mkdir(c.File, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := write(c, "text"); err == nil {
		t.Fatal("it is made over what is there")
	}
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != 1 || list[0].Name() != "gbroker.yaml" {
		t.Errorf("left are %v, %v", list, err)
	}
	if err := os.Remove(c.File); err != nil {
		t.Fatal(err)
	}
	if err := write(c, "text"); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(c.File); err != nil || string(text) != "text" {
		t.Errorf("its file is %q, %v", text, err)
	}
}

// Operations by hand are for who may read what they leave: the user of the daemon.
func TestOperationsByHandAreForTheDaemonsUser(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := rightUser(Config{Data: dir}); err != nil {
		t.Errorf("its own: %v", err)
	}
	if err := rightUser(Config{Data: filepath.Join(dir, "none")}); err == nil {
		t.Error("none")
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can give a folder away")
	}
	if err := os.Chown(dir, 12345, -1); err != nil {
		t.Fatal(err)
	}
	if err := rightUser(Config{Data: dir}); !errors.Is(err, grid.ErrForbidden) || !strings.Contains(err.Error(), "uid 12345") {
		t.Errorf("another's: %v", err)
	}
}

// Where users are mapped each account has to be there; what nobody names can only be tried by its name.
func TestDoctorOfAccounts(t *testing.T) {
	t.Parallel()
	users := func(u UsersConfig) func(*Config) { return func(c *Config) { c.Batch.External.Users = u } }
	accounts := func(d *doctor) { d.accounts() }
	expect(t, "none", said(t, Slurm, nil, accounts), Fine, "the daemon's own account")
	expect(t, "one that is not there", said(t, Slurm, nil, accounts, users(UsersConfig{Mapped: true, Map: map[string]string{"ann": "no-such-account", "bob": "no-such-account"}})), Mend, "there is no such account")
	expect(t, "what else is", said(t, Slurm, nil, accounts, users(UsersConfig{Mapped: true, Otherwise: "no-such-account"})), Mend, "there is no such account")
	expect(t, "every one", said(t, Slurm, nil, accounts, users(UsersConfig{Mapped: true, Same: true})), Untried, "every account of this machine")
	expect(t, "one that is named", said(t, Slurm, nil, func(d *doctor) { d.as = "no-such-account"; d.accounts() }, users(UsersConfig{Mapped: true})), Mend, "there is no such account")
	for _, k := range []struct {
		as   string
		u    UsersConfig
		name string
	}{
		{"ann", UsersConfig{Otherwise: "else"}, "ann"}, {"", UsersConfig{Otherwise: "else", Map: map[string]string{"a": "mapped"}}, "else"},
		{"", UsersConfig{Map: map[string]string{"a": "two", "b": "one"}}, "one"}, {"", UsersConfig{}, ""},
	} {
		d := &doctor{as: k.as}
		d.cfg.Batch.System, d.cfg.Batch.External.Users = Slurm, k.u
		if name, why := d.testAccount(); name != k.name || why != "" {
			t.Errorf("%+v: the test job runs as %q, %q", k.u, name, why)
		}
	}
}
