// Package steps keeps what is free over time: of a node, of an executor. It is pure, and knows no unit.
package steps

import (
	"slices"
	"sort"
)

// Never is when nothing ends that lasts for ever.
const Never = int64(1) << 62

// Line is what is free over time: a step function of vectors, without equal neighbours, whose last step lasts
// for ever. What was before now stays. It may be negative where more is in use than there is.
type Line[T ~int64] struct {
	At   []T     // when each step begins
	Free []int64 // a vector for each step
	Head int     // a step at or before the one that holds now
}

// Holding is the step that holds t; the step from does not begin later.
func (l *Line[T]) Holding(t T, from int) int {
	at := l.At[from:]
	if len(at) <= 16 {
		i := 1
		for i < len(at) && at[i] <= t {
			i++
		}
		return from + i - 1
	}
	return from + sort.Search(len(at), func(i int) bool { return at[i] > t }) - 1
}

// Advance goes to now.
func (l *Line[T]) Advance(now T) {
	for l.Head+1 < len(l.At) && l.At[l.Head+1] <= now {
		l.Head++
	}
}

// Least finds in room what is free throughout an interval. Where at some instant of it
// less is free than is needed, it tells from when on this may be otherwise, else 0.
func (l *Line[T]) Least(from, to T, need, room []int64) (blocked T) {
	width := len(room)
	last := l.Holding(to-1, l.Head)
	for i := last; ; i-- {
		free := l.Free[i*width : (i+1)*width]
		for r, f := range free {
			if f < need[r] && need[r] > 0 { // negative where nobody asks is nobody's concern
				return l.End(i)
			}
			if i == last || f < room[r] {
				room[r] = f
			}
		}
		if l.At[i] <= from {
			return 0
		}
	}
}

// First is the earliest instant not before one, and before last, from which so much is free for a time; Never if there is none. It looks at each
// step once, at the amounts that need has: a vector may have more.
func (l *Line[T]) First(from, run, last T, need []int64, width int) T {
	for i := l.Holding(from, l.Head); from < last; i++ {
		switch end := l.End(i); {
		case short(l.Free[i*width:i*width+len(need)], need):
			from = end
		case end-from >= run || i+1 == len(l.At):
			return from
		}
	}
	return T(Never)
}

// short tells that less of something is free than is needed. Negative where nobody asks is nobody's concern.
func short(free, need []int64) bool {
	for r, n := range need {
		if free[r] < n && n > 0 {
			return true
		}
	}
	return false
}

// End is where a step ends.
func (l *Line[T]) End(i int) T {
	if i+1 == len(l.At) {
		return T(Never)
	}
	return l.At[i+1]
}

// Change makes amounts more (or less, by sign) free from one instant to another, and
// tells the steps it changed, which end where to begins. Then comes Settle.
func (l *Line[T]) Change(from, to T, amounts []int64, sign int64) (first, end int) {
	first = l.split(from, len(amounts))
	end = l.split(to, len(amounts))
	width := len(amounts)
	if width == 1 {
		more := sign * amounts[0]
		for i := first; i < end; i++ {
			l.Free[i] += more
		}
		return first, end
	}
	for i := first; i < end; i++ {
		for r, a := range amounts {
			l.Free[i*width+r] += sign * a
		}
	}
	return first, end
}

// Settle joins equal neighbours at the edges of a change.
func (l *Line[T]) Settle(first, end, width int) {
	l.join(end, width)
	l.join(first, width)
}

// split makes t the beginning of a step.
func (l *Line[T]) split(t T, width int) int {
	i := l.Holding(t, l.Head)
	if l.At[i] == t {
		return i
	}
	l.At = slices.Insert(l.At, i+1, t)
	n := len(l.Free)
	l.Free = append(l.Free, l.Free[n-width:]...)
	copy(l.Free[(i+2)*width:], l.Free[(i+1)*width:n])
	copy(l.Free[(i+1)*width:(i+2)*width], l.Free[i*width:(i+1)*width])
	return i + 1
}

// join drops a step that is like the one before it.
func (l *Line[T]) join(i, width int) {
	if i == 0 || !slices.Equal(l.Free[i*width:(i+1)*width], l.Free[(i-1)*width:i*width]) {
		return
	}
	l.At = slices.Delete(l.At, i, i+1)
	l.Free = slices.Delete(l.Free, i*width, (i+1)*width)
	if l.Head >= i {
		l.Head--
	}
}
