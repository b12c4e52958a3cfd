package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"gbroker/api"
	"gbroker/grid"
)

// running is a site that serves in this process, with a client as its users have one.
type running struct {
	*testing.T
	*site
	*api.Client
	cfg Config
}

// serveSite makes a site of one node over the embedded batch system, and serves it until the test ends.
func serveSite(t *testing.T, name grid.SiteName, cores int) *running {
	t.Helper()
	dir, err := os.MkdirTemp("", "s") // a short name: that of a socket is bounded
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	o := DefaultInit()
	o.Dir, o.Site, o.Nodes, o.Cores, o.Listen, o.API = filepath.Join(dir, "s"), name, 1, cores, "/ip4/127.0.0.1/tcp/0", "127.0.0.1:0"
	cfg, err := Init(o)
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSite(t.Context(), cfg, zap.NewNop(), zap.NewAtomicLevel())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.run(ctx) }()
	c, err := api.NewClient(api.ClientConfig{Address: "unix://" + cfg.Socket})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		stop()
		if err := errors.Join(<-done, s.stager.Close()); err != nil {
			t.Errorf("%s ends with %v", name, err)
		}
	})
	r := &running{t, s, c, cfg}
	r.soon("it serves", func() bool { _, err := c.Self(t.Context()); return err == nil })
	return r
}

func (r *running) soon(what string, ok func() bool) {
	r.Helper()
	end := time.After(30 * time.Second)
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for !ok() {
		select {
		case <-again.C:
		case <-end:
			r.Fatalf("it does not come that %s", what)
		}
	}
}

// submit hands in a job of a shell script.
func (r *running) submit(key, script string, processes int) grid.JobID {
	r.Helper()
	a, err := r.Submit(r.Context(), api.Submission{Key: key, Name: key + ".jsdl", Document: fmt.Sprintf(`<JobDefinition xmlns="http://schemas.ggf.org/jsdl/2005/11/jsdl"
	xmlns:posix="http://schemas.ggf.org/jsdl/2005/11/jsdl-posix"><JobDescription><JobIdentification><JobName>%s</JobName></JobIdentification><Application><posix:POSIXApplication>
	<posix:Executable>/bin/sh</posix:Executable><posix:Argument>-c</posix:Argument><posix:Argument>%s</posix:Argument>
	<posix:Output>out</posix:Output><posix:Error>err</posix:Error><posix:WallTimeLimit>300</posix:WallTimeLimit></posix:POSIXApplication></Application>
	<Resources><TotalCPUCount><Exact>%d</Exact></TotalCPUCount></Resources></JobDescription></JobDefinition>`, key, script, processes)})
	if err != nil {
		r.Fatal(err)
	}
	return a.ID
}

// until waits for a state of a job, as gclient wait does.
func (r *running) until(id grid.JobID, want grid.State) api.Status {
	r.Helper()
	ctx, stop := context.WithTimeout(r.Context(), 60*time.Second)
	defer stop()
	for since := ""; ; {
		st, err := r.Wait(ctx, id, since)
		if err != nil {
			r.Fatalf("waiting for %s of %s: %v", want, id, err)
		}
		if st.State == want.String() {
			return st
		}
		if s, _ := grid.ParseState(st.State); s.Terminal() {
			r.Fatalf("%s is %s: %s", id, st.State, st.Reason)
		}
		since = st.State
	}
}

// log is all that a job has written.
func (r *running) log(id grid.JobID, q api.LogQuery) api.LogPiece {
	r.Helper()
	p, err := r.ReadLog(r.Context(), id, q)
	if err != nil {
		r.Fatal(err)
	}
	return p
}

// listed are the jobs that a site lists, of those in some states.
func (r *running) listed(states ...grid.State) (ids []grid.JobID) {
	r.Helper()
	page, err := r.List(r.Context(), api.Filter{States: states}, "", 100)
	if err != nil {
		r.Fatal(err)
	}
	for _, j := range page.Jobs {
		ids = append(ids, j.ID)
	}
	return ids
}

