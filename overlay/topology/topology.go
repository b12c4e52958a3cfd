// Package topology chooses a site's neighbours by a rule over the sites that it knows. It is pure: same rule, same sites, same
// choice, in whatever order they come.
//
// Membership is mutual, so a rule is of use where both ends come to the same edge. With the same sites known at all of them:
//
//	rule       neighbours                                                       both ends agree
//	explicit   all that are known: the file says it all                          as the files do
//	full       all that are known                                                yes
//	ring       degree/2 on each side, in the order of the peer IDs               yes
//	grid       left, right, above and below on a torus, in that order            yes
//	random     degree by the hash of the pair, and those that choose this one    yes
//	nearest    degree by measured round trip, or bandwidth                       where both measure alike
//
// Tags and organisations narrow what a rule chooses from; at_most bounds what it may choose. Those of always are chosen
// whatever the rule says.
package topology

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gbroker/grid"
)

// Kind is which rule it is.
type Kind string

// Kinds.
const (
	Explicit Kind = "explicit"
	Full     Kind = "full"
	Ring     Kind = "ring"
	Grid     Kind = "grid"
	Random   Kind = "random"
	Nearest  Kind = "nearest"
)

// kinds are all of them.
var kinds = []Kind{Explicit, Full, Ring, Grid, Random, Nearest}

// MaxDegree bounds the degree and the number of neighbours.
const MaxDegree = 1000

// Rule chooses neighbours. The zero rule is Explicit.
type Rule struct {
	Kind          Kind
	Degree        int  // of ring, random and nearest; 0 is 2 of a ring, else 8
	Bandwidth     bool // of nearest: the widest, not the ones with the shortest round trip
	Tags          []string
	Organisations []string
	Always        []grid.SiteName
	AtMost        int // 0 is no bound
}

// Known is a site that may be chosen, as far as it is known.
type Known struct {
	Name         grid.SiteName
	Peer         grid.PeerID
	Tags         []string
	Organisation string
	RTT          float64 // seconds; 0 is not measured
	Bandwidth    float64 // bytes per second; 0 is not measured
}

// Choice tells of a site whether it is chosen, and why.
type Choice struct {
	Known
	Chosen bool
	Why    string
}

// Validate says what is wrong.
func (r Rule) Validate() error {
	switch {
	case r.Kind != "" && !slices.Contains(kinds, r.Kind):
		return fmt.Errorf("there is no rule %q: write one of %v", r.Kind, kinds)
	case r.Degree < 0 || r.Degree > MaxDegree || r.AtMost < 0 || r.AtMost > MaxDegree:
		return fmt.Errorf("degree and at_most are from 0 to %d", MaxDegree)
	case r.Kind == Ring && r.Degree%2 != 0:
		return errors.New("the degree of a ring is even: as many on each side")
	case r.Degree != 0 && (r.Kind == Explicit || r.Kind == "" || r.Kind == Full || r.Kind == Grid):
		return fmt.Errorf("the rule %s has no degree: remove it, or write at_most", cmp.Or(r.Kind, Explicit))
	case r.Bandwidth && r.Kind != Nearest:
		return fmt.Errorf("only the rule %s is by a measure", Nearest)
	}
	return nil
}

// degree is the rule's, with its default.
func (r Rule) degree() int {
	if r.Kind == Ring {
		return cmp.Or(r.Degree, 2)
	}
	return cmp.Or(r.Degree, 8)
}

// Plan tells of each known site whether it is to be a neighbour of self: the chosen ones first, in the order in which
// at_most takes them.
func (r Rule) Plan(self grid.PeerID, known []Known) []Choice {
	known = slices.SortedFunc(slices.Values(known), func(a, b Known) int { return strings.Compare(string(a.Peer), string(b.Peer)) })
	known = slices.CompactFunc(known, func(a, b Known) bool { return a.Peer == b.Peer })
	var able, always, out []Choice
	for _, k := range known {
		c := Choice{Known: k}
		switch {
		case k.Peer == self:
		case slices.Contains(r.Always, k.Name):
			c.Why = "always"
			always = append(always, c)
		case len(r.Tags) > 0 && !slices.ContainsFunc(r.Tags, func(t string) bool { return slices.Contains(k.Tags, t) }):
			c.Why = "none of its tags is wanted"
			out = append(out, c)
		case len(r.Organisations) > 0 && !slices.Contains(r.Organisations, k.Organisation):
			c.Why = "its organisation is not wanted"
			out = append(out, c)
		default:
			able = append(able, c)
		}
	}
	chosen, rest := r.choose(self, able)
	chosen = append(always, chosen...)
	for i := range chosen {
		if chosen[i].Chosen = r.AtMost == 0 || i < r.AtMost; !chosen[i].Chosen {
			chosen[i].Why = fmt.Sprintf("more than at_most: %d (%s)", r.AtMost, chosen[i].Why)
		}
	}
	return append(append(chosen, rest...), out...)
}

