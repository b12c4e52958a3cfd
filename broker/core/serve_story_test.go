package core

import (
	"slices"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

func TestAWishTold(t *testing.T) {
	t.Parallel()
	w, a, b, _ := three(t)
	yes, no := true, false
	a.members = slices.Clone(a.members)
	for i := range a.members {
		a.members[i].SameUsers = true
	}
	a.step(MembersChanged{Members: a.members})
	j := jobOf(a.peer, "a", "1")
	j.Terms.Held, j.Terms.NotBefore = true, w.now+grid.Hour
	j.Demand.Chunks[0].Count = 1
	a.step(Submit{Token: 1, Job: j, Key: "1"})
	w.run(w.now+grid.Minute, nil)
	asks := func(token Token, held *bool) func() {
		return func() {
			b.step(Forward{Token: token, To: a.peer, Wish: Wish{Job: j.ID, User: "alice", Ask: wire.WishAlter, Alter: grid.Alteration{Held: held}}})
		}
	}
	story := recordWorld(w, `A user asks at b that a job of a be released, and then that it be held. The home's first answer is lost, and the home
		crashes before it can say it again. Is anything done twice, and what becomes of a wish that comes late?`)
	story.does("a user asks b to release the job", asks(2, &no))
	first := b.host.Core().relay.requests[0]
	w.until("it is released", func() bool { return !a.journal[j.ID].Job.Terms.Held })
	story.does("what a says to b is lost from now on", func() { w.cut = map[[2]grid.PeerID]bool{{a.peer, b.peer}: true} })
	w.run(w.now+20, nil)
	w.cut = nil
	story.does("a crashes, and b can hear it again", func() { a.crash(crashed) })
	w.until("the user is answered", func() bool { _, is := b.answers[2]; return is })
	story.does("the user asks b to hold it", asks(3, &yes))
	w.until("the user is answered", func() bool { _, is := b.answers[3]; return is })
	first.echo = 0 // as a broker of before says it
	late := b.host.Core().request(first)
	story.does("a crashes, and hears the first request after it", func() { a.crash(crashed) })
	w.until("a is up", func() bool { return a.up })
	a.step(Message{b.peer, late})
	w.run(w.now+grid.Second, nil)
	for token := Token(2); token <= 3; token++ {
		if a := b.answers[token]; a.Err != nil {
			t.Errorf("the user was told %v", a.Err)
		}
	}
	if r := a.journal[j.ID]; !r.Job.Terms.Held || len(r.Relayed) != 1 {
		t.Errorf("it is released by a wish of before: %+v, %+v", r.Job.Terms, r.Relayed)
	}
	story.check(t, "wish")
}
