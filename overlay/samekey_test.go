package overlay

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"gbroker/grid"
)

// Members of different grid keys are told so, whether they connect with them or are given them later; who has none is not.
func TestOtherKeyIsTold(t *testing.T) {
	t.Parallel()
	all := several(t, 3)
	key := NewGridKey()
	keys := []GridKey{key, NewGridKey(), {}}
	for i, b := range all {
		c := b.config()
		c.GridKey = keys[i]
		b.run(c)
	}
	join(t, all, mesh(3))
	told := func(b *broker) (names []grid.SiteName) {
		for _, o := range all {
			if o != b && b.over.OtherKey(o.peer()) {
				names = append(names, o.name)
			}
		}
		return names
	}
	expect := func(what string, want ...[]grid.SiteName) {
		t.Helper()
		eventually(t, what, func() bool {
			for i, b := range all {
				if !slices.Equal(told(b), want[i]) {
					return false
				}
			}
			return true
		})
	}
	expect("each of two keys is told of the other", []grid.SiteName{"site1"}, []grid.SiteName{"site0"}, nil)
	all[2].over.SetGridKey(key)
	expect("one who gets a key learns who has another, and that one of him", []grid.SiteName{"site1"}, []grid.SiteName{"site0", "site2"}, []grid.SiteName{"site1"})
}

// A member speaks the DHT once it has answered, or has given no answer; its questions wait for that.
func TestAMemberIsAskedFirst(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer func(*gate)
		want   bool
	}{
		"the key": {func(g *gate) { g.setApart("p", g.key(), false) }, true}, "another": {func(g *gate) { g.setApart("p", g.key(), true) }, false},
		"nothing": {func(g *gate) { g.believe("p", g.key()) }, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			g, key := &gate{}, NewGridKey()
			g.gridKey.Store(&key)
			g.members.Store(&roster{byPeer: map[peer.ID]grid.Member{"p": {}}})
			if g.shares("p") {
				t.Errorf("%s: it speaks before it was asked", name)
			}
			begun, waits := time.Now(), make(chan bool)
			go func() {
				g.awaitAnswer("p", time.Minute, t.Context().Done())
				waits <- g.shares("p")
			}()
			time.Sleep(time.Second) //house:allow sleep: virtual time
			c.answer(g)
			if got := <-waits; got != c.want || time.Since(begun) != time.Second {
				t.Errorf("%s: %t after %v", name, got, time.Since(begun))
			}
		})
	}
}

// An answer counts for the key that it was about, and for a member: another key here has it forgotten, and one that comes late, of a key
// of before or of who is no member any more, is not kept.
func TestAnswersOfBeforeAreForgotten(t *testing.T) {
	t.Parallel()
	g, first, second := &gate{}, NewGridKey(), NewGridKey()
	g.setKey(first)
	g.members.Store(&roster{byPeer: map[peer.ID]grid.Member{"p": {}, "q": {}}})
	if !g.setApart("p", first, false) || !g.setApart("q", first, true) || !g.shares("p") || !g.isApart("q") {
		t.Fatal("what they answer does not count")
	}
	g.setKey(second)
	if g.shares("p") || g.isApart("q") {
		t.Error("they count as they answered to the key of before")
	}
	if g.setApart("p", first, false) || g.believe("p", first) || g.shares("p") {
		t.Error("an answer to the key of before counts")
	}
	if !g.believe("q", second) || !g.shares("q") {
		t.Error("one that gives no answer to the new key is apart, as it was by the old one")
	}
	if g.setApart("x", second, true) || len(g.apart) != 1 {
		t.Errorf("the answer of a stranger is kept: %v", g.apart)
	}
	g.setMembers(&roster{})
	if g.setApart("q", second, false); len(g.apart) > 0 {
		t.Errorf("kept of former members: %v", g.apart)
	}
}

// What a member answers is worth nothing to another, on another question, or as the proof of a connection.
func TestKeyAnswers(t *testing.T) {
	t.Parallel()
	k, q := NewGridKey(), []byte("question")
	answer := string(keyAnswer(k, q, "a", "b"))
	for what, other := range map[string][]byte{
		"asked by another": keyAnswer(k, q, "c", "b"), "answered by another": keyAnswer(k, q, "a", "c"),
		"the other way": keyAnswer(k, q, "b", "a"), "another question": keyAnswer(k, []byte("query"), "a", "b"),
		"another key": keyAnswer(NewGridKey(), q, "a", "b"), "dialling": proof(k, "dials", q), "listening": proof(k, "listens", q),
	} {
		if string(other) == answer {
			t.Errorf("%s: the same answer", what)
		}
	}
}
