package plan

import (
	"slices"
	"sort"

	"gbroker/grid"
)

// line is what is free on one node over time: a step function of vectors, without
// equal neighbours, whose last step lasts for ever. What was before now stays. It
// may be negative where a snapshot shows more in use than a node has.
type line struct {
	at   []grid.Tick
	free []int64 // a vector for each step
	head int     // a step at or before the one that holds now
}

// holding is the step that holds t; the step from does not begin later.
func (l *line) holding(t grid.Tick, from int) int {
	at := l.at[from:]
	if len(at) <= 16 {
		i := 1
		for i < len(at) && at[i] <= t {
			i++
		}
		return from + i - 1
	}
	return from + sort.Search(len(at), func(i int) bool { return at[i] > t }) - 1
}

// advance goes to now.
func (l *line) advance(now grid.Tick) {
	for l.head+1 < len(l.at) && l.at[l.head+1] <= now {
		l.head++
	}
}

// least finds in room what is free throughout an interval. Where at some instant of it
// less is free than is needed, it tells from when on this may be otherwise, else 0.
func (l *line) least(from, to grid.Tick, need, room []int64) (blocked grid.Tick) {
	width := len(room)
	last := l.holding(to-1, l.head)
	for i := last; ; i-- {
		free := l.free[i*width : (i+1)*width]
		for r, f := range free {
			if f < need[r] && need[r] > 0 { // negative where nobody asks is nobody's concern
				return l.end(i)
			}
			if i == last || f < room[r] {
				room[r] = f
			}
		}
		if l.at[i] <= from {
			return 0
		}
	}
}

// end is where a step ends.
func (l *line) end(i int) grid.Tick {
	if i+1 == len(l.at) {
		return never
	}
	return l.at[i+1]
}

// change makes amounts more (or less, by sign) free from one instant to another, and
// tells the steps it changed, which end where to begins. Then comes settle.
func (l *line) change(from, to grid.Tick, amounts []int64, sign int64) (first, end int) {
	first = l.split(from, len(amounts))
	end = l.split(to, len(amounts))
	width := len(amounts)
	if width == 1 {
		more := sign * amounts[0]
		for i := first; i < end; i++ {
			l.free[i] += more
		}
		return first, end
	}
	for i := first; i < end; i++ {
		for r, a := range amounts {
			l.free[i*width+r] += sign * a
		}
	}
	return first, end
}

// settle joins equal neighbours at the edges of a change.
func (l *line) settle(first, end, width int) {
	l.join(end, width)
	l.join(first, width)
}

// split makes t the beginning of a step.
func (l *line) split(t grid.Tick, width int) int {
	i := l.holding(t, l.head)
	if l.at[i] == t {
		return i
	}
	l.at = slices.Insert(l.at, i+1, t)
	n := len(l.free)
	l.free = append(l.free, l.free[n-width:]...)
	copy(l.free[(i+2)*width:], l.free[(i+1)*width:n])
	copy(l.free[(i+1)*width:(i+2)*width], l.free[i*width:(i+1)*width])
	return i + 1
}

// join drops a step that is like the one before it.
func (l *line) join(i, width int) {
	if i == 0 || !slices.Equal(l.free[i*width:(i+1)*width], l.free[(i-1)*width:i*width]) {
		return
	}
	l.at = slices.Delete(l.at, i, i+1)
	l.free = slices.Delete(l.free, i*width, (i+1)*width)
	if l.head >= i {
		l.head--
	}
}
