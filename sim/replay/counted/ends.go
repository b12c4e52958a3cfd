package counted

import (
	"gbroker/grid"
)

// Ends are the running jobs by their ends: those of a world, or those believed.
type Ends []Ending

// Ending is when a running job ends.
type Ending struct {
	At  grid.Tick
	Job Running
}

// Push adds a running job.
func (h *Ends) Push(e Ending) {
	*h = append(*h, e)
	a := *h
	i := len(a) - 1
	for i > 0 {
		up := (i - 1) / 2
		if a[up].At <= e.At {
			break
		}
		a[i] = a[up]
		i = up
	}
	a[i] = e
}

// First is the earliest end, if there is any.
func (h Ends) First() (grid.Tick, bool) {
	if len(h) == 0 {
		return 0, false
	}
	return h[0].At, true
}

// Pop takes out the job that ends first; there must be one.
func (h *Ends) Pop() Running {
	a := *h
	first := a[0].Job
	n := len(a) - 1
	e := a[n]
	a = a[:n]
	*h = a
	if n == 0 {
		return first
	}
	i := 0
	for {
		k := 2*i + 1
		if k >= n {
			break
		}
		if k+1 < n && a[k+1].At < a[k].At {
			k++
		}
		if a[k].At >= e.At {
			break
		}
		a[i] = a[k]
		i = k
	}
	a[i] = e
	return first
}
