package plan

import "gbroker/grid"

// agenda is a heap of instants at which something is due, each with its number. Equal
// instants come in the order of their numbers.
type agenda []due

type due struct {
	at grid.Tick
	id int32
}

func (d due) before(o due) bool { return d.at < o.at || d.at == o.at && d.id < o.id }

// first is the earliest instant, or never.
func (h agenda) first() grid.Tick {
	if len(h) == 0 {
		return never
	}
	return h[0].at
}

func (h *agenda) push(d due) {
	*h = append(*h, d)
	a := *h
	i := len(a) - 1
	for i > 0 && d.before(a[(i-1)/2]) {
		a[i] = a[(i-1)/2]
		i = (i - 1) / 2
	}
	a[i] = d
}

// pop takes out the earliest; there must be one.
func (h *agenda) pop() due {
	a := *h
	first, last := a[0], a[len(a)-1]
	a = a[:len(a)-1]
	*h = a
	i := 0
	for {
		k := 2*i + 1
		if k >= len(a) {
			break
		}
		if k+1 < len(a) && a[k+1].before(a[k]) {
			k++
		}
		if !a[k].before(last) {
			break
		}
		a[i] = a[k]
		i = k
	}
	if len(a) > 0 {
		a[i] = last
	}
	return first
}
