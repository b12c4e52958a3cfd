package flow

import "gbroker/steps"

// timeline is what is free at an executor over time. Its vectors have the amounts, then a 1 or 0 for each GPU, so that one
// that is given to a job is its own from start to end.
type timeline struct {
	line       steps.Line[Time]
	named      int // amounts before the GPUs
	need, room []int64
	desert     desert
}

func (l *timeline) reset(x *Executor) {
	l.named = len(x.Capacity)
	l.desert.forget()
	width := l.named + len(x.GPUs)
	if l.need == nil {
		l.need, l.room = make([]int64, width), make([]int64, width)
	}
	l.line = steps.Line[Time]{At: append(l.line.At[:0], 0), Free: append(l.line.Free[:0], x.Capacity...)}
	for range x.GPUs {
		l.line.Free = append(l.line.Free, 1)
	}
	for _, t := range x.Taken {
		clear(l.need)
		copy(l.need, t.Amounts)
		for _, g := range t.GPUs {
			l.need[l.named+g] = 1
		}
		l.change(t.From, t.To, -1)
	}
}

// change gives or takes what need has.
func (l *timeline) change(from, to Time, sign int64) {
	first, end := l.line.Change(from, to, l.need, sign)
	l.line.Settle(first, end, len(l.need))
}

// find is the earliest instant from which all that a configuration needs is free for its time; Forever where it would
// not end before a limit.
func (l *timeline) find(ready, run Time, c *Configuration, limit Time) Time {
	if run == 0 {
		return ready
	}
	clear(l.need)
	copy(l.need[:l.named], c.Needs)
	t, last := l.desert.after(ready, run, l.need, c.GPUs), min(limit-run, Forever)
	if c.GPUs == 0 {
		t = l.line.First(t, run, last, l.need[:l.named], len(l.need))
		l.desert.note(ready, min(t, last), run, l.need, 0)
		return t
	}
	for ; t < last; t = l.desert.after(t, run, l.need, c.GPUs) {
		blocked := l.line.Least(t, t+run, l.need, l.room)
		if blocked == 0 {
			if l.gpus() >= c.GPUs {
				l.desert.note(ready, t, run, l.need, c.GPUs)
				return t
			}
			blocked = l.line.End(l.line.Holding(t, l.line.Head))
		}
		t = blocked
	}
	l.desert.note(ready, t, run, l.need, c.GPUs)
	return Forever
}

// gpus counts those that room has.
func (l *timeline) gpus() (n int) {
	for _, free := range l.room[l.named:] {
		if free > 0 {
			n++
		}
	}
	return n
}

// reserve takes what a configuration needs, and tells which GPUs those are. It was found to be free.
func (l *timeline) reserve(start, end Time, c *Configuration) (gpus []int) {
	if start == end {
		return nil
	}
	clear(l.need)
	copy(l.need[:l.named], c.Needs)
	l.line.Least(start, end, l.need, l.room)
	for g := 0; g < len(l.room)-l.named && len(gpus) < c.GPUs; g++ {
		if l.room[l.named+g] > 0 {
			gpus = append(gpus, g)
			l.need[l.named+g] = 1
		}
	}
	l.change(start, end, -1)
	return gpus
}

// release gives back what was reserved.
func (l *timeline) release(start, end Time, c *Configuration, gpus []int) {
	if start == end {
		return
	}
	clear(l.need)
	copy(l.need[:l.named], c.Needs)
	for _, g := range gpus {
		l.need[l.named+g] = 1
	}
	l.change(start, end, 1)
	l.desert.forget()
}
