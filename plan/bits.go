package plan

import "math/bits"

// set is a set of nodes.
type set []uint64

func newSet(n int) set { return make(set, (n+63)/64) }

func (s set) has(n int) bool { return s[n/64]>>(n%64)&1 != 0 }
func (s set) add(n int)      { s[n/64] |= 1 << (n % 64) }
func (s set) drop(n int)     { s[n/64] &^= 1 << (n % 64) }

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
