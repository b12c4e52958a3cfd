package core

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// rowsOf are what a search finds for a job of which b says that it waits an hour and c two; here
// it would wait as long as nobody says.
func rowsOf(t *testing.T, j grid.Job) (end grid.State, chosen string, rows []grid.Candidate) {
	t.Helper()
	c := signed()
	effects := c.handIn(t, j)
	round := uint64(0)
	for _, e := range effects {
		if s, is := e.(Send); is {
			if q, is := s.Message.(wire.EstimateRequest); is {
				round = q.Round
			}
		}
	}
	c.Step(c.now+1, Looked{Err: errors.New("nothing is listed")})
	for p, wait := range map[grid.PeerID]grid.Tick{her: grid.Hour, him: grid.Hour + 30*grid.Second, it: 2 * grid.Hour} {
		effects = append(effects, c.Step(c.now+1, Message{p, wire.EstimateReply{Round: round, Site: grid.Site{Speed: 1, Processes: 64}, Answers: []wire.Answer{{Job: j.ID, Estimate: grid.Estimate{Wait: wait, Price: map[grid.PeerID]float64{her: 5, him: 2.5}[p]}}}}})...)
	}
	for _, e := range effects {
		if s, is := e.(Save); is && len(s.Change.Decisions) > 0 {
			d := s.Change.Decisions[len(s.Change.Decisions)-1]
			chosen, rows = string(d.Chosen), d.Candidates
		}
	}
	return c.jobs[j.ID].rec.State, chosen, rows
}

// Only, not and prefer, and sites that would be too late.
func TestWishesOfPlaces(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		sites    grid.Choice
		deadline grid.Tick
		fee      int64
		chosen   string
		end      grid.State
		refused  string // by c
	}{
		"none":            {chosen: "b"},
		"not":             {sites: grid.Choice{Not: []grid.SiteName{"b"}}, chosen: "c"},
		"only":            {sites: grid.Choice{Only: []grid.SiteName{"d"}}, chosen: "d", refused: unwantedSite},
		"only there":      {sites: grid.Choice{Only: []grid.SiteName{"e"}}, end: grid.Failed, refused: "its user wants it at e, which is not known here"},
		"prefer a little": {sites: grid.Choice{Prefer: []grid.SiteName{"c"}}, chosen: "c"},
		"prefer too much": {sites: grid.Choice{Prefer: []grid.SiteName{"d"}}, chosen: "b"},
		"for 5":           {fee: 5, chosen: "b"},
		"for 3":           {fee: 3, chosen: "c"},
		"for 2":           {fee: 2, chosen: "d", refused: tooDear},
		"in time":         {deadline: 90 * grid.Minute, chosen: "b"},
		"too late":        {deadline: 10 * grid.Minute, chosen: "", end: grid.Ready, refused: tooLate},
		"never":           {deadline: grid.Millisecond, sites: grid.Choice{Only: []grid.SiteName{"b", "c", "d"}}, chosen: "", end: grid.CancelledDeadline, refused: tooLate},
	} {
		j := jobOf(me, "a", "1")
		j.Sites, j.Terms.Fee = k.sites, k.fee
		if k.deadline != 0 {
			j.Terms.Deadline = 1_000_000 + k.deadline + 100
			if name == "never" {
				j.Walltime = grid.Hour
			}
		}
		end, chosen, rows := rowsOf(t, j)
		if chosen != k.chosen || k.end != 0 && end != k.end {
			t.Errorf("%s: chosen is %q, and it is %s: %+v", name, chosen, end, rows)
		}
		if k.refused == "" {
			continue
		}
		for _, r := range rows {
			if r.Site == "c" && (r.Refusal == nil || r.Refusal.Reason != k.refused) {
				t.Errorf("%s: c is refused by %+v", name, r.Refusal)
			}
		}
	}
}

// How a job ends that no site will ever run goes by when it would end, whatever words a site has for its refusal.
func TestNoWordOfARefusalCounts(t *testing.T) {
	t.Parallel()
	c := signed()
	refused := &grid.Refusal{Kind: grid.Permanent, Reason: tooLate}
	for name, k := range map[string]struct {
		terms grid.Terms
		row   grid.Candidate
		want  grid.State
	}{
		"a site's own words":       {grid.Terms{}, grid.Candidate{Refusal: refused}, grid.Failed},
		"with a deadline":          {grid.Terms{Deadline: c.now + 1}, grid.Candidate{Refusal: refused}, grid.Failed},
		"too late, in other words": {grid.Terms{Deadline: c.now + 9}, grid.Candidate{Run: 10, Refusal: &grid.Refusal{Reason: "x"}}, grid.CancelledDeadline},
		"in time":                  {grid.Terms{Deadline: c.now + 10}, grid.Candidate{Run: 10, Refusal: refused}, grid.Failed},
		"after a delivery":         {grid.Terms{Deadline: c.now + 10}, grid.Candidate{Run: 10, Delivery: 1, Refusal: refused}, grid.CancelledDeadline},
		"after a wait":             {grid.Terms{Deadline: c.now + 10}, grid.Candidate{Run: 10, Wait: 1, Refusal: refused}, grid.CancelledDeadline},
		"not before":               {grid.Terms{Deadline: c.now + 10, NotBefore: c.now + 1}, grid.Candidate{Run: 10, Refusal: refused}, grid.CancelledDeadline},
		"too dear, and late":       {grid.Terms{Deadline: c.now + 9, Fee: 1}, grid.Candidate{Run: 10, Price: 2, Refusal: refused}, grid.Failed},
	} {
		if got := c.search.inVain(&k.terms, []grid.Candidate{{Refusal: refused}, k.row}); got != k.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Jobs of one user take his turns by their priorities; those of others keep theirs.
func TestPriorities(t *testing.T) {
	t.Parallel()
	c := signed()
	var ids []grid.JobID
	for n, user := range []string{"alice", "bob", "alice", "alice"} {
		j := withTerms(fmt.Sprint(n+1), grid.Terms{Priority: []int{0, -5, -1, 7}[n]})
		j.User.Name = user
		c.handIn(t, j)
		ids = append(ids, j.ID)
	}
	var got []string
	for _, id := range c.search.byPriority(ids) {
		got = append(got, strings.TrimLeft(strings.TrimPrefix(string(id), "a."), "0"))
	}
	if s := strings.Join(got, " "); s != "4 2 1 3" {
		t.Errorf("in the order %s", s)
	}
}
