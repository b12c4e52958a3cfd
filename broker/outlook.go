package broker

import (
	"gbroker/grid"
	"gbroker/plan"
)

// outlook is what this site will run when: by run times as they are believed, which
// is what is expected, and by limits, which is what is safe. As long as nothing was
// learned the two are one.
type outlook struct{ likely, safe *plan.Plan }

func (c *Core) outlookOf(s plan.Snapshot) outlook {
	safe := plan.Build(s)
	if c.runTimes.Empty() {
		return outlook{safe, safe}
	}
	return outlook{plan.Likely(s, c.Believe), safe}
}

// batch answers a row of questions, each as if the jobs of those before had come.
type batch struct{ likely, safe *plan.Batch }

func (o outlook) batch() *batch {
	b := &batch{likely: o.likely.Batch()}
	if o.safe != o.likely {
		b.safe = o.safe.Batch()
	}
	return b
}

func (b *batch) estimate(q plan.Question) grid.Estimate {
	start, refusal := b.likely.Ask(q)
	if refusal != nil {
		return grid.Estimate{Refusal: refusal}
	}
	e := grid.Estimate{Wait: max(0, start-q.NotBefore)}
	e.Safe = e.Wait
	if b.safe != nil {
		if start, refusal = b.safe.Ask(q); refusal != nil {
			return grid.Estimate{Refusal: refusal}
		}
		e.Safe = max(0, start-q.NotBefore)
	}
	return e
}
