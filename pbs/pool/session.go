package pool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/pbs/pool/line"

	"go.uber.org/zap"
)

// errUnknown tells a computer to begin again: to register, or to connect.
var errUnknown = errors.New("begin again")

// register keeps what a computer is.
func (s *System) register(name string, r line.Register) error {
	if err := r.Computer.Check(); err != nil {
		return err
	}
	if err := line.CheckRegistration(r.Registration); err != nil {
		return err
	}
	return s.know(name, registered{r.Computer, r.Registration})
}

// know keeps what a computer is, and foresees by that.
func (s *System) know(name string, r registered) error {
	if err := s.saveComputer(name, r); err != nil {
		return err
	}
	now := control.Now()
	forecast := s.foresee(name, &r.Computer, now)
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.computerOf(name)
	c.facts, c.registration, c.registered, c.seen = &r.Computer, r.Registration, true, time.Now()
	c.forecast, c.learned = forecast, now
	s.kick()
	return nil
}

// gauged keeps the speed that a report tells, where that was measured since.
func (s *System) gauged(name string, r line.Status) error {
	s.mu.Lock()
	c, err := s.session(name, r.Session)
	if err != nil || r.Speed <= 0 || r.Speed == c.facts.Speed {
		s.mu.Unlock()
		return err
	}
	what := registered{*c.facts, c.registration}
	s.mu.Unlock()
	what.Speed = r.Speed
	return s.know(name, what)
}

// connect begins a session: what the computer does not hold of what it was given is lost.
func (s *System) connect(name string, hello line.Connect) (line.Orders, error) {
	if err := hello.Check(); err != nil {
		return line.Orders{}, err
	}
	s.mu.Lock()
	c := s.computers[name]
	if c == nil || !c.registered {
		s.mu.Unlock()
		return line.Orders{}, fmt.Errorf("%w: this computer is not registered", errUnknown)
	}
	if hello.Registration != "" && hello.Registration != c.registration {
		s.mu.Unlock()
		return line.Orders{}, fmt.Errorf("%w: this computer was registered by another agent", errUnknown)
	}
	c.session, c.seen = hello.Session, time.Now()
	c.status, c.since = line.Status{Availability: line.Paused}, c.seen
	var lost []*entry
	for _, e := range c.held() {
		holds := slices.ContainsFunc(hello.Jobs, func(r line.Report) bool { return r.Tag == e.tag && (e.stint == "" || r.Stint == e.stint) })
		switch {
		case holds:
		case e.of != nil:
			s.uncopy(e)
		case e.stint != "":
			lost = append(lost, e)
		default:
			s.again(e)
		}
	}
	s.mu.Unlock()
	for _, e := range lost {
		s.cutOff(e, fmt.Sprintf("its computer %s has lost it", name))
	}
	s.log.Info("a computer has connected", zap.String("computer", name), zap.Int("jobs", len(hello.Jobs)))
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.orders(c), nil
}

// session is the computer of a name whose session this is; s.mu is held.
func (s *System) session(name, session string) (*computer, error) {
	c := s.computers[name]
	if c == nil || !c.registered || c.session != session || session == "" {
		return nil, fmt.Errorf("%w: this is no session of computer %s", errUnknown, name)
	}
	c.seen = time.Now()
	return c, nil
}

