package overlay

import (
	"testing"

	"gbroker/grid"
)

// p and q have the grid's key and the same third member. p lists q, and q does not list p: it lets p in as a guest, and
// the third has it alive. It is refused all the same; alive as soon as q lists p, and refused again when q has removed p.
func TestGuestIsNoMember(t *testing.T) {
	t.Parallel()
	all := graph(t, 3, [][2]int{{0, 1}, {1, 2}}, nil)
	p, h, q := all[0], all[1], all[2]
	if err := p.over.SetMembers([]grid.Member{h.as(), q.as()}); err != nil {
		t.Fatal(err)
	}
	alone := func(when string) {
		t.Helper()
		eventually(t, "p knows that q refuses it, "+when, func() bool {
			n := p.over.current.Load().neighbour(q.over.self)
			connected, heard, _ := n.connection()
			return p.over.Contact(q.peer()) == grid.Refused && connected && heard
		})
		if l := p.over.Liveness(q.peer()); l == grid.Alive {
			t.Errorf("q is %v at p, %s", l, when)
		}
	}
	alone("which q never listed")
	p.mu.Lock()
	if l := p.last(q.peer()); l == grid.Alive {
		t.Errorf("q was told as %v at p", l)
	}
	for _, m := range p.moves {
		if m.peer == q.peer() && m.l == grid.Alive {
			t.Errorf("q was alive at p for a time")
		}
	}
	p.mu.Unlock()
	if err := q.over.SetMembers([]grid.Member{h.as(), p.as()}); err != nil {
		t.Fatal(err)
	}
	p.sees(q, grid.Alive)
	q.sees(p, grid.Alive)
	if err := q.over.SetMembers([]grid.Member{h.as()}); err != nil {
		t.Fatal(err)
	}
	alone("which q has removed")
	p.sees(h, grid.Alive)
}
