package plan

import (
	"fmt"
	"strings"
	"testing"

	"gbroker/grid"
)

func TestParsePolicy(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Policy{
		"fcfs":            {Kind: FCFS},
		"firstfit":        {Kind: FirstFit},
		"firstfit:3":      {Kind: FirstFit, Overtakes: 3},
		"easy":            {Kind: EASY, Reservations: 1},
		"easy:4":          {Kind: EASY, Reservations: 4},
		"easy:1:sjf":      {Kind: EASY, Reservations: 1, Order: ShortestFirst},
		"easy:2:ljf":      {Kind: EASY, Reservations: 2, Order: LongestFirst},
		"easy:2:smallest": {Kind: EASY, Reservations: 2, Order: SmallestFirst},
		"easy:2:largest":  {Kind: EASY, Reservations: 2, Order: LargestFirst},
		"easysjbf":        {Kind: EASYSJBF},
		"cons-rebuild":    {Kind: ConsRebuild},
		"cons-compress":   {Kind: ConsCompress},
	} {
		got, err := ParsePolicy(text)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
		if got.String() != text {
			t.Errorf("%s is written as %s", text, got)
		}
	}
	for _, text := range []string{"", "slurm", "fcfs:1", "firstfit:0", "firstfit:x", "firstfit:1:sjf", "firstfit:", "easy:0", "easy:-1",
		"easy:1:", "easy:1:fast", "easy:1:sjf:2", "easy:99999999999999999999", "easysjbf:1", "cons", "cons-rebuild:2", "cons-compress:sjf", "EASY"} {
		if p, err := ParsePolicy(text); err == nil {
			t.Errorf("%q is read as %+v", text, p)
		} else if !strings.Contains(err.Error(), fmt.Sprintf("%q", text)) {
			t.Errorf("%q: the error does not name it: %v", text, err)
		}
	}
}

// Whatever a policy is, what it is written as is read as a policy that does the same; the numbers go from their least.
func TestPoliciesAreReadAsWritten(t *testing.T) {
	t.Parallel()
	for kind := range Kind(len(kindNames)) {
		for n := range 4 {
			for order := range Order(len(orderNames)) {
				p := Policy{Kind: kind}
				switch kind {
				case FirstFit:
					p.Overtakes = n
				case EASY:
					p.Reservations, p.Order = n, order
				}
				want := p
				if kind == EASY {
					want.Reservations = max(n, 1)
				}
				if got, err := ParsePolicy(p.String()); err != nil || got != want {
					t.Errorf("%+v is written as %s and read as %+v, %v", p, p, got, err)
				}
				if got := p.Overtaken(); got != (kind == FirstFit && p.Overtakes == 0) {
					t.Errorf("%s: any number may overtake: %v", p, got)
				}
			}
		}
	}
}

// The moment of an instant is the last that has begun by then; before all it is the first.
func TestMomentOfAnInstant(t *testing.T) {
	t.Parallel()
	p := &Plan{moments: []moment{{at: 10}, {at: 20}, {at: 20}, {at: 30}}}
	for at, want := range map[grid.Tick]int{0: 0, 10: 0, 19: 0, 20: 2, 29: 2, 30: 3, 99: 3} {
		if got := p.moment(at); got != want {
			t.Errorf("at %d it is moment %d, want %d", at, got, want)
		}
	}
}
