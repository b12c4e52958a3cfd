package plan

import "math/bits"

// set is a set of small numbers, as of nodes.
type set []uint64

func newSet(n int) set { return make(set, (n+63)/64) }

func (s set) has(n int) bool { return s[n/64]>>(n%64)&1 != 0 }
func (s set) add(n int)      { s[n/64] |= 1 << (n % 64) }
func (s set) drop(n int)     { s[n/64] &^= 1 << (n % 64) }
func (s set) any() bool      { return s.next(0) >= 0 }

func (s set) and(o set) set {
	out := make(set, len(s))
	for w := range s {
		out[w] = s[w] & o[w]
	}
	return out
}

func (s set) without(o set) set {
	out := make(set, len(s))
	for w := range s {
		out[w] = s[w] &^ o[w]
	}
	return out
}

func (s set) members() (list []int) {
	for n := s.next(0); n >= 0; n = s.next(n + 1) {
		list = append(list, n)
	}
	return list
}

// next is the first member from n on, or -1.
func (s set) next(n int) int {
	w := n / 64
	if w >= len(s) {
		return -1
	}
	word := s[w] >> (n % 64) << (n % 64)
	for word == 0 {
		if w++; w == len(s) {
			return -1
		}
		word = s[w]
	}
	return w*64 + bits.TrailingZeros64(word)
}
