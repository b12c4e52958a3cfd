package plan

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"gbroker/grid"
)

// Reasons of refusals for want of room.
const (
	tooFew        = "too few processors"
	tooFewOnOne   = "too few processors on one node"
	tooFewWhole   = "too few whole nodes"
	tooFewOnWhole = "too few processors on whole nodes"
	tooFewForEach = "too few nodes of its own for each piece"
	noMemory      = "not enough memory"
	notEnoughOf   = "not enough of "
)

// Refuse says why the job of a question can never start at a site, or nil. Nodes that
// are down do not count, nor does what runs or waits, nor that nothing is started now. Asked and Available are decimal
// numbers (cores, bytes of memory, seconds of a limit, or amounts of a resource) or
// words (an architecture, names of properties and queues).
func Refuse(s Snapshot, q Question) *grid.Refusal {
	g := newGround(&s)
	q.Queue = cmp.Or(q.Queue, g.standard)
	formed, none := g.shapes.form(g.nodes, q.Demand)
	if none != nil {
		return none
	}
	q.Demand = formed
	var shop workshop
	w := shop.work(g, &q.Demand, q.Limit, g.class(q.Queue, &q.Demand, false))
	return g.refuse(&w, &q, newPlacer(g))
}

func (g *ground) refuse(w *work, q *Question, l *placer) *grid.Refusal {
	if r := g.refuseQueue(q.Queue, q.Limit); r != nil {
		return r
	}
	if len(w.pieces) == 0 {
		return &grid.Refusal{Kind: grid.Permanent, Reason: "no processors asked for", Asked: "0"}
	}
	if l.onEmptySite(w) {
		return nil
	}
	if r := g.refuseKind(w, &q.Demand, q.Queue); r != nil {
		return r
	}
	return g.refuseSize(w, &q.Demand, l)
}

// withinQueue tells whether there is a queue for a limit.
func (g *ground) withinQueue(name grid.QueueName, limit grid.Tick) bool {
	q := g.queue(name)
	return name == "" || q != nil && (q.Limit <= 0 || limit <= q.Limit)
}

func (g *ground) refuseQueue(name grid.QueueName, limit grid.Tick) *grid.Refusal {
	if g.withinQueue(name, limit) {
		return nil
	}
	if q := g.queue(name); q != nil {
		return &grid.Refusal{Kind: grid.Permanent, Reason: "longer than the queue's limit", Asked: seconds(limit), Available: seconds(q.Limit)}
	}
	names := make([]string, len(g.queues))
	for i := range g.queues {
		names[i] = string(g.queues[i].Name)
	}
	return &grid.Refusal{Kind: grid.Permanent, Reason: "no such queue", Asked: string(name), Available: strings.Join(names, " ")}
}

// refuseNow says why no more job of a queue is started, as long as nobody changes that.
func (g *ground) refuseNow(queue grid.QueueName) *grid.Refusal {
	if g.stopped {
		return &grid.Refusal{Kind: grid.Temporary, Reason: "it starts no jobs now: " + g.why}
	}
	if q := g.queue(queue); q != nil && (q.Stopped || q.Closed) {
		return &grid.Refusal{Kind: grid.Temporary, Reason: "its queue " + string(q.Name) + " is closed now: " + q.Why}
	}
	return nil
}

func seconds(t grid.Tick) string { return strconv.FormatFloat(t.Seconds(), 'f', -1, 64) + " s" }

// refuseKind says what kind of node is missing: one that is up, and of the queue, and
// of the architecture, the system and the properties.
func (g *ground) refuseKind(w *work, d *grid.Demand, queue grid.QueueName) *grid.Refusal {
	if w.class.nodes.next(0) >= 0 {
		return nil
	}
	in := g.class(queue, &grid.Demand{}, false).nodes
	var arch, system bool
	for n := in.next(0); n >= 0; n = in.next(n + 1) {
		rightArch := d.Architecture == "" || g.architecture(n) == d.Architecture
		arch = arch || rightArch
		system = system || rightArch && (d.System == "" || g.system(n) == d.System)
	}
	switch {
	case len(g.nodes) == 0 && g.shapes.Changing: // some may come
		return &grid.Refusal{Kind: grid.Temporary, Reason: g.shapes.None}
	case in.next(0) < 0:
		return lack(tooFew, w.cores, 0)
	case !arch:
		return &grid.Refusal{Kind: grid.Permanent, Reason: "wrong architecture", Asked: d.Architecture, Available: g.words(in, g.architecture)}
	case !system:
		return &grid.Refusal{Kind: grid.Permanent, Reason: "wrong operating system", Asked: d.System, Available: g.words(in, g.system)}
	}
	if r := g.refuseDeclared(d); r != nil {
		return r
	}
	if len(d.Hosts) > 0 && !slices.ContainsFunc(g.nodes, func(n Node) bool { return slices.ContainsFunc(d.Hosts, n.Called) }) {
		return &grid.Refusal{Kind: grid.Permanent, Reason: "no node of that name", Asked: strings.Join(d.Hosts[:min(len(d.Hosts), 2)], " "), Available: "0"}
	}
	return &grid.Refusal{Kind: grid.Permanent, Reason: "no node with these properties", Asked: strings.Join(d.Properties, " "), Available: "0"}
}