// choose splits sites, sorted by their peers, by the rule alone.
func (r Rule) choose(self grid.PeerID, able []Choice) (chosen, rest []Choice) {
	switch r.Kind {
	case Ring:
		return r.around(self, able, r.ring)
	case Grid:
		return r.around(self, able, torus)
	case Random:
		return r.random(self, able)
	case Nearest:
		return r.nearest(self, able)
	case Full:
		return because(able, "all that are known"), nil
	}
	return because(able, "listed"), nil
}

func because(list []Choice, why string) []Choice {
	for i := range list {
		list[i].Why = why
	}
	return list
}

// around chooses by places in the order of the peers, in which self has one too.
func (r Rule) around(self grid.PeerID, able []Choice, places func(at, n int) map[int]string) (chosen, rest []Choice) {
	at, _ := slices.BinarySearchFunc(able, self, func(c Choice, p grid.PeerID) int { return strings.Compare(string(c.Peer), string(p)) })
	near := places(at, len(able)+1)
	for i, c := range able {
		place := i
		if i >= at {
			place++
		}
		if why, is := near[place]; is {
			c.Why = why
			chosen = append(chosen, c)
			continue
		}
		c.Why = "not beside this site"
		rest = append(rest, c)
	}
	return chosen, rest
}

func (r Rule) ring(at, n int) map[int]string {
	near := map[int]string{}
	for d := 1; d <= r.degree()/2 && d < n; d++ {
		near[(at+d)%n] = fmt.Sprintf("%d after this site in the ring", d)
		near[(at-d%n+n)%n] = fmt.Sprintf("%d before this site in the ring", d)
	}
	delete(near, at)
	return near
}

// torus has about as many rows as columns; the last row may be short, and who has nobody below has the first of the column there.
func torus(at, n int) map[int]string {
	columns := int(math.Ceil(math.Sqrt(float64(n))))
	near := map[int]string{}
	row := func(i int) (first, length int) {
		first = i / columns * columns
		return first, min(columns, n-first)
	}
	first, length := row(at)
	near[first+(at-first+1)%length] = "right of this site"
	near[first+(at-first+length-1)%length] = "left of this site"
	column := at % columns
	tall := (n - column + columns - 1) / columns
	up := (at/columns + tall - 1) % tall
	down := (at/columns + 1) % tall
	near[up*columns+column] = "above this site"
	near[down*columns+column] = "below this site"
	delete(near, at)
	return near
}

// weight is the same at both ends of an edge.
func weight(a, b grid.PeerID) uint64 {
	h := sha256.Sum256([]byte(min(a, b) + "\n" + max(a, b)))
	return binary.BigEndian.Uint64(h[:])
}

// random takes the edges of least weight of this site, and those that are among the least of the other end.
func (r Rule) random(self grid.PeerID, able []Choice) (chosen, rest []Choice) {
	peers := []grid.PeerID{self}
	for _, c := range able {
		peers = append(peers, c.Peer)
	}
	rank := func(at, of grid.PeerID) int {
		n, w := 0, weight(at, of)
		for _, p := range peers {
			if p != at && p != of && weight(at, p) < w {
				n++
			}
		}
		return n
	}
	for _, c := range able {
		switch {
		case rank(self, c.Peer) < r.degree():
			c.Why = "among the least hashes here"
			chosen = append(chosen, c)
		case rank(c.Peer, self) < r.degree():
			c.Why = "this site is among the least hashes there"
			chosen = append(chosen, c)
		default:
			c.Why = "not drawn"
			rest = append(rest, c)
		}
	}
	return chosen, rest
}

// nearest takes the sites of the best measure, and after them those that are not measured yet, so that they will be.
func (r Rule) nearest(self grid.PeerID, able []Choice) (chosen, rest []Choice) {
	measure := func(c Choice) (text string, far float64) {
		switch {
		case r.Bandwidth && c.Bandwidth > 0:
			return fmt.Sprintf("%.3g MB/s", c.Bandwidth/1e6), -c.Bandwidth
		case !r.Bandwidth && c.RTT > 0:
			return fmt.Sprintf("%.3g ms", c.RTT*1000), c.RTT
		}
		return "not measured", math.Inf(1)
	}
	slices.SortStableFunc(able, func(a, b Choice) int {
		_, x := measure(a)
		_, y := measure(b)
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(weight(self, a.Peer), weight(self, b.Peer)))
	})
	for i, c := range able {
		text, _ := measure(c)
		_, far := measure(c)
		if i < r.degree() || math.IsInf(far, 1) {
			c.Why = "near: " + text
			chosen = append(chosen, c)
			continue
		}
		c.Why = "others are nearer: " + text
		rest = append(rest, c)
	}
	return chosen, rest
}
