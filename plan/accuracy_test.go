package plan

import (
	"math"
	"testing"

	"gbroker/grid"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	var list []Outcome
	for _, off := range []grid.Tick{0, 60_000, -60_001, 600_000, 600_001, -1_000_000, 70_500, 80_500, 90_000, 100_000} {
		list = append(list, Outcome{Expected: 5_000_000 + off, Start: 5_000_000})
	}
	got := Judge(list)
	want := Accuracy{Waited: 10, Mean: 266.1002, Median: 80.5, P90: 600.001, Within60: 0.2, Within600: 0.8, TooEarly: 0.2}
	if math.Abs(got.Mean-want.Mean) < 1e-9 {
		got.Mean = want.Mean
	}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if one := Judge(list[2:3]); one != (Accuracy{Waited: 1, Mean: 60.001, Median: 60.001, P90: 60.001, Within600: 1, TooEarly: 1}) {
		t.Errorf("of one: %+v", one)
	}
	if none := Judge(nil); none != (Accuracy{}) {
		t.Errorf("of none: %+v", none)
	}
}
