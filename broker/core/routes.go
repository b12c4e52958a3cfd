package core

import (
	"reflect"

	"gbroker/grid"
	"gbroker/wire"
)

// machine is one of the parts of Core: it has state of its own, and says which events, messages
// and timers it takes. What it needs of the others is the interfaces among its fields.
type machine interface {
	routes(*routes)
}

// routes say which machine takes what. Where several take the same, they do so in the order in
// which they said so.
type routes struct {
	events   map[reflect.Type][]func(Event)
	messages [][]func(grid.PeerID, wire.Message) // by kind
	jobs     [concerns]func(*job)                // timers of a job
	general  [generals - concerns]func()         // timers of no job
	accepted func(*acceptance)                   // timers of acceptances
	after    []func()                            // at the end of each step
	stopped  func(Event)                         // takes all events once there is a duplicate
}

func routesOf(machines ...machine) routes {
	r := routes{events: make(map[reflect.Type][]func(Event), 64)}
	for _, m := range machines {
		m.routes(&r)
	}
	return r
}

// onEvent sends events of a type to a machine.
func onEvent[E Event](r *routes, take func(E)) {
	t := reflect.TypeFor[E]()
	r.events[t] = append(r.events[t], func(e Event) { take(e.(E)) })
}

// onMessage sends messages of a kind to a machine.
func onMessage[M wire.Message](r *routes, take func(grid.PeerID, M)) {
	var m M
	kind := int(m.Kind())
	r.messages = append(r.messages, make([][]func(grid.PeerID, wire.Message), max(0, kind+1-len(r.messages)))...)
	r.messages[kind] = append(r.messages[kind], func(from grid.PeerID, m wire.Message) { take(from, m.(M)) })
}

// onJob sends the timers of a concern to a machine.
func onJob(r *routes, k concern, take func(*job)) { r.jobs[k] = take }

// onGeneral sends a timer that belongs to no job to a machine.
func onGeneral(r *routes, k concern, take func()) { r.general[k-concerns] = take }

// stepper steps some machines over one kernel.
type stepper struct {
	*kernel
	routes routes
}

func (s *stepper) step(now grid.Tick, ev Event) []Effect {
	s.now = max(s.now, now)
	s.out = nil
	if s.duplicate == "" {
		s.event(ev)
		if s.duplicate == "" {
			s.fire()
			s.settle()
		}
	} else {
		s.routes.stopped(ev)
	}
	return s.out
}

// settle ends a step: what this site said to itself is heard, which may bring more.
func (s *stepper) settle() {
	for again := true; again; again = len(s.inner) > 0 || len(s.wholes.stale) > 0 {
		for len(s.inner) > 0 {
			m := s.inner[0]
			s.inner = s.inner[1:]
			s.hear(s.cfg.Self, m)
		}
		for _, do := range s.routes.after {
			do()
		}
	}
}

func (s *stepper) event(ev Event) {
	if m, is := ev.(Message); is {
		s.message(m.From, m.Message)
		return
	}
	for _, take := range s.routes.events[reflect.TypeOf(ev)] {
		take(ev)
	}
}

// message hands m to its machine. Only members are heard (the overlay sees to that too).
func (s *stepper) message(from grid.PeerID, m wire.Message) {
	if s.members[from] == nil {
		return
	}
	s.hear(from, m)
}

func (s *stepper) hear(from grid.PeerID, m wire.Message) {
	if kind := int(m.Kind()); kind < len(s.routes.messages) {
		for _, take := range s.routes.messages[kind] {
			take(from, m)
		}
	}
}

// fire runs the timers that are due now.
func (s *stepper) fire() {
	for len(s.timers.heap) > 0 && s.timers.heap[0].at <= s.now {
		t := s.timers.heap.pop()
		switch {
		case !s.counts(t):
		case t.kind == acceptedDue:
			s.routes.accepted(s.accepted[t.job])
		case t.kind >= concerns:
			s.disarmGeneral(t.kind)
			s.routes.due(t.kind)
		default:
			j := s.jobs[t.job]
			j.due[t.kind] = 0
			s.routes.dueOf(j, t.kind)
		}
	}
}

// dueOf runs a timer of a job.
func (r *routes) dueOf(j *job, k concern) {
	if take := r.jobs[k]; take != nil {
		take(j)
	}
}

// due runs a timer that belongs to no job; some only end a wait.
func (r *routes) due(k concern) {
	if take := r.general[k-concerns]; take != nil {
		take()
	}
}
