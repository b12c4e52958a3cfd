package core

import (
	"strings"
	"testing"

	"gbroker/budget"
	"gbroker/grid"
)

// draft asks what would be chosen for a job like the whole, which itself is not planned; told is nil until that is known.
func (c *coallocated) draft() (id grid.JobID, told func() *grid.SlotChoice) {
	c.Helper()
	c.f.shut = untilAll
	c.settled()
	j := c.f.records[theWhole].Job
	j.ID = theWhole + "0"
	var got *grid.SlotChoice
	c.m.foresee(&grid.Record{Job: j}, func(choice grid.SlotChoice) { got = &choice })
	c.want("Slots>b, Slots>c")
	return j.ID, func() *grid.SlotChoice { return got }
}

// What the budget of the user does not cover would not begin: a draft says so, and of which site.
func TestADraftBeyondTheBudget(t *testing.T) {
	t.Parallel()
	c := newCoallocated(t, 0, nil)
	c.f.poor = budget.Short(5, 1)
	id, told := c.draft()
	c.slotsOf(id, "b", 0, 4)
	c.slotsOf(id, "c", 0, 4)
	c.pass(answerWithin)
	c.want("")
	if got := told(); got == nil || got.Start != 0 || !strings.Contains(got.Why, "b: the budget of its user does not cover it") || got.Sites[0].Processes > 0 {
		t.Errorf("told is %+v", got)
	}
}

// So nothing is reserved for it, and its job waits with that reason.
func TestNothingIsReservedBeyondTheBudget(t *testing.T) {
	t.Parallel()
	c := newCoallocated(t, 0, nil)
	c.f.poor = budget.Short(5, 1)
	c.want("save PLANNED, Slots>b, Slots>c")
	c.slots("b", 0, 4)
	c.slots("c", 0, 4)
	c.want("save PLANNED")
	if r := c.rec(); r.Round != 0 || r.Next <= c.f.now || r.Choice == nil || !strings.Contains(r.Choice.Why, "b: the budget of its user does not cover it") {
		t.Errorf("it is %+v", r)
	} else if got := r.Choice; got.Start != 0 || got.End != 0 || got.Sites[0].Processes > 0 || len(got.Sites[0].Taken) > 0 {
		t.Errorf("its choice tells of what is not reserved: %+v", got)
	}
}

// What would be chosen for a job is told when all have answered, or when they have had their time; nothing is kept of it.
func TestADraftOfAWhole(t *testing.T) {
	t.Parallel()
	for _, silent := range []bool{false, true} {
		c := newCoallocated(t, 0, nil)
		id, told := c.draft()
		c.slotsOf(id, "b", 0, 4)
		if !silent {
			c.slotsOf(id, "c", 0, 4)
		} else if c.settled(); told() != nil {
			t.Fatalf("told before all have answered: %+v", told())
		}
		c.pass(answerWithin)
		c.want("")
		if got := told(); got == nil || (got.Why == "") == silent || (got.Start == 0) != silent || len(got.Sites) != 2 || silent == (got.Sites[0].Processes > 0) {
			t.Errorf("silent %v: told is %+v", silent, got)
		}
		if len(c.m.drafts) > 0 || len(c.m.all) != 1 {
			t.Errorf("kept are %v, %v", c.m.drafts, c.m.all)
		}
	}
}

// What costs more than its user pays is left out of what is chosen; a job without that word takes it.
func TestADraftWithinTheFee(t *testing.T) {
	t.Parallel()
	for fee, chosen := range map[int64]bool{0: true, 5: true, 4: false} {
		c := newCoallocated(t, 0, func(j *grid.Job) { j.Terms.Fee = fee })
		id, told := c.draft()
		for _, from := range []grid.PeerID{"b", "c"} {
			m := c.reply(id, from, 0, 4)
			for i := range m.Slots {
				m.Slots[i].Price = 5
			}
			c.m.onSlotsReply(from, m)
		}
		c.pass(answerWithin)
		c.settled()
		if got := told(); got == nil || (got.Start != 0) != chosen {
			t.Errorf("a fee of %d: told is %+v", fee, got)
		}
	}
}