// hear takes a report.
func (s *System) hear(name string, r line.Status) (line.Orders, error) {
	if err := r.Check(); err != nil {
		return line.Orders{}, err
	}
	if err := s.gauged(name, r); err != nil {
		return line.Orders{}, err
	}
	lost, moved, err := s.note(name, r)
	if err != nil {
		return line.Orders{}, err
	}
	for _, e := range moved {
		s.config.Changed(e.id)
	}
	for _, e := range lost {
		s.cutOff(e, fmt.Sprintf("its computer %s has lost it", name))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.session(name, r.Session)
	if err != nil {
		return line.Orders{}, err
	}
	return s.orders(c), nil
}

// note keeps what a report says, and gives the jobs that its computer was told to start and does not hold, and those that stand still
// or go on since. A report that was written
// before the computer had a job may come after the start token: the second without it was not.
func (s *System) note(name string, r line.Status) (lost, moved []*entry, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.session(name, r.Session)
	if err != nil {
		return nil, nil, err
	}
	if c.status.Availability != r.Availability {
		c.since = c.seen
		s.kick()
	}
	for _, e := range c.held() {
		i := slices.IndexFunc(r.Jobs, func(j line.Report) bool { return j.Tag == e.tag && (e.stint == "" || e.stint == j.Stint) })
		switch {
		case i >= 0:
			if e.of == nil && (e.report.State == line.Suspended) != (r.Jobs[i].State == line.Suspended) {
				moved = append(moved, e)
			}
			e.report, e.absent = r.Jobs[i], 0
		case e.stint != "":
			if e.absent++; e.absent > 1 {
				lost = append(lost, e)
			}
		}
	}
	c.tallies.book(control.Now(), r.Seen, grid.Span(s.absent()))
	r.Jobs = nil // they are with the entries
	c.status = r
	if len(s.queue) > 0 {
		s.kick()
	}
	return lost, moved, nil
}

// orders are all that a computer is to do; s.mu is held.
func (s *System) orders(c *computer) line.Orders {
	o := line.Orders{Interval: s.config.Interval.Milliseconds(), Poll: s.config.Poll.Milliseconds(), Version: c.version, Jobs: []line.Order{}}
	for _, e := range c.held() {
		job := line.Order{Tag: e.tag, Kill: e.killed}
		if e.stint == "" && !e.killed { // said again until it asks for the token
			a := e.Assignment
			a.Limit = int64(e.limitOn(c))
			job.Assignment = &a
		}
		o.Jobs = append(o.Jobs, job)
	}
	return o
}

// await gives a computer its orders once they are newer than a version, or after the hold.
func (s *System) await(ctx context.Context, name, session string, version uint64) (line.Orders, error) {
	over := time.NewTimer(s.config.Poll)
	defer over.Stop()
	for held := true; ; {
		s.mu.Lock()
		c, err := s.session(name, session)
		if err != nil || !held || c.version != version {
			defer s.mu.Unlock()
			if err == nil && s.revoked(name) { // while it waited
				err = errStranger
			}
			if err != nil {
				return line.Orders{}, err
			}
			return s.orders(c), nil
		}
		news := c.news
		s.mu.Unlock()
		select {
		case <-news:
		case <-over.C:
			held = false
		case <-ctx.Done():
			return line.Orders{}, ctx.Err()
		}
	}
}

// disconnect ends a session; jobs that run go on.
func (s *System) disconnect(name, session string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.session(name, session)
	if err != nil {
		return err
	}
	c.session = ""
	for _, e := range c.held() {
		switch {
		case e.stint != "":
		case e.of != nil:
			s.uncopy(e)
		default:
			s.again(e)
		}
	}
	return nil
}

// refuses notes that a computer will not have a job, and gives that to another.
func (s *System) refuses(name, tag, why string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.computers[name]
	if c == nil || c.holding(tag) == nil || c.jobs[tag] != nil && c.jobs[tag].stint != "" {
		return fmt.Errorf("%w: job %s is not this computer's to refuse", grid.ErrForbidden, tag)
	}
	x := c.holding(tag)
	e := x.lead()
	if e.refusals == nil {
		e.refusals = map[string]time.Time{}
	}
	e.refusals[name] = time.Now().Add(refused)
	s.log.Info("a computer will not have a job", zap.String("computer", name), zap.Stringer("attempt", e.id), zap.String("why", why))
	if x != e {
		s.uncopy(x)
		return nil
	}
	s.again(e)
	return nil
}

// refused is for how long a computer is not asked again about a job that it would not have.
const refused = 10 * time.Minute