// A job that runs where it was handed in: all that its user can ask about it.
func TestAJobOfOneSite(t *testing.T) {
	t.Parallel()
	a := serveSite(t, "alpha", 2)
	id := a.submit("one", "echo hello; echo oops &gt;&amp;2; exit 3", 1)
	st := a.until(id, grid.Completed)
	if st.ExitCode == nil || *st.ExitCode != 3 || st.Owner != "alpha" || st.Home != "alpha" || st.Signal != nil || st.CancelRequested {
		t.Errorf("it ended as %+v", st)
	}
	left, err := a.Outputs(t.Context(), id)
	if err != nil || !left.Complete || len(left.Files) != 2 {
		t.Fatalf("it left %+v, %v", left, err)
	}
	var text bytes.Buffer
	if n, err := a.Output(t.Context(), id, left.Files[1].Path, &text); n != 6 || err != nil || text.String() != "hello\n" {
		t.Errorf("%s is %q, %v", left.Files[1].Path, text.String(), err)
	}
	all := a.log(id, api.LogQuery{})
	if string(all.Data) != "hello\n" || !all.End || all.Run == "" || all.Offset != 0 || all.Site != "alpha" || all.State != "COMPLETED" {
		t.Errorf("the log is %+v", all)
	}
	if rest := a.log(id, api.LogQuery{Run: all.Run, Offset: 2}); string(rest.Data) != "llo\n" || rest.Offset != 2 {
		t.Errorf("from the third byte on it is %+v", rest)
	}
	if other := a.log(id, api.LogQuery{Run: "another", Offset: 2, Error: true}); string(other.Data) != "oops\n" || other.Offset != 0 {
		t.Errorf("what another run had written is no part of %+v", other)
	}
	slow := a.submit("two", "sleep 100", 1)
	a.until(slow, grid.Running)
	o, err := a.Overview(t.Context())
	if err != nil || o.Jobs["COMPLETED"] != 1 || o.Jobs["RUNNING"] != 1 || len(o.Jobs) != 2 || o.Site != "alpha" || o.PID != os.Getpid() || o.Batch == nil {
		t.Errorf("the overview is %+v, %v", o, err)
	}
	if got := a.listed(grid.Running); len(got) != 1 || got[0] != slow {
		t.Errorf("running are %v", got)
	}
	if got := a.listed(); len(got) != 2 {
		t.Errorf("listed are %v", got)
	}
	if e, err := a.Explain(t.Context(), id); err != nil || len(e.Decisions) != 1 {
		t.Errorf("explained by %+v, %v", e, err)
	}
	if h, err := a.History(t.Context(), id); err != nil || len(h.Events) < 4 {
		t.Errorf("its history is %+v, %v", h, err)
	}
	if err := a.Remove(t.Context(), slow); err == nil {
		t.Error("a job that runs can be removed")
	}
	if c, err := a.Cancel(t.Context(), slow); err != nil || !c.Confirmed || !c.Job.CancelRequested {
		t.Errorf("cancelled: %+v, %v", c, err)
	}
	if st := a.until(slow, grid.Killed); st.Reason == "" {
		t.Errorf("it ended as %+v", st)
	}
	if err := a.Remove(t.Context(), id); err != nil {
		t.Error(err)
	}
	if _, err := a.Job(t.Context(), id); !errors.Is(err, grid.ErrNotFound) {
		t.Errorf("asked for a job that was removed: %v", err)
	}
	if got := a.listed(); len(got) != 1 {
		t.Errorf("after one was removed %v are listed", got)
	}
	if o, err := a.Overview(t.Context()); err != nil || o.Jobs["COMPLETED"] != 0 || o.Jobs["KILLED"] != 1 {
		t.Errorf("the overview is %+v, %v", o, err)
	}
	if ready := a.readyNow(); ready.API == "" || !strings.HasPrefix(ready.API, "127.0.0.1:") || ready.Socket != a.cfg.Socket || ready.Peer != a.self || len(ready.Addresses) == 0 {
		t.Errorf("it is ready as %+v", ready)
	}
}

