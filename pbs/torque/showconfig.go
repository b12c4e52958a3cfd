package torque

import (
	"errors"
	"fmt"
	"strings"

	"gbroker/grid"
	"gbroker/plan"
)

// mauiConfig is what showconfig tells of how Maui takes jobs.
type mauiConfig struct {
	version  string
	policy   plan.Policy
	node     string // JOBNODEMATCHPOLICY: "" lets several pieces of a job share a node
	multi    bool   // ENABLEMULTIREQJOBS: a job may have pieces of several sizes
	backfill string
	reserve  string
	depth    int64
	looks    grid.Tick // RMPOLLINTERVAL: it looks at the queue at least so often
}

// parseConfig reads what showconfig prints: lines NAME[INDEX] VALUE, of which those of index 0 are
// for all partitions. It has hundreds of names.
func parseConfig(call string, text []byte) (mauiConfig, error) {
	c := mauiConfig{depth: 1}
	err := lines(call, text, func(line string) error {
		name, value, _ := strings.Cut(line, " ")
		value = strings.TrimSpace(value)
		var err error
		switch name {
		case "#":
			if v, is := strings.CutPrefix(value, "Maui version "); is && c.version == "" {
				c.version, _, _ = strings.Cut(v, " ")
			}
		case "BACKFILLPOLICY[0]":
			c.backfill = value
		case "RESERVATIONPOLICY[0]":
			c.reserve = value
		case "RESDEPTH[0]", "RESERVATIONDEPTH[0]":
			c.depth, err = number(value, 0, 1<<30)
		case "ENABLEMULTIREQJOBS[0]":
			c.multi = value == "TRUE"
		case "RMPOLLINTERVAL":
			c.looks, err = mauiSpan(value)
		case "JOBNODEMATCHPOLICY[0]":
			c.node = value
		}
		return err
	})
	if err == nil {
		c.policy, err = c.asPlan()
		if err != nil {
			err = unreadable(call, "", text, err)
		}
	}
	return c, err
}

// asPlan is the policy in our words. The order of the queue is Maui's: showq tells it.
func (c mauiConfig) asPlan() (plan.Policy, error) {
	keeps := c.depth > 0
	switch c.reserve {
	case "CURRENTHIGHEST", "HIGHEST":
	case "NEVER":
		keeps = false
	case "":
		return plan.Policy{}, errors.New("there is no RESERVATIONPOLICY")
	default:
		return plan.Policy{}, fmt.Errorf("the RESERVATIONPOLICY %.40q is not known", c.reserve)
	}
	switch c.backfill {
	case "FIRSTFIT", "BESTFIT", "GREEDY":
	case "NONE", "[NONE]":
		return plan.Policy{Kind: plan.FCFS}, nil
	case "":
		return plan.Policy{}, errors.New("there is no BACKFILLPOLICY")
	default:
		return plan.Policy{}, fmt.Errorf("the BACKFILLPOLICY %.40q is not known", c.backfill)
	}
	if !keeps {
		return plan.Policy{Kind: plan.FirstFit}, nil
	}
	return plan.Policy{Kind: plan.EASY, Reservations: int(c.depth)}, nil
}
