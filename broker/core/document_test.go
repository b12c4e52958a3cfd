package core

import (
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// Of a long document Core keeps the digest and the length; the program starts, and changes hands, with all of it.
func TestALongDocumentIsInTheJournalAlone(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	j.Program.Arguments = []string{strings.Repeat("x", 20<<10)}
	j.Program.Environment = []grid.Variable{{Name: "A", Value: strings.Repeat("y", 10<<10)}}
	digest := wire.JobDigest(j)
	c, journal := kept(t, grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}, Key: "k"})
	k := c.jobs[j.ID]
	brief := func(when string) {
		t.Helper()
		if k.rec.Job.Program.TextSize() != 0 || k.brief < 30<<10 || k.sum() != digest {
			t.Fatalf("%s %d bytes are in memory, %d are not; its digest is kept %t", when, k.rec.Job.Program.TextSize(), k.brief, k.sum() == digest)
		}
		if r := journal[j.ID]; wire.JobDigest(r.Job) != digest {
			t.Fatalf("%s the journal has %d bytes of its texts", when, r.Job.Program.TextSize())
		}
		if u := c.usageOf(k); u.documents < 30<<10 {
			t.Errorf("%s it counts %d bytes for its user", when, u.documents)
		}
	}
	brief("at the start")
	k.recovered, k.reconciled = false, true
	c.out = nil
	c.execution.launch(k, "here")
	l, _ := only[Launch](c.out)
	if wire.JobDigest(l.Submission.Job) != digest {
		t.Errorf("it starts with %d bytes of its texts", l.Submission.Job.Program.TextSize())
	}
	commit(c, journal, c.out)
	brief("launched")
	c.out = nil
	c.ownership.makeOffer(k, her, 0, 1)
	for _, m := range sentTo(c.out, her) {
		if o, is := m.(wire.Offer); is && (wire.JobDigest(o.Job) != digest || o.Handoff.Digest != digest) {
			t.Errorf("it is offered with %d bytes of its texts", o.Job.Program.TextSize())
		}
	}
	commit(c, journal, c.out)
	brief("offered")
	again := j
	again.ID = grid.NewJobID("a", "00000000000000000000000009")
	if a, _ := only[Answer](c.Step(c.now+1, Submit{Token: 1, Job: again, Key: "k"})); !a.Again {
		t.Errorf("the same key: %v", a.Err)
	}
	again.Program.Arguments = []string{"another"}
	if a, _ := only[Answer](c.Step(c.now+1, Submit{Token: 2, Job: again, Key: "k"})); a.Err == nil {
		t.Error("another document of its key is taken for it")
	}
}

// One that has ended, and is taken up again from the journal, comes without its texts.
func TestALongDocumentOfAnEndedJobStaysInTheJournal(t *testing.T) {
	t.Parallel()
	r := longRecord(1, me, grid.Completed)
	r.Role, r.Job.Program.Arguments = grid.Tombstone, []string{strings.Repeat("x", 20<<10)}
	digest := wire.JobDigest(r.Job)
	c, _ := kept(t, r)
	if _, is := c.archive[r.Job.ID]; !is {
		t.Fatal("it is not archived: this shows nothing")
	}
	j := c.job(r.Job.ID)
	if j.rec.Job.Program.TextSize() != 0 || j.brief < 20<<10 || j.sum() != digest {
		t.Errorf("%d bytes are in memory, %d are not; its digest is kept %t", j.rec.Job.Program.TextSize(), j.brief, j.sum() == digest)
	}
	if whole := c.whole(j); wire.JobDigest(whole) != digest {
		t.Errorf("read whole it has %d bytes of its texts", whole.Program.TextSize())
	}
}

// A new version has the texts of the one before, and is brief again once it is durable. What is removed has none.
func TestANewVersionOfALongDocumentIsWhole(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	j.Program.Arguments = []string{strings.Repeat("x", 20<<10)}
	walltime := j.Walltime + 5*grid.Second
	c, journal := kept(t, grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
	commit(c, journal, c.Step(c.now+1, Alter{Token: 1, Job: j.ID, To: grid.Alteration{Walltime: &walltime}, By: "alice"}))
	r, k := journal[j.ID], c.jobs[j.ID]
	if r.Job.Walltime != walltime || len(r.Job.Program.Arguments) != 1 || k.brief == 0 || k.sum() != wire.JobDigest(r.Job) {
		t.Errorf("altered: %d bytes in the journal, %d not in memory, its digest %t", r.Job.Program.TextSize(), k.brief, k.sum() == wire.JobDigest(r.Job))
	}
	commit(c, journal, c.Step(c.now+1, CancelRequest{Token: 2, Job: j.ID, By: "alice"}))
	c.Step(c.now+10*grid.Minute, Tick{})
	commit(c, journal, c.Step(c.now+1, CancelRequest{Token: 3, Job: j.ID, By: "alice"}))
	if one := c.job(j.ID); one != nil {
		one.rec.State = grid.Killed
		c.out = nil
		c.home.remove(one)
		commit(c, journal, c.out)
	}
	if r := journal[j.ID]; !r.Removed || r.Job.Program.TextSize() != 0 {
		t.Errorf("removed %t, the journal has %d bytes of its texts", r.Removed, r.Job.Program.TextSize())
	}
}

// A job that loses the reservation that was made for it is another version, with all of its texts.
func TestALongDocumentWithoutItsReservationIsWhole(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	j.Program.Arguments = []string{strings.Repeat("x", 20<<10)}
	j.Reservation, j.Guaranteed = "lsgikn5g4v7g4wr55uikav5o", &grid.Choice{}
	c, journal := kept(t, grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
	k := c.jobs[j.ID]
	if k.brief == 0 {
		t.Fatal("its texts are in memory")
	}
	c.out = nil
	c.search.unreserved(k)
	commit(c, journal, c.out)
	r := journal[j.ID]
	if r.Job.Reservation != "" || len(r.Job.Program.Arguments) != 1 || k.brief == 0 || k.sum() != wire.JobDigest(r.Job) {
		t.Errorf("reservation %q, %d bytes of texts in the journal, %d not in memory, its digest %t", r.Job.Reservation, r.Job.Program.TextSize(), k.brief, k.sum() == wire.JobDigest(r.Job))
	}
}

// While files come the job changes: it stays as it is.
func TestAJobWhoseFilesComeIsNotBrief(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	j.Program.Arguments = []string{strings.Repeat("x", 20<<10)}
	j.Inputs = grid.Manifest{{Path: "in", Size: 3}}
	c, _ := kept(t, grid.Record{Job: j, State: grid.StageIn, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
	if k := c.jobs[j.ID]; k.brief != 0 {
		t.Errorf("%d bytes are in the journal alone", k.brief)
	}
}

// A job that becomes brief keeps its digest: that which is known, also where it is of another version, or that of all its texts.
func TestABriefJobKeepsItsDigest(t *testing.T) {
	t.Parallel()
	of := jobOf(her, "b", "1")
	of.Program.Arguments = []string{strings.Repeat("x", 20<<10)}
	own := wire.JobDigest(of)
	for name, known := range map[string]grid.Hash{"not reckoned": {}, "reckoned": own, "of another version": {1}} {
		want := known
		if known == (grid.Hash{}) {
			want = own
		}
		j := &job{rec: grid.Record{Job: of}, digest: known}
		if j.letTextsGo(); j.sum() != want || j.digestHere() != own {
			t.Errorf("%s: the job has %v, this version %v", name, j.sum(), j.digestHere())
		}
	}
}
