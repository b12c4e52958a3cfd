package pbstest

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gbroker/grid"
)

// stranger is a job of somebody else.
type stranger struct {
	*site
	Foreign
	local grid.LocalID
}

// foreign submits a job of somebody else, which runs until it is released.
func (s *site) foreign(f Foreign) *stranger {
	s.Helper()
	dir, err := os.MkdirTemp(s.dir, "foreign")
	if err == nil {
		err = os.Chmod(dir, 0o777)
	}
	s.did("making a folder of others", err)
	f.Dir, f.Script = dir, untilGo+"; echo done > done\n"
	o := &stranger{site: s, Foreign: f}
	o.local, err = s.hand.Submit(f)
	s.did("submitting a job of others", err)
	s.Cleanup(func() {
		o.release() // it ends by itself, also where the test has failed
	})
	return o
}

func (o *stranger) exists(name string) bool {
	_, err := os.Lstat(filepath.Join(o.Dir, name))
	return err == nil
}

func (o *stranger) release() {
	if err := os.WriteFile(filepath.Join(o.Dir, "go"), nil, 0o644); err != nil && !os.IsNotExist(err) {
		o.Error(err)
	}
}

// await waits until it has ended as it should.
func (o *stranger) await() {
	o.Helper()
	o.until("a job of others ends well", func() bool { return o.exists("done") })
}

// Jobs that only look like ours are never listed as ours, nor touched: one of another
// account with our very name and mark, and one of our account that another broker marked.
func testJobsOfOthers(t *testing.T, k Kind) {
	s := newSite(t, k)
	s.need(s.hand.Submit != nil, "no jobs of others can be submitted")
	j, l := s.shell("echo ran >> ran"), s.shell("echo ran >> ran")
	var all []*stranger
	for _, f := range []Foreign{
		{Other: true, Name: j.ID.Tag(), Mark: s.setup.Owner + "/" + j.ID.String()},
		{Name: j.ID.Tag(), Mark: "another/" + j.ID.String()},
		{Name: j.ID.Tag(), Mark: strings.Replace(s.setup.Owner+"/"+j.ID.String(), "#1", "#2", 1)},
	} {
		f.Nodes, f.Limit = 1, 10*minute
		o := s.foreign(f)
		s.until("the job of others runs", func() bool { return o.exists("up") })
		all = append(all, o)
	}
	s.until("they are seen", func() bool { return len(s.snapshot().Running) == len(all) })
	if ours, err := s.Attempts(context.Background()); err != nil || slices.Contains(ours, j.ID) {
		t.Errorf("listed as ours: %v, %v", ours, err)
	}
	if p := s.progress(j); p.Phase != grid.Unknown {
		t.Errorf("a job that was never submitted is %s", p.Phase)
	}
	if ok, err := s.Withdraw(context.Background(), j.ID, j.Control); !ok || err != nil {
		t.Errorf("Withdraw: %v, %v", ok, err)
	}
	if err := s.Kill(context.Background(), j.ID, j.Control); err != nil {
		t.Errorf("Kill: %v", err)
	}
	s.submit(l) // whatever withdrawing does behind our back is done before this one
	s.restart()
	for _, o := range all {
		o.release()
		o.await()
	}
	s.end(l)
	if s.exists(j, "ran") {
		t.Error("the withdrawn attempt ran")
	}
}
