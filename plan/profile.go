package plan

import (
	"slices"
	"sort"

	"gbroker/grid"
)

// profile is the number of free cores of a whole site over time, in blocks of steps
// that know their extremes. What fits by the nodes fits by it, so that it says where
// to look. It keeps a step where something was given back even if as much was taken.
type profile struct {
	blocks []profileBlock
	head   int // a block at or before the one that holds now
}

type profileBlock struct {
	steps     []profileStep
	low, high int64 // without more
	more      int64 // counts for all steps
}

type profileStep struct {
	at    grid.Tick
	free  int64
	gives bool // something is given back here
}

const profileBlockSize = 64

// newProfile begins with steps that ascend.
func newProfile(steps []profileStep) profile {
	var s profile
	for len(steps) > 0 {
		n := min(len(steps), profileBlockSize/2)
		s.blocks = append(s.blocks, profileBlock{steps: slices.Clip(steps[:n])})
		s.blocks[len(s.blocks)-1].measure()
		steps = steps[n:]
	}
	return s
}

func (s *profile) clone() profile {
	c := profile{blocks: slices.Clone(s.blocks)}
	for i := range c.blocks {
		c.blocks[i].steps = slices.Clone(c.blocks[i].steps)
	}
	return c
}

func (b *profileBlock) measure() {
	b.low, b.high = b.steps[0].free, b.steps[0].free
	for _, s := range b.steps[1:] {
		b.low, b.high = min(b.low, s.free), max(b.high, s.free)
	}
}

// find is the step that holds t.
func (s *profile) find(t grid.Tick, from int) (block, step int) {
	blocks := s.blocks[from:]
	b := sort.Search(len(blocks), func(i int) bool { return blocks[i].steps[0].at > t }) - 1
	b = from + max(b, 0)
	steps := s.blocks[b].steps
	i := sort.Search(len(steps), func(i int) bool { return steps[i].at > t }) - 1
	return b, max(i, 0)
}

// at is what is free at t.
func (s *profile) at(t grid.Tick) int64 {
	b, i := s.find(t, 0)
	return s.blocks[b].steps[i].free + s.blocks[b].more
}

// advance goes to now and tells what is free there.
func (s *profile) advance(now grid.Tick) int64 {
	for s.head+1 < len(s.blocks) && s.blocks[s.head+1].steps[0].at <= now {
		s.head++
	}
	b, i := s.find(now, s.head)
	return s.blocks[b].steps[i].free + s.blocks[b].more
}

// split makes t the beginning of a step.
func (s *profile) split(t grid.Tick) (block, step int) {
	b, i := s.find(t, s.head)
	k := &s.blocks[b]
	if k.steps[i].at == t {
		return b, i
	}
	k.steps = slices.Insert(k.steps, i+1, profileStep{at: t, free: k.steps[i].free})
	i++
	if half := len(k.steps) / 2; len(k.steps) >= profileBlockSize {
		upper := profileBlock{steps: append(make([]profileStep, 0, profileBlockSize), k.steps[half:]...), more: k.more}
		k.steps = k.steps[:half]
		k.measure()
		upper.measure()
		s.blocks = slices.Insert(s.blocks, b+1, upper)
		if i >= half {
			b, i = b+1, i-half
		}
	}
	return b, i
}

// change makes more cores free from one instant to another.
func (s *profile) change(from, to grid.Tick, more int64) {
	b, i := s.split(to)
	s.blocks[b].steps[i].gives = s.blocks[b].steps[i].gives || more < 0
	b, i = s.split(from)
	s.blocks[b].steps[i].gives = s.blocks[b].steps[i].gives || more > 0
	for ; b < len(s.blocks); b, i = b+1, 0 {
		k := &s.blocks[b]
		if k.steps[0].at >= to {
			return
		}
		if i == 0 && b+1 < len(s.blocks) && s.blocks[b+1].steps[0].at <= to {
			k.more += more
			continue
		}
		for ; i < len(k.steps) && k.steps[i].at < to; i++ {
			k.steps[i].free += more
		}
		k.measure()
	}
}

// next is the first instant from which n cores are free for a time d: from itself,
// or one where something is given back. It is never where there is none.
func (s *profile) next(from grid.Tick, n int64, d grid.Tick) grid.Tick {
	b, i := s.find(from, 0)
	start := grid.Tick(never)
	if s.blocks[b].steps[i].free+s.blocks[b].more >= n {
		start = from
	}
	for i++; b < len(s.blocks); b, i = b+1, 0 {
		k := &s.blocks[b]
		if i == 0 {
			if start != never && k.steps[0].at-start >= d {
				return start
			}
			if start != never && k.low+k.more >= n || start == never && k.high+k.more < n {
				continue
			}
		}
		least := n - k.more
		for ; i < len(k.steps); i++ {
			at := k.steps[i].at
			if start != never && at-start >= d {
				return start
			}
			switch {
			case k.steps[i].free < least:
				start = never
			case start == never:
				start = at
			}
		}
	}
	return start
}

// after is the next instant at which something is given back, or never.
func (s *profile) after(t grid.Tick) grid.Tick {
	b, i := s.find(t, 0)
	for i++; b < len(s.blocks); b, i = b+1, 0 {
		for ; i < len(s.blocks[b].steps); i++ {
			if s.blocks[b].steps[i].gives {
				return s.blocks[b].steps[i].at
			}
		}
	}
	return never
}
