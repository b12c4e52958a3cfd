package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/sim/brokers"
	"gbroker/sim/workload"
)

// means are of a run, in seconds.
type means struct{ wait, response float64 }

// compare simulates the jobs as they came, and judges.
func compare(w brokers.World, real []ended, within float64) error {
	w.Jobs = came(w.Jobs, real)
	w.Delivery = grid.Span(50 * time.Millisecond)
	w.Brokering = brokers.Brokering{Rule: brokers.Core, Reevaluate: grid.Span(each), Knowledge: brokers.Learned}
	for i := range w.Sites {
		w.Sites[i].Policy = plan.Policy{Kind: plan.EASY}
	}
	r, err := brokers.Run(w, nil, nil)
	if err != nil {
		return err
	}
	var got, simulated means
	n := float64(len(real))
	at, of := make(map[string]int), make(map[string]int)
	for i, e := range real {
		got.wait += e.Started.Sub(e.Submitted).Seconds() / n
		got.response += e.Ended.Sub(e.Submitted).Seconds() / n
		at[e.Owner]++
		s := r.Jobs[i]
		simulated.wait += (s.Start - s.Arrival).Seconds() / n
		simulated.response += (s.End - s.Arrival).Seconds() / n
		of[w.Sites[s.Site].Name]++
	}
	dw, dt := got.wait/simulated.wait-1, got.response/simulated.response-1
	fmt.Printf("%-10s %8s %8s   jobs at each site\n", "", "W", "T")
	fmt.Printf("%-10s %6.2f s %6.2f s   %v\n", "real", got.wait, got.response, at)
	fmt.Printf("%-10s %6.2f s %6.2f s   %v\n", "simulated", simulated.wait, simulated.response, of)
	fmt.Printf("%-10s %+6.1f %% %+6.1f %%\n", "difference", 100*dw, 100*dt)
	if within > 0 && max(math.Abs(dw), math.Abs(dt)) > within {
		return fmt.Errorf("the simulation differs by more than %.0f %%", 100*within)
	}
	return nil
}

// came are the jobs when the home took them, with what a program takes to begin and end here: the median over all.
func came(jobs []workload.Job, real []ended) []workload.Job {
	out := slices.Clone(jobs)
	first := slices.MinFunc(real, func(a, b ended) int { return a.Submitted.Compare(b.Submitted) }).Submitted
	var more []time.Duration
	for i, e := range real {
		more = append(more, e.Ended.Sub(e.Started)-jobs[i].Run.Duration())
	}
	slices.Sort(more)
	overhead := max(0, grid.Span(more[len(more)/2]))
	fmt.Printf("a program takes %v to begin and end\n", overhead.Duration())
	for i := range out {
		out[i].Arrival = grid.Span(real[i].Submitted.Sub(first))
		out[i].Run += overhead
		out[i].Limit = max(out[i].Run, grid.Tick(int(jobs[i].Limit.Seconds())+5)*grid.Second)
	}
	order := make([]int, len(out))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(out[a].Arrival, out[b].Arrival) })
	sorted, moved := make([]workload.Job, len(out)), make([]ended, len(out))
	for k, i := range order {
		sorted[k], moved[k] = out[i], real[i]
	}
	copy(real, moved)
	return sorted
}
