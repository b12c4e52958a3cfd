package plan

import (
	"cmp"
	"slices"
)

// blockSize is how many stretches a block holds at most: what a feed reads at once.
const blockSize = feedSize - 2

// sorted is a list of stretches in blocks, none empty, so that one can be put in or taken out without moving all others.
type sorted struct {
	blocks  [][]stretch
	compare func(a, b stretch) int
}

func startFirst(a, b stretch) int {
	return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end), cmp.Compare(a.site, b.site), cmp.Compare(a.size, b.size))
}

func endFirst(a, b stretch) int {
	return cmp.Or(cmp.Compare(a.end, b.end), cmp.Compare(a.start, b.start), cmp.Compare(a.site, b.site), cmp.Compare(a.size, b.size))
}

// newSorted sorts what it is given.
func newSorted(all []stretch, compare func(a, b stretch) int) sorted {
	slices.SortFunc(all, compare)
	s := sorted{make([][]stretch, 0, len(all)/blockSize+1), compare}
	for len(all) > 0 {
		n := min(len(all), blockSize)
		s.blocks = append(s.blocks, all[:n:n])
		all = all[n:]
	}
	return s
}

// find is the block and the place in it of the first that is not before one.
func (s *sorted) find(x stretch) (block, at int) {
	block, _ = slices.BinarySearchFunc(s.blocks, x, func(b []stretch, x stretch) int { return s.compare(b[len(b)-1], x) })
	if block < len(s.blocks) {
		at, _ = slices.BinarySearchFunc(s.blocks[block], x, s.compare)
	}
	return block, at
}

func (s *sorted) insert(x stretch) {
	i, at := s.find(x)
	if i == len(s.blocks) {
		if i == 0 {
			s.blocks = append(s.blocks, []stretch{x})
			return
		}
		i--
		at = len(s.blocks[i])
	}
	if b := s.blocks[i]; len(b) == blockSize {
		half := blockSize / 2
		s.blocks = slices.Insert(s.blocks, i+1, slices.Clone(b[half:]))
		s.blocks[i] = b[:half:half]
		if at > half {
			i, at = i+1, at-half
		}
	}
	s.blocks[i] = slices.Insert(s.blocks[i], at, x)
}

// remove takes out one that is there.
func (s *sorted) remove(x stretch) {
	i, at := s.find(x)
	if s.blocks[i] = slices.Delete(s.blocks[i], at, at+1); len(s.blocks[i]) == 0 {
		s.blocks = slices.Delete(s.blocks, i, i+1)
	}
}

// all are the stretches in order.
func (s *sorted) all(yield func(stretch) bool) {
	for _, b := range s.blocks {
		for _, x := range b {
			if !yield(x) {
				return
			}
		}
	}
}
