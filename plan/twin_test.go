package plan

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"gbroker/grid"

	"pgregory.net/rapid"
)

// nodeTwin is the naive scheduler by node: it passes every millisecond, goes node by node
// and instant by instant, and reads the definitions of the policies off the page. It
// keeps no reservation from pass to pass but those of ConsCompress.
type nodeTwin struct {
	s       Snapshot
	believe belief
	now     grid.Tick
	ran     []twinRun // what runs and ran, and what is reserved for nobody who waits
	kept    map[int]twinRun
	starts  []grid.Tick
	where   [][]Share
	from    []grid.Tick // when a job joins the queue
	queue   []int
	passed  map[int]int
	bound   map[int]twinRun
	ids     int // of the runs so far
}

type twinRun struct {
	id                int // in the order in which they were made
	shares            []Share
	start, end, until grid.Tick
	reserved          bool
}

const twinEnd = 3000

func newTwin(s Snapshot, later []Question, believe belief) *nodeTwin {
	w := &nodeTwin{s: s, believe: believe, now: s.At, passed: map[int]int{}, kept: map[int]twinRun{}, bound: map[int]twinRun{}}
	for _, r := range s.Running {
		until := max(r.End, s.At+1)
		end := until
		if believe != nil {
			end = min(max(r.Start+believe(r.Trait, s.At-r.Start), s.At+1), until)
		}
		w.ran = append(w.ran, twinRun{w.nextID(), r.Shares, min(r.Start, s.At), end, until, false})
	}
	w.s.Waiting = slices.Clone(s.Waiting)
	for range s.Waiting {
		w.from = append(w.from, s.At)
	}
	for _, q := range later {
		w.s.Waiting = append(w.s.Waiting, Waiting{Demand: q.Demand, Queue: q.Queue, Limit: q.Limit, Trait: q.Trait})
		w.from = append(w.from, max(q.NotBefore, s.At))
	}
	rs := slices.Clone(s.Reservations)
	slices.SortStableFunc(rs, func(a, b Reservation) int { return cmp.Compare(a.Start, b.Start) })
	for _, r := range rs {
		if r.End <= max(s.At, r.Start) {
			continue
		}
		run := twinRun{w.nextID(), r.Shares, max(r.Start, s.At), r.End, r.End, true}
		i := slices.IndexFunc(s.Waiting, func(x Waiting) bool { return x.Job == r.Job && r.Job != "" && !x.Ineligible })
		if i >= 0 {
			if _, two := w.bound[i]; !two {
				run.until = max(r.End, run.start+w.limit(i))
				w.bound[i] = run
				continue
			}
		}
		w.ran = append(w.ran, run)
	}
	w.starts = make([]grid.Tick, len(w.s.Waiting))
	w.where = make([][]Share, len(w.s.Waiting))
	for i := range w.starts {
		w.starts[i] = -1
		x := w.s.Waiting[i]
		if _, isBound := w.bound[i]; !isBound && !x.Ineligible && w.can(i) {
			w.queue = append(w.queue, i)
		}
		w.passed[i] = x.Overtaken
	}
	return w
}

func (w *nodeTwin) can(i int) bool {
	x := w.s.Waiting[i]
	return Refuse(w.s, Question{Demand: x.Demand, Queue: x.Queue, Limit: x.Limit}) == nil
}

func (w *nodeTwin) limit(i int) grid.Tick { return max(w.s.Waiting[i].Limit, 1) }

func (w *nodeTwin) nextID() int {
	w.ids++
	return w.ids
}

func (w *nodeTwin) start(i int, shares []Share) {
	w.starts[i], w.where[i] = w.now, shares
	r := twinRun{id: w.nextID(), shares: shares, start: w.now, until: w.now + w.limit(i)}
	r.end = r.until
	if w.believe != nil {
		r.end = w.now + min(max(w.believe(w.s.Waiting[i].Trait, 0), 1), w.limit(i))
	}
	w.ran = append(w.ran, r)
	w.queue = slices.DeleteFunc(w.queue, func(k int) bool { return k == i })
}

func (w *nodeTwin) earliest(i int, order func(t grid.Tick) []int) (twinRun, bool) {
	for t := w.now; t < w.s.At+twinEnd; t++ {
		if shares, ok := w.place(i, t, order(t)); ok {
			return twinRun{shares: shares, start: t, until: t + w.limit(i)}, true
		}
	}
	return twinRun{}, false
}

func (w *nodeTwin) pass(ended bool) {
	for w.startBound() {
		ended = true
	}
	queue := w.sorted(w.s.Policy.Order)
	many := w.s.Policy.Kind == EASY && w.s.Policy.reservations() > 1
	switch p := w.s.Policy; {
	case p.Kind == FCFS:
		for _, i := range queue {
			shares, ok := w.place(i, w.now, w.aheadFirst())
			if !ok {
				return
			}
			w.start(i, shares)
		}
	case p.Kind == FirstFit:
		w.firstFit(queue)
	case p.Kind == ConsCompress:
		w.compress(queue, ended)
	case p.Kind == ConsRebuild:
		w.reserve(queue, len(queue))
	case many:
		w.reserve(queue, p.Reservations)
	default:
		w.easy(queue)
	}
}

