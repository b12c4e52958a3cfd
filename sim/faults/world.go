package faults

import (
	"fmt"
	"math/rand/v2"

	"gbroker/grid"
	"gbroker/plan"
)

// world is one history: sites, the network between them, their users, and the truth.
type world struct {
	o      Options
	rates  rates
	now    grid.Tick // true time
	events queue
	seq    uint64
	wide   int  // users of jobs over several sites
	storm  bool // faults may happen
	storms grid.Tick
	sites  []*site
	byPeer map[grid.PeerID]*site
	cut    [][]int // cut[i][j]: how many partitions keep all from coming from i to j
	lag    [][]grid.Tick
	// unheard[i][j]: until when a Release from i to j was lost, or late
	unheard [][]grid.Tick
	rnd     streams
	// Crashes are likelier at aim; at groupAim in what groups go through, and at besideAim where what lies beside is saved.
	aim, groupAim, besideAim aim
	flows                    []*enactor
	truth                    truth
	result                   Result
	broken                   switched
}

// streams are the sources of chance, one for each subject, so that a history with one
// kind of fault less stays much the same in all else.
type streams struct {
	build, net, batch, disk, crash, user, file, snap, group, term, sweep, asker, part, flow, wish, groupCrash, besideCrash *rand.Rand
}

func newStreams(seed uint64) streams {
	of := func(subject uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, subject)) }
	return streams{build: of(1), net: of(2), batch: of(3), disk: of(4), crash: of(5), user: of(6), file: of(7), snap: of(8), group: of(9), term: of(10), sweep: of(11), asker: of(12), part: of(14), flow: of(15), wish: of(16), groupCrash: of(17), besideCrash: of(18)}
}

// site is one cluster: its broker, its batch system, its disk and its clock.
type site struct {
	w          *world
	i          int
	peer       grid.PeerID
	facts      grid.Site
	nodes      []plan.Node
	members    []grid.Member
	links      map[grid.PeerID]grid.Link
	clock      clock
	disk       disk
	batch      *batch
	host       host
	awake      grid.Tick                 // since when its broker has worked
	gone       bool                      // for ever
	duplicate  *site                     // a second broker under this name, as long as there is one; see duplicate.go
	copied     grid.Tick                 // when its duplicate was made
	of         *site                     // of a duplicate: the site that it stands for
	with       []bool                    // which sites are connected to the duplicate
	careful    bool                      // its journal was restored: it starts only while all who know it can be reached
	drained    bool                      // as its administrator has said
	lapses     []lapse                   // what it has lost the knowledge of
	asks       grid.Tick                 // since when its broker knows that, and asks all; 0: it does not
	relearns   grid.Tick                 // when its administrator said last that it had a duplicate: it asks all anew, of all that it has by then
	forgot     map[grid.PeerID]grid.Tick // members, by its administrator, and when he said so last
	forgetting map[grid.PeerID]bool      // that was said, and is not answered
	fenced     map[grid.PeerID]grid.Tick // of these, those that were said to be fenced off
	dropped    map[grid.PeerID]grid.Tick // until when members were last out of its neighbours' file
}

func (s *site) name() grid.SiteName { return s.facts.Name }

// after plans something in true time.
func (w *world) after(d grid.Tick, run func()) { w.push(d, event{run: run}) }

func (w *world) push(d grid.Tick, e event) {
	w.seq++
	e.at, e.seq = w.now+max(d, 0), w.seq
	w.events.push(e)
}

// until lets the world go on until the instant end, or until done holds.
func (w *world) until(end grid.Tick, done func() bool) bool {
	for len(w.events) > 0 && w.events[0].at <= end {
		e := w.events.pop()
		w.now = e.at
		if e.by == nil {
			e.run()
		} else {
			e.by.inLife(e.life, e.run)
		}
		if w.result.Violation != nil || done != nil && done() {
			return true
		}
	}
	w.now = max(w.now, end)
	return false
}

// struck decides whether a fault of kind k happens now, of which p is the probability.
// The draw is made in any case, so that what follows does not depend on what is left out.
func (w *world) struck(k Kind, r *rand.Rand, p float64) bool {
	return p > 0 && r.Float64() < p && w.happens(k)
}

// strikes is struck with the probability that the profile has for k.
func (w *world) strikes(k Kind, r *rand.Rand) bool { return w.struck(k, r, w.rates[k]) }

// happens counts a fault, unless it is one that is left out.
func (w *world) happens(k Kind) bool {
	if !w.storm || w.o.Without[k] || w.o.Most > 0 && w.result.struck >= w.o.Most {
		return false
	}
	w.result.struck++
	w.result.Faults[k]++
	return true
}

// tell writes a line of the trace.
func (w *world) tell(s *site, format string, args ...any) {
	if w.o.Trace == nil || w.result.Violation != nil {
		return
	}
	who := "-"
	if s != nil {
		who = string(s.name())
	}
	w.o.Trace(fmt.Sprintf("%10.3f %-3s %s", (w.now - genesis).Seconds(), who, fmt.Sprintf(format, args...)))
}

func (w *world) tracing() bool { return w.o.Trace != nil }

// violate notes that a property does not hold, for a job or ""; the history ends with it.
func (w *world) violate(property string, job grid.JobID, format string, args ...any) {
	if w.result.Violation == nil {
		text := fmt.Sprintf(format, args...)
		w.tell(nil, "%s VIOLATED: %s", property, text)
		w.result.Violation = &Violation{Seed: w.o.Seed, Property: property, Step: w.result.Steps, Text: text, Job: job}
	}
}

// between draws a span, evenly.
func between(r *rand.Rand, least, most grid.Tick) grid.Tick {
	return least + grid.Tick(r.Int64N(int64(most-least)+1))
}
