package experiment

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// members says for each site which others it knows: if one knows another, it is known by it.
func (t *topology) members(names []string, r *rand.Rand) ([][]int, error) {
	n := len(names)
	switch t.Kind {
	case "ring":
		return edges(n, func(join func(a, b int)) {
			for i := range n {
				join(i, (i+1)%n)
			}
		}), nil
	case "grid":
		return square(n), nil
	case "random":
		return regular(n, t.Random, r)
	case "members":
		return edges(n, func(join func(a, b int)) {
			for from, all := range t.Members {
				for _, to := range all {
					join(slices.Index(names, from), slices.Index(names, to))
				}
			}
		}), nil
	}
	return edges(n, func(join func(a, b int)) {
		for i := range n {
			for j := range i {
				join(i, j)
			}
		}
	}), nil
}

// edges gathers who is joined with whom, each once and in order.
func edges(n int, each func(join func(a, b int))) [][]int {
	out := make([][]int, n)
	each(func(a, b int) {
		if a != b {
			out[a], out[b] = append(out[a], b), append(out[b], a)
		}
	})
	for i := range out {
		slices.Sort(out[i])
		out[i] = slices.Compact(out[i])
	}
	return out
}

// square is a grid as wide as it is high, or nearly, with open borders.
func square(n int) [][]int {
	width := 1
	for width*width < n {
		width++
	}
	return edges(n, func(join func(a, b int)) {
		for i := range n {
			if (i+1)%width != 0 && i+1 < n {
				join(i, i+1)
			}
			if i+width < n {
				join(i, i+width)
			}
		}
	})
}

// regular draws a connected graph in which each site has k neighbours: a ring of near ones, whose edges are then exchanged
// by chance in pairs, which keeps the number of each. With two neighbours each that is a ring in any order.
func regular(n, k int, r *rand.Rand) ([][]int, error) {
	if k == 2 {
		order := r.Perm(n)
		return edges(n, func(join func(a, b int)) {
			for i := range n {
				join(order[i], order[(i+1)%n])
			}
		}), nil
	}
	for range 100 {
		if g := shuffled(n, k, r); connected(g) {
			return g, nil
		}
	}
	return nil, fmt.Errorf("no connected graph of %d sites with %d neighbours each was found", n, k)
}

func shuffled(n, k int, r *rand.Rand) [][]int {
	type edge [2]int
	key := func(a, b int) edge { return edge{min(a, b), max(a, b)} }
	var list []edge
	has := make(map[edge]bool)
	join := func(a, b int) {
		list = append(list, key(a, b))
		has[key(a, b)] = true
	}
	for i := range n {
		for d := 1; d <= k/2; d++ {
			join(i, (i+d)%n)
		}
		if k%2 == 1 && i < n/2 {
			join(i, i+n/2)
		}
	}
	for range 20 * len(list) {
		i, j := r.IntN(len(list)), r.IntN(len(list))
		a, b, c, d := list[i][0], list[i][1], list[j][0], list[j][1]
		if r.IntN(2) == 0 {
			c, d = d, c
		}
		one, other := key(a, d), key(c, b)
		if a == d || c == b || one == other || has[one] || has[other] {
			continue
		}
		delete(has, list[i])
		delete(has, list[j])
		list[i], list[j] = one, other
		has[one], has[other] = true, true
	}
	return edges(n, func(join func(a, b int)) {
		for _, e := range list {
			join(e[0], e[1])
		}
	})
}

// connected tells whether each site is reached from the first.
func connected(g [][]int) bool {
	seen, next := make([]bool, len(g)), []int{0}
	seen[0] = true
	for len(next) > 0 {
		i := next[len(next)-1]
		next = next[:len(next)-1]
		for _, j := range g[i] {
			if !seen[j] {
				seen[j] = true
				next = append(next, j)
			}
		}
	}
	return !slices.Contains(seen, false)
}
