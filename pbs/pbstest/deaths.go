package pbstest

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"gbroker/grid"
	"gbroker/plan"
)

func testKill(t *testing.T, k Kind) {
	s := newSite(t, k)
	j := s.submit(s.shell(`echo x > up; sleep 1000`))
	s.awaitFile(j, "up")
	for range 2 {
		s.did("Kill", s.Kill(context.Background(), j.ID, j.Control))
	}
	p := s.end(j)
	if p.Cause != grid.ByRequest || p.Started == 0 || p.Finished < p.Started-s.fuzz() {
		t.Errorf("ended %+v", p)
	}
	s.did("Kill after the end", s.Kill(context.Background(), j.ID, j.Control))
	if again := s.progress(j); !reflect.DeepEqual(again, p) {
		t.Errorf("a kill after the end changed it: %+v", again)
	}
	s.until("its cores are free", func() bool { return len(s.snapshot().Running) == 0 })
}

func testWalltime(t *testing.T, k Kind) {
	s := newSite(t, k)
	j := s.shell(`echo x > up; sleep 1000`)
	j.Limit = max(k.Least, 6*grid.Second) // a wrapper that begins late takes half of it for the whole
	p := s.end(s.submit(j))
	if p.Cause != grid.ByWalltime || p.Detail == "" {
		t.Errorf("ended %+v", p)
	}
	if ran := p.Finished - p.Started; ran < j.Limit-s.fuzz() {
		t.Errorf("it ran for %d ms under a limit of %d", ran, j.Limit)
	}
}

// stillOthers is the end of a job that somebody else ended: told with words, and
// neither as the program's own success nor as our wish.
func (s *site) stillOthers(p grid.Progress) {
	s.Helper()
	if p.Phase != grid.Ended || p.Cause == grid.ByRequest || p.Cause == grid.NeverRan || p.Cause == grid.ByItself && p.ExitCode == 0 || p.Detail == "" && p.Signal == 0 {
		s.Errorf("it was ended by others, and is told as %+v", p)
	}
}

func testCancelledByOthers(t *testing.T, k Kind) {
	s := newSite(t, k)
	s.need(s.hand.Delete != nil, "no operator can delete a job")
	j := s.submit(s.shell(`echo x > up; sleep 1000`))
	s.awaitFile(j, "up")
	s.await(j, grid.Started)
	s.did("deleting a job", s.hand.Delete(s.local(j)))
	s.stillOthers(s.end(j))
}

// What ends while our side is down is told with its cause afterwards.
func testEndsWhileNobodyLooks(t *testing.T, k Kind) {
	s := newSite(t, k)
	itself := s.submit(s.shell(untilGo + "; exit 9"))
	others := s.submit(s.shell(`echo x > up; sleep 1000`))
	for _, j := range []grid.Submission{itself, others} {
		s.awaitFile(j, "up")
		s.await(j, grid.Started)
	}
	local := s.local(others)
	s.stop()
	s.release(itself)
	if s.hand.Delete != nil {
		s.did("deleting a job", s.hand.Delete(local))
	}
	s.start()
	if p := s.end(itself); p.Cause != grid.ByItself || p.ExitCode != 9 {
		t.Errorf("ended %+v", p)
	}
	if s.hand.Delete != nil {
		s.stillOthers(s.end(others))
	}
}

func testNodeCrashes(t *testing.T, k Kind) {
	s := newSite(t, k)
	s.need(s.hand.Crash != nil && s.hand.Revive != nil, "no node can be made to crash")
	j := s.submit(s.wholly(s.shell(`echo ran >> ran; echo x > up; sleep 1000`)))
	s.awaitFile(j, "up")
	s.await(j, grid.Started)
	lost := s.nodes[0].Name
	s.did("crashing a node", s.hand.Crash(lost))
	if k.Lasting {
		s.until("the node is shown as down", func() bool {
			return slices.ContainsFunc(s.snapshot().Nodes, func(n plan.Node) bool { return n.Name == lost && n.Down })
		})
		s.did("reviving a node", s.hand.Revive(lost))
	}
	p := s.end(j)
	s.did("reviving a node", s.hand.Revive(lost))
	if p.Cause != grid.Disappeared && p.Cause != grid.CutOff || p.Detail == "" {
		t.Errorf("ended %+v", p)
	}
	s.until("the node is back", func() bool {
		for _, n := range s.snapshot().Nodes {
			if n.Down {
				return false
			}
		}
		return true
	})
	s.end(s.submit(s.wholly(s.shell("exit 0"))))
	if n := s.count(j, "ran"); n != 1 {
		t.Errorf("it ran %d times", n)
	}
}