func (w *nodeTwin) firstFit(queue []int) {
	var before []int
	for _, i := range queue {
		for _, k := range before {
			if w.s.Policy.Overtakes > 0 && w.passed[k] >= w.s.Policy.Overtakes {
				return
			}
		}
		shares, ok := w.place(i, w.now, w.aheadFirst())
		if !ok {
			before = append(before, i)
			continue
		}
		w.start(i, shares)
		for _, k := range before {
			w.passed[k]++
		}
	}
}

// easy goes on until nobody starts.
func (w *nodeTwin) easy(queue []int) {
	for before := -1; len(queue) > 0 && before != len(queue); {
		before = len(queue)
		w.easyOnce(queue)
		queue = w.sorted(w.s.Policy.Order)
	}
}

func (w *nodeTwin) easyOnce(queue []int) {
	clear(w.kept)
	for len(queue) > 0 {
		shares, ok := w.place(queue[0], w.now, w.aheadFirst())
		if !ok {
			break
		}
		w.start(queue[0], shares)
		queue = queue[1:]
	}
	if len(queue) == 0 {
		return
	}
	head := queue[0]
	r, ok := w.earliest(head, w.latestFirst)
	if !ok {
		panic("the head never starts")
	}
	w.kept[head] = r
	if w.s.Policy.Kind == EASYSJBF {
		queue = w.sorted(ShortestFirst)
	}
	for _, i := range queue {
		if i == head {
			continue
		}
		if shares, ok := w.place(i, w.now, w.aheadFirst()); ok {
			w.start(i, shares)
		}
	}
	clear(w.kept)
}

func (w *nodeTwin) always(grid.Tick) []int { return w.inOrder() }

func (w *nodeTwin) reserve(queue []int, reservations int) {
	clear(w.kept)
	for _, i := range queue {
		if shares, ok := w.place(i, w.now, w.inOrder()); ok {
			w.start(i, shares)
		} else if len(w.kept) < reservations {
			w.kept[i], _ = w.earliest(i, w.always)
		}
	}
	clear(w.kept)
}

func (w *nodeTwin) compress(queue []int, ended bool) {
	for _, fresh := range []bool{false, true} {
		for _, i := range queue {
			if _, has := w.kept[i]; has == fresh || has && !ended {
				continue
			}
			delete(w.kept, i)
			w.kept[i], _ = w.earliest(i, w.always)
		}
	}
	for _, i := range queue {
		if r := w.kept[i]; r.start == w.now {
			delete(w.kept, i)
			w.start(i, r.shares)
		}
	}
}

func (w *nodeTwin) startBound() bool {
	changed := false
	var order []int
	for i := range w.bound {
		order = append(order, i)
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(w.resOf(a), w.resOf(b)))
	})
	for _, i := range order {
		a := w.bound[i]
		if a.start > w.now {
			continue
		}
		delete(w.bound, i)
		var nodes []int
		for n := range w.s.Nodes {
			if slices.ContainsFunc(a.shares, func(h Share) bool { return h.Node == n }) {
				nodes = append(nodes, n)
			}
		}
		kept := w.kept
		shares, ok := w.place(i, w.now, nodes)
		w.kept = kept
		switch {
		case ok:
			w.start(i, shares)
			changed = true
		case w.now >= a.end:
			changed = true
			if w.can(i) {
				w.queue = append(w.queue, i)
				slices.Sort(w.queue)
			}
			clear(w.kept)
		default:
			w.bound[i] = a
		}
	}
	return changed
}

// resOf is the place of a job's reservation in the order of their starts.
func (w *nodeTwin) resOf(i int) int {
	rs := slices.Clone(w.s.Reservations)
	slices.SortStableFunc(rs, func(a, b Reservation) int { return cmp.Compare(a.Start, b.Start) })
	return slices.IndexFunc(rs, func(r Reservation) bool { return r.Job == w.s.Waiting[i].Job })
}

// run goes on until nobody waits.
func (w *nodeTwin) run() []grid.Tick {
	for ; len(w.queue)+len(w.bound) > 0 && w.now < w.s.At+twinEnd; w.now++ {
		ended := slices.ContainsFunc(w.ran, func(r twinRun) bool { return r.end == w.now })
		w.pass(ended)
	}
	return w.starts
}

func TestByNodeLikeNaiveTwin(t *testing.T) {
	t.Parallel()
	for kind := FCFS; kind <= ConsCompress; kind++ {
		t.Run(Policy{Kind: kind}.String(), func(t *testing.T) {
			t.Parallel()
			for range twinRounds {
				rapid.Check(t, func(t *rapid.T) {
					s := drawSnapshot(t, 1)
					s.Policy = drawPolicy(t, kind)
					var believe belief
					if rapid.Bool().Draw(t, "likely") {
						believe = drawBelief(t)
					}
					likeNaive(t, s, believe)
				})
			}
		})
	}
}

const twinRounds = 1

func likeNaive(t *rapid.T, s Snapshot, believe belief) {
	w := newTwin(s, nil, believe)
	want := w.run()
	p := Likely(s, runsBy(&s, believe))
	for i := range s.Waiting {
		got, ok := p.Waiting(i)
		if !ok {
			got.Start = -1
		}
		shares := slices.Clone(w.where[i])
		slices.SortFunc(shares, func(a, b Share) int { return cmp.Compare(a.Node, b.Node) })
		if got.Start != want[i] || fmt.Sprint(got.Shares) != fmt.Sprint(shares) {
			t.Fatalf("%+v\n%v: job %d starts at %d on %v, the twin says %d on %v", s, s.Policy, i, got.Start, got.Shares, want[i], shares)
		}
	}
}