// know makes two sites members of each other, as `gbroker neighbour add` does.
func know(t *testing.T, a, b *running) {
	t.Helper()
	for _, pair := range [][2]*running{{a, b}, {b, a}} {
		at, of := pair[0], pair[1]
		m := grid.Member{Name: of.facts.Name, Peer: of.self, Addresses: of.overlay.Addresses(), Send: true, DefaultBandwidth: grid.DefaultBandwidth}
		if _, err := AddNeighbour(t.Context(), at.cfg, m); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []*running{a, b} {
		s.soon("its neighbour is alive, and has told of itself", func() bool {
			all, err := s.Sites(t.Context())
			return err == nil && len(all) == 2 && all[1].State == "alive" && all[1].Version != "" && all[1].Load != nil && all[1].RTTS != nil
		})
	}
}

// A job that only the neighbour can run: its user asks at home.
func TestAJobOfTwoSites(t *testing.T) {
	t.Parallel()
	a, b := serveSite(t, "alpha", 1), serveSite(t, "beta", 4)
	know(t, a, b)
	if p, err := a.Where(t.Context(), api.Submission{Key: "w", Name: "w", Document: strings.Replace(bare, "CORES", "3", 1)}); err != nil || p.Chosen == nil || *p.Chosen != "beta" {
		t.Errorf("where: %+v, %v", p, err)
	}
	id := a.submit("far", "echo begun; sleep 100", 3)
	if st := a.until(id, grid.Running); st.Owner != "beta" || st.Home != "alpha" {
		t.Fatalf("it runs as %+v", st)
	}
	var p api.LogPiece
	a.soon("it has written", func() bool { p = a.log(id, api.LogQuery{}); return len(p.Data) > 0 })
	if string(p.Data) != "begun\n" || p.End || p.Site != "beta" || p.State != "RUNNING" || p.Run == "" {
		t.Errorf("the log is %+v", p)
	}
	if left, err := a.Outputs(t.Context(), id); err != nil || left.Complete || len(left.Files) != 2 {
		t.Errorf("it has written %+v so far, %v", left, err)
	}
	if st, err := b.Job(t.Context(), id); err != nil || st.State != "RUNNING" || st.Home != "alpha" {
		t.Errorf("an administrator of its owner sees %+v, %v", st, err)
	}
	for _, s := range []*running{a, b} {
		if o, err := s.Overview(t.Context()); err != nil || o.Jobs["RUNNING"] != 1 {
			t.Errorf("%s: %+v, %v", s.facts.Name, o, err)
		}
	}
	if list, err := a.Handoffs(t.Context(), "beta"); err != nil || len(list) != 1 || !list[0].There || list[0].Here {
		t.Errorf("between the two are %+v, %v", list, err)
	}
	if _, err := a.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if st := a.until(id, grid.Killed); st.ExitCode == nil || st.Owner != "beta" {
		t.Errorf("it ended as %+v", st)
	}
	if p := a.log(id, api.LogQuery{}); string(p.Data) != "begun\n" || !p.End {
		t.Errorf("at home the log is %+v", p)
	}
	second := a.submit("there", "sleep 100", 2)
	a.until(second, grid.Running)
	if _, err := b.Cancel(t.Context(), second); err != nil { // as an administrator of the owner
		t.Fatal(err)
	}
	a.until(second, grid.Killed)
}

// What is asked of a whole site.
func TestAskedOfASite(t *testing.T) {
	t.Parallel()
	a := serveSite(t, "alpha", 2)
	if s, err := a.Self(t.Context()); err != nil || s.Name != "alpha" || s.Peer != a.self || s.Processes != 2 {
		t.Errorf("it is %+v, %v", s, err)
	}
	for _, on := range []bool{true, false} {
		if d, err := a.Drain(t.Context(), on); err != nil || d.Draining != on {
			t.Errorf("drained: %+v, %v", d, err)
		}
		if all, err := a.Sites(t.Context()); err != nil || len(all) != 1 || all[0].Draining != on || !all[0].Self {
			t.Errorf("the sites are %+v, %v", all, err)
		}
	}
	if held, err := a.Batch(t.Context()); err != nil || len(held.Nodes) != 1 || held.System == "" || held.Policy != "easy" {
		t.Errorf("the batch system holds %+v, %v", held, err)
	}
	if _, err := a.Handoffs(t.Context(), "nowhere"); err == nil {
		t.Error("it has a neighbour that nobody knows")
	}
	for name, ask := range map[string]func(grid.JobID) error{
		"job":     func(id grid.JobID) error { _, err := a.Job(t.Context(), id); return err },
		"wait":    func(id grid.JobID) error { _, err := a.Wait(t.Context(), id, ""); return err },
		"cancel":  func(id grid.JobID) error { _, err := a.Cancel(t.Context(), id); return err },
		"remove":  func(id grid.JobID) error { return a.Remove(t.Context(), id) },
		"explain": func(id grid.JobID) error { _, err := a.Explain(t.Context(), id); return err },
		"history": func(id grid.JobID) error { _, err := a.History(t.Context(), id); return err },
		"outputs": func(id grid.JobID) error { _, err := a.Outputs(t.Context(), id); return err },
		"log":     func(id grid.JobID) error { _, err := a.ReadLog(t.Context(), id, api.LogQuery{}); return err },
	} {
		if err := ask("alpha.01ABCDEFGHJKMNPQRSTVWXYZ00"); !errors.Is(err, grid.ErrNotFound) {
			t.Errorf("%s of a job that nobody has: %v", name, err)
		}
	}
}

const bare = `<JobDefinition xmlns="http://schemas.ggf.org/jsdl/2005/11/jsdl" xmlns:posix="http://schemas.ggf.org/jsdl/2005/11/jsdl-posix"><JobDescription>
	<Application><posix:POSIXApplication><posix:Executable>/bin/true</posix:Executable></posix:POSIXApplication></Application>
	<Resources><TotalCPUCount><Exact>CORES</Exact></TotalCPUCount></Resources></JobDescription></JobDefinition>`
