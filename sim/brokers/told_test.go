package brokers

import (
	"testing"

	"gbroker/grid"
	"gbroker/sim/workload"
)

// Over ways of 100 ms there and back, where sites tell of starts and one of them is far better than all others, the offer goes at once:
// the job runs a round trip sooner than where all are asked first.
func TestNoRoundTripBeforeTheOffer(t *testing.T) {
	const oneWay = grid.Second / 20
	last := func(tell grid.Tick) Ended {
		w := World{
			Sites: []Site{{Name: "a", Cores: 1}, {Name: "b", Cores: 4}, {Name: "c", Cores: 1}}, Members: [][]int{{1, 2}, {0, 2}, {0, 1}},
			Link:      func(int, int) Link { return Link{Latency: oneWay} },
			Brokering: Brokering{Rule: Core, Reevaluate: 5 * second, Tell: tell},
		}
		for _, home := range []int{0, 2} { // which are full then
			w.Jobs = append(w.Jobs, workload.Job{Home: home, Cores: 1, Run: 1000 * second, Limit: 1000 * second})
		}
		w.Jobs = append(w.Jobs, workload.Job{Home: 0, Cores: 1, Run: 100 * second, Limit: 100 * second, Arrival: 60 * second})
		r, err := Run(w, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if j := r.Jobs[2]; j.Site != 1 || j.Asked != (tell == 0) {
			t.Errorf("told each %v s: the job ran at site %d, and others were asked: %v", tell.Seconds(), j.Site, j.Asked)
		}
		return r.Jobs[2]
	}
	asked, told := last(0), last(2*second)
	t.Logf("it started %v s after it came, where all are asked %v s", (told.Start - told.Arrival).Seconds(), (asked.Start - asked.Arrival).Seconds())
	if sooner := asked.Start - told.Start; sooner != 2*oneWay {
		t.Errorf("it started %v s sooner than where all are asked", sooner.Seconds())
	}
}
