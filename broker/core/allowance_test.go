package core

import (
	"fmt"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// fat is a job of a home with a document of so many bytes.
func fat(home grid.PeerID, site grid.SiteName, n, bytes int) grid.Job {
	j := jobOf(home, site, "0")
	j.ID = grid.NewJobID(site, fmt.Sprintf("%026d", n))
	for ; bytes > 0; bytes -= grid.MaxText {
		j.Program.Arguments = append(j.Program.Arguments, strings.Repeat("x", min(bytes, grid.MaxText)))
	}
	return j
}

// saved is how many bytes of documents the effects write.
func saved(effects []Effect) (documents int64) {
	for _, e := range effects {
		if s, is := e.(Save); is {
			if _, r, _ := s.Change.Job(); r != nil {
				documents += r.Job.DocumentSize()
			}
		}
	}
	return documents
}

func refusals(effects []Effect, p grid.PeerID, reason string) (n int) {
	for _, m := range sentTo(effects, p) {
		if r, is := m.(wire.Refuse); is && r.Estimate.Refusal != nil && r.Estimate.Refusal.Reason == reason {
			n++
		}
	}
	return n
}

// A member offers four hundred large jobs and never commits one: it fills neither memory nor
// the journal, and is told why; another one is served.
func TestAMemberFillsNothing(t *testing.T) {
	t.Parallel()
	for burst, all := range map[int]int{1: 40, 400: 400} { // each before a look, or all before one
		c := bare()
		documents, refused := int64(0), 0
		count := func(effects []Effect) {
			documents += saved(effects)
			refused += refusals(effects, him, tooManyOf)
		}
		for n := range all {
			count(c.Step(c.now+1, Message{him, offerOf(fat(him, "c", n, 2<<20), 1, grid.Day)}))
			if (n+1)%burst == 0 {
				count(c.Step(c.now+1, shot(c.now+1)))
			}
		}
		held := int64(0)
		for _, j := range c.jobs {
			held += j.rec.Job.DocumentSize()
		}
		if held > maxOfferBytes || documents > maxOfferBytes || held == 0 {
			t.Errorf("bursts of %d: %d MiB are held, %d MiB written", burst, held>>20, documents>>20)
		}
		if refused != all-len(c.jobs) {
			t.Errorf("bursts of %d: %d are held, %d refused", burst, len(c.jobs), refused)
		}
		honest := fat(her, "b", 1, 2<<20)
		c.Step(c.now+1, Message{her, offerOf(honest, 1, grid.Day)})
		c.Step(c.now+1, shot(c.now+1))
		if j := c.jobs[honest.ID]; j == nil || j.rec.Role != grid.Prepared {
			t.Errorf("bursts of %d: another member is not served", burst)
		}
	}
}

func TestOffersAreBoundedInNumberAndFiles(t *testing.T) {
	t.Parallel()
	for _, k := range []struct {
		what       string
		size, held int64
		n, most    int
	}{
		{"small ones", 0, 0, maxOffersOf + 5, maxOffersOf},
		{"with files to fetch", 1, 0, maxFetchingOf + 5, maxFetchingOf},
		{"with large files", grid.MaxSandbox / 4, 0, 6, 4},
	} {
		c := bare()
		for n := range k.n {
			j := fat(him, "c", n, 0)
			if k.size > 0 {
				j.Inputs = grid.Manifest{{Path: "data", Size: k.size}}
			}
			c.Step(c.now+1, Message{him, offerOf(j, 1, grid.Day)})
			c.Step(c.now+1, shot(c.now+1))
		}
		if got := len(c.jobs) + len(c.accepted); got != k.most {
			t.Errorf("%s: %d are held, and %d may be", k.what, got, k.most)
		}
	}
}

// Those who are no members any more leave nothing behind but the word that their offers are
// declined; after a start too.
func TestOffersOfARemovedMemberGo(t *testing.T) {
	t.Parallel()
	rest := []grid.Member{{Name: "b", Peer: her, Send: true}}
	prepared := func() *Core {
		c := bare()
		c.Step(c.now+1, Message{him, offerOf(fat(him, "c", 1, 2<<20), 1, grid.Day)})
		c.Step(c.now+1, Message{her, offerOf(fat(her, "b", 2, 0), 1, grid.Day)})
		c.Step(c.now+1, shot(c.now+1))
		c.Step(c.now+1, Message{him, offerOf(fat(him, "c", 3, 2<<20), 1, grid.Day)}) // waits for a look
		return c
	}
	check := func(what string, c *Core, effects []Effect) {
		t.Helper()
		if n := len(c.ownership.offers); n != 0 {
			t.Errorf("%s: %d offers still wait", what, n)
		}
		for _, j := range c.jobs {
			gone := j.rec.Job.Home == him
			if gone != (j.rec.Role == grid.Declined) || gone != (len(j.rec.Job.Program.Arguments) == 0 && c.live[j.rec.Job.ID] == nil) {
				t.Errorf("%s: %s is %s with %d arguments", what, j.rec.Job.ID, j.rec.Role, len(j.rec.Job.Program.Arguments))
			}
		}
		if d, is := only[Discard](effects); !is || d.Job.Site() != "c" {
			t.Errorf("%s: its files stay: %+v", what, effects)
		}
	}
	c := prepared()
	check("removed", c, c.Step(c.now+1, MembersChanged{rest}))

	c = prepared()
	var records []grid.Record
	for _, j := range c.jobs {
		records = append(records, j.rec)
	}
	c = New(c.cfg, rest, records)
	c.Step(c.now+1, Boot{})
	var ids []grid.JobID
	for id, j := range c.jobs {
		if ids = append(ids, id); j.rec.Role != grid.Prepared {
			t.Errorf("after a start: %s is %s before its control directory has told whether it has started here", id, j.rec.Role)
		}
	}
	check("after a start", c, c.Step(c.now+1, Reconciled{Jobs: ids, All: true}))

	// The journal has lost its tail: the job was committed, and has started.
	c = New(c.cfg, rest, records)
	c.Step(c.now+1, Boot{})
	for _, r := range records {
		if r.Job.Home == him {
			c.Step(c.now+1, Reconciled{Jobs: ids, All: true, Attempts: []grid.AttemptID{{Job: r.Job.ID, Epoch: r.Handoff.Epoch, Attempt: 1}}})
			if got := c.jobs[r.Job.ID].rec; got.Role != grid.Owning || got.Attempt != 1 {
				t.Errorf("what has started here is %s, attempt %d", got.Role, got.Attempt)
			}
		}
	}
}
