package overlay

import (
	"context"
	"slices"
	"testing"

	"gbroker/grid"
)

// p and q are members of h. As long as p has another key, or none, neither of p and q finds the other, and h passes no line on between
// them; with the key of h and q they do, and no more when p has another again.
func TestAMemberWithoutTheKeyIsApart(t *testing.T) {
	t.Parallel()
	key, other := NewGridKey(), NewGridKey()
	for name, first := range map[string]GridKey{"another key": other, "no key": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := several(t, 3)
			p, h, q := all[0], all[1], all[2]
			for b, k := range map[*broker]GridKey{p: first, h: key, q: key} {
				c := b.config()
				c.GridKey = k
				b.run(c)
				b.over.HandleFar("/test/far/1", nil)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
			defer cancel()
			apart := func() {
				t.Helper()
				eventually(t, "h keeps p apart", func() bool { return h.over.gate.isApart(p.over.self) })
				if first != (GridKey{}) {
					eventually(t, "p keeps h apart", func() bool { return p.over.gate.isApart(h.over.self) })
				}
				if speaksRecords(t, p, h) {
					t.Error("p may ask h for records")
				}
			}
			finds := func(b, o *broker) bool {
				list, err := b.over.Sites(ctx)
				return err == nil && slices.ContainsFunc(list, func(r SiteRecord) bool { return r.Peer == o.peer() })
			}
			join(t, []*broker{p, h}, [][2]int{{0, 1}})
			apart()
			if err := h.over.SetMembers([]grid.Member{p.as(), q.as()}); err != nil {
				t.Fatal(err)
			}
			if err := q.over.SetMembers([]grid.Member{h.as()}); err != nil {
				t.Fatal(err)
			}
			eventually(t, "q finds h, and h finds q", func() bool { return finds(q, h) && finds(h, q) })
			if first != (GridKey{}) && finds(p, q) {
				t.Error("p finds q")
			}
			if finds(q, p) {
				t.Error("q finds p")
			}
			p.over.SetGridKey(key)
			eventually(t, "with the key p and q find each other", func() bool { return finds(p, q) && finds(q, p) })
			first = other
			p.over.SetGridKey(other)
			apart()
			s := p.over.current.Load()
			if c, _, err := s.step(ctx, reach{[]grid.PeerID{h.peer(), q.peer()}, "/test/far/1"}); err == nil {
				c.Close()
				t.Error("h passes a line on for p")
			}
		})
	}
}
