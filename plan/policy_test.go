package plan

import (
	"fmt"
	"strings"
	"testing"
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