// refuseDeclared says what the site does not declare of its nodes.
func (g *ground) refuseDeclared(d *grid.Demand) *grid.Refusal {
	each := &g.site.Each
	if d.Disk > each.Disk {
		return lack("not enough disk on its nodes", d.Disk, each.Disk)
	}
	for _, m := range d.Measures {
		if v := each.Value(m.Of); !m.Holds(v) {
			r := &grid.Refusal{Kind: grid.Permanent, Reason: "its nodes have another " + string(m.Of), Asked: m.String(), Available: strconv.FormatFloat(v, 'g', -1, 64)}
			if v == 0 {
				r.Reason, r.Available = "it does not declare the "+string(m.Of)+" of its nodes", ""
			}
			return r
		}
	}
	return nil
}

// words are the different words of nodes, as many as a reader bears.
func (g *ground) words(nodes set, of func(int) string) string {
	var all []string
	for n := nodes.next(0); n >= 0 && len(all) < 8; n = nodes.next(n + 1) {
		if w := of(n); !contains(all, w) {
			all = append(all, w)
		}
	}
	return strings.Join(all, " ")
}

func contains(all []string, s string) bool {
	for _, a := range all {
		if a == s {
			return true
		}
	}
	return false
}

func lack(reason string, asked, available int64) *grid.Refusal {
	return &grid.Refusal{
		Kind: grid.Permanent, Reason: reason,
		Asked: strconv.FormatInt(asked, 10), Available: strconv.FormatInt(available, 10),
	}
}

// refuseSize says what there is too little of on the nodes that may be used: in sum,
// then for one piece on one node, then for all pieces together. Where each piece has room
// by itself, several sites may have what is asked for together.
func (g *ground) refuseSize(w *work, d *grid.Demand, l *placer) *grid.Refusal {
	if r := g.refuseAbsent(d); r != nil {
		return r
	}
	single := g.refuseSingle(w)
	r := cmp.Or(g.refuseSum(w), single)
	if r == nil {
		r = g.refusePacking(w, l)
	}
	if r != nil {
		r.TooWide = single == nil
	}
	return r
}

// refuseSum says what there is too little of in sum.
func (g *ground) refuseSum(w *work) *grid.Refusal {
	var has, nodes int64
	for n := w.class.nodes.next(0); n >= 0; n = w.class.nodes.next(n + 1) {
		has += g.of(n)[0]
		nodes++
	}
	switch {
	case w.whole && w.apart && w.count() > nodes:
		return lack(tooFewWhole, w.count(), nodes)
	case w.cores > has:
		return lack(tooFew, w.cores, has)
	}
	return nil
}

// refuseSingle says why some piece has no room by itself.
func (g *ground) refuseSingle(w *work) *grid.Refusal {
	for i := range w.pieces {
		if r := g.refusePiece(w, &w.pieces[i]); r != nil {
			return r
		}
	}
	return nil
}

// sum is what all pieces ask of one resource, within bounds.
func (w *work) sum(r int) int64 {
	var sum int64
	for _, p := range w.pieces {
		sum = min(sum+min(int64(p.count), 1<<20)*min(p.need[r], muchAsked), unlimited)
	}
	return sum
}

// count is how many pieces there are.
func (w *work) count() (n int64) {
	for _, p := range w.pieces {
		n = min(n+int64(p.count), muchAsked)
	}
	return n
}

// refuseAbsent names a resource that no node has.
func (g *ground) refuseAbsent(d *grid.Demand) *grid.Refusal {
	for _, c := range d.Chunks {
		for _, r := range c.Resources {
			if c.Count > 0 && r.Amount > 0 && !contains(g.named, r.Name) {
				return lack(notEnoughOf+r.Name, min(r.Amount, muchAsked)*min(int64(c.Count), 1<<20), 0)
			}
		}
	}
	return nil
}

func (g *ground) shortOf(r int) string {
	switch {
	case r == 0:
		return tooFew
	case r == g.memory:
		return noMemory
	}
	return notEnoughOf + g.named[r-(g.width-len(g.named))]
}

// refusePiece says why no node can hold one piece: the first resource that no node
// has enough of, among those with enough of what comes before.
func (g *ground) refusePiece(w *work, p *piece) *grid.Refusal {
	for r := range g.width {
		var most int64
		for n := w.class.nodes.next(0); n >= 0; n = w.class.nodes.next(n + 1) {
			if fit(p.need[:r], g.of(n), 1) == 1 {
				most = max(most, g.of(n)[r])
			}
		}
		if p.need[r] <= most {
			continue
		}
		if r == 0 {
			return lack(tooFewOnOne, p.need[0], most)
		}
		return lack(g.shortOf(r), p.need[r], most)
	}
	return nil
}

// refusePacking says why pieces that fit one by one do not fit together. The numbers
// count what was asked and what of it could be placed, of the first resource because
// of which, with those before it, they do not.
func (g *ground) refusePacking(w *work, l *placer) *grid.Refusal {
	got := make([]int64, g.width)
	for i := range l.parts {
		for r := range got {
			got[r] += l.amounts[i*g.width+r]
		}
	}
	if w.whole && !w.apart {
		return lack(tooFewOnWhole, w.cores, got[0])
	}
	if w.whole {
		return lack(tooFewWhole, w.count(), int64(len(l.parts)))
	}
	if w.apart {
		return lack(tooFewForEach, w.count(), int64(len(l.parts)))
	}
	slim := *w
	for r := range g.width {
		slim.pieces = make([]piece, len(w.pieces))
		for i, p := range w.pieces {
			p.need = append(append([]int64(nil), p.need[:r+1]...), make([]int64, g.width-r-1)...)
			slim.pieces[i] = p
		}
		switch fits := l.onEmptySite(&slim); {
		case !fits && r == 0:
			return lack(tooFewOnOne, w.cores, got[0])
		case !fits:
			return lack(g.shortOf(r), w.sum(r), got[r])
		}
	}
	return nil // not reached: with all resources it does not fit
}
