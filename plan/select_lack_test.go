package plan

import (
	"strings"
	"testing"

	"gbroker/grid"
)

// People are told instants as times of the day, not as seconds since 1970.
func TestLackTellsTimes(t *testing.T) {
	t.Parallel()
	at := grid.Tick(1_795_463_460_867)
	k := Lack{Most: 8, Asked: 36, Length: grid.Hour, MostAt: at, Without: []Without{{Rule: RuleFee, Start: at}}}
	if got := k.String(); strings.Contains(got, "e+09") || strings.Count(got, at.Stamp()) != 2 {
		t.Error(got)
	}
}
