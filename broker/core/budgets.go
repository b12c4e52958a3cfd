package core

import (
	"fmt"

	"gbroker/budget"
	"gbroker/grid"
)

// budgets are what users here may pay at sites with prices (package budget). A lien is placed on what a job can cost in the step that gives it away, or
// that decides to confirm the reservations of a whole, and settled in the step that saves its end, or that it stays at home; so that both are
// in one commit with what they are for. What no record is of after a start is free again.
//
// A job that one site has pays the rate that was told when its home gave it away, also where it moves on from there, and nothing
// where it runs at home. A part pays the rate of its reservation. Who is LOST pays nothing, unless its result comes after all, while its record is kept.
type budgets struct {
	*kernel
	book *budget.Book
}

// BudgetsChanged are what the users of this site are granted in all, as it now is configured; who is not named may pay anything.
type BudgetsChanged struct{ Granted map[string]grid.Amount }

func (BudgetsChanged) event() {}

func newBudgets(k *kernel) *budgets {
	c := &budgets{kernel: k, book: budget.New(k.cfg.Budgets)}
	k.budgets = c
	return c
}

func (c *budgets) routes(r *routes) {
	onEvent(r, c.boot)
	onEvent(r, c.changed)
}

// boot settles what has ended without a word.
func (c *budgets) boot(Boot) {
	c.book.Grant(c.cfg.Granted)
	for _, user := range c.book.Users() {
		is, _ := c.book.Get(user)
		for _, h := range is.Liens {
			if j := c.job(h.Job); j == nil && !c.wholes.makes(h.Job) {
				c.book.Settle(user, h.Job, 0)
			} else if j != nil {
				c.settle(j)
			}
		}
	}
	c.save()
}

func (c *budgets) changed(e BudgetsChanged) {
	c.book.Grant(e.Granted)
	c.save()
}

// save makes durable what has changed, with the step.
func (c *budgets) save() {
	changed, gone := c.book.Changed()
	for i := range changed {
		c.emit(Save{grid.Saved(&changed[i])})
	}
	for _, user := range gone {
		c.emit(Save{grid.Deleted(grid.KindBudget, user)})
	}
}

// placeLien keeps back what a job of this home can cost, or says that its user has not got that.
func (c *budgets) placeLien(j *grid.Job, id grid.JobID, rate float64, cores int, limit grid.Tick) *grid.Refusal {
	if j.Home != c.cfg.Self {
		return nil
	}
	why := c.book.PlaceLien(j.User.Name, id, rate, cores, limit)
	c.save()
	return why
}

// lienFor keeps back what a job costs at the site of a row.
func (c *budgets) lienFor(j *job, row *grid.Candidate) *grid.Refusal {
	rate := row.Price
	if row.Peer == c.cfg.Self {
		rate = 0
	}
	return c.placeLien(&j.rec.Job, j.rec.Job.ID, rate, j.rec.Job.Demand.Cores(), max(j.rec.Job.Walltime, row.Run))
}

// short says which of the parts of a job of this home, of such costs, its user has no budget for beside those before it. No lien is placed.
func (c *budgets) short(j *grid.Job, costs []grid.Amount) (at int, why *grid.Refusal) {
	is, _ := c.book.Get(j.User.Name)
	if j.Home != c.cfg.Self || !c.book.Limited(j.User.Name) {
		return 0, nil
	}
	free := max(is.Free(), 0)
	for i, cost := range costs {
		if cost > free {
			return i, budget.Short(cost, free)
		}
		free -= cost
	}
	return 0, nil
}

// shortFor says what lienFor would of a job that nobody has handed in.
func (c *budgets) shortFor(j *job, row *grid.Candidate) *grid.Refusal {
	if row.Peer == c.cfg.Self {
		return nil
	}
	_, why := c.short(&j.rec.Job, []grid.Amount{budget.CostOf(row.Price, j.rec.Job.Demand.Cores(), max(j.rec.Job.Walltime, row.Run))})
	return why
}

// jobSaved follows the jobs of this home to their ends.
func (c *budgets) jobSaved(j *job) {
	c.settle(j)
	c.save()
}

// dropped: of a job that is forgotten no result comes any more.
func (c *budgets) dropped(j *job) {
	if c.isHome(j) {
		c.liftLien(j.rec.Job.User.Name, j.rec.Job.ID)
	}
}

func (c *budgets) settle(j *job) {
	r := &j.rec
	stays := r.Role == grid.Owning && r.Job.Part == nil && r.Handoff.Phase != grid.Offering && r.Handoff.Phase != grid.Withdrawing
	if r.Job.Home != c.cfg.Self || !r.State.Terminal() && !stays {
		return
	}
	if r.State == grid.Lost {
		c.book.GiveBack(r.Job.User.Name, r.Job.ID)
		return
	}
	ran := grid.Tick(0)
	if r.State.Terminal() && r.Started > 0 && r.Owner != c.cfg.Self {
		ran = r.Finished - r.Started
	}
	c.book.Settle(r.Job.User.Name, r.Job.ID, ran)
}

// admit refuses a job for which its user has too little.
func (c *budgets) admit(j *grid.Job) error {
	no := c.beyond(j)
	if no == nil {
		return nil
	}
	kind := grid.ErrInvalid
	if is, _ := c.book.Get(j.User.Name); mostOf(j) <= is.Free()+is.InLiens() {
		kind = grid.ErrNotYet
	}
	return fmt.Errorf("%w: %s", kind, no.Reason)
}

// mostOf is what a job pays at the most, by its fee.
func mostOf(j *grid.Job) grid.Amount { return budget.CostOf(feeOf(j), j.Demand.Cores(), j.Walltime) }

// beyond says of a job that it would pay more, by its fee, than its user has free.
func (c *budgets) beyond(j *grid.Job) *grid.Refusal {
	is, _ := c.book.Get(j.User.Name)
	cost, free := mostOf(j), max(is.Free(), 0)
	if !c.book.Limited(j.User.Name) || cost <= free {
		return nil
	}
	wait := ""
	if cost <= is.Free()+is.InLiens() {
		wait = " wait until what is in liens is free,"
	}
	return forNow(fmt.Sprintf("it may cost %v (fee %v for a core and hour, %d cores, %v), and %s has %v free of a budget of %v (%v spent, %v in liens): "+
		"lower its fee or its walltime,%s or ask the administrator of this site for more",
		cost, feeOf(j), j.Demand.Cores(), j.Walltime.Duration(), j.User.Name, free, is.Granted, is.Spent, is.InLiens(), wait))
}

// liftLien frees that of a part that is not made, or a job that is no more.
func (c *budgets) liftLien(user string, id grid.JobID) {
	c.book.Settle(user, id, 0)
	c.save()
}
