package pool

import (
	"context"
	"path/filepath"
	"time"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/pbs/pool/line"
	"gbroker/pbs/pool/tape"
	desks "gbroker/pool"

	"go.uber.org/zap"
)

// What is seen of a computer goes this way:
//
//	report ─► tally, slot by slot ─► tape, once no report can tell of the slot any more ─► forecast, each hour
//
// The tape of a computer is a file (package tape). While the pool does not run, or stands still, nothing is watched.

// tallies is what is seen of a computer in slots that are not on its tape yet.
type tallies struct {
	next  int64   // the first of them
	slots []tally // from that on
}

// tally is what is seen in a slot, in milliseconds.
type tally struct {
	reached, active, battery, idle float64
	mute                           bool // the computer was heard without a word of what it sees
}

// begin forgets all, and begins with a slot.
func (t *tallies) begin(slot int64) { t.next, t.slots = slot, nil }

// at is the tally of a slot that is not closed.
func (t *tallies) at(n int64) *tally {
	for int64(len(t.slots)) <= n-t.next {
		t.slots = append(t.slots, tally{})
	}
	return &t.slots[n-t.next]
}

// book adds what a computer says that it has seen up to now. It is believed of the time since its last word, within bounds.
// Agents of before say nothing.
func (t *tallies) book(now grid.Tick, seen line.Seen, most grid.Tick) {
	last := tape.Number(now)
	if last-t.next > tape.Kept || t.next > last+1 { // the clock was set
		t.begin(last)
	}
	span := min(grid.Tick(seen.Span), most)
	if span <= 0 {
		if last >= t.next {
			t.at(last).mute = true
		}
		return
	}
	active, battery := float64(seen.Active)/float64(seen.Span), float64(seen.Battery)/float64(seen.Span)
	for n := max(tape.Number(now-span), t.next); n <= last; n++ {
		part := float64(min(now, tape.Begin(n+1)) - max(now-span, tape.Begin(n)))
		s := t.at(n)
		s.reached, s.active, s.battery = s.reached+part, s.active+part*active, s.battery+part*battery
		s.idle += part * (1 - active) * seen.Idle
	}
}

// watched is how much of the part of a slot in which the pool watched tells of the computer.
func (t *tally) watched(part grid.Tick) grid.Tick {
	if t.mute {
		return min(part, grid.Tick(t.reached))
	}
	return part
}

// entry is a tally of a slot of which a part was watched.
func (t tally) entry(watched grid.Tick) tape.Entry {
	whole := float64(tape.Slot)
	reached := min(t.reached, float64(watched))
	active := min(t.active, reached)
	return tape.Entry{
		Watched: float64(watched) / whole, Reached: reached / whole, Active: active / whole, Battery: min(t.battery, reached-active) / whole,
		Idle: t.idle / max(t.reached-t.active, 1),
	}
}

// close takes out of the tallies all slots before one, no more of them than a tape keeps.
func (t *tallies) close(before int64) map[int64]tally {
	done := map[int64]tally{}
	if before-t.next > tape.Kept {
		t.begin(before - tape.Kept)
	}
	for ; t.next < before; t.next++ {
		done[t.next] = tally{}
		if len(t.slots) > 0 {
			done[t.next], t.slots = t.slots[0], t.slots[1:]
		}
	}
	return done
}

func (s *System) tapeFile(name string) string {
	return filepath.Join(s.config.Spool, tapesFolder, name)
}

const tapesFolder = "seen"

// watch keeps what computers are seen to do until ctx is done, and learns from it.
func (s *System) watch(ctx context.Context) {
	last := control.Now()
	s.mu.Lock()
	s.watching = last
	s.mu.Unlock()
	every := min(max(s.config.Interval/2, 100*time.Millisecond), 30*time.Second)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for over := false; ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			over = true
		}
		now := control.Now()
		if now-last > grid.Span(4*every+10*time.Second) || now < last { // it stood still, or the clock was set
			s.afresh(now)
		}
		last = now
		if over {
			s.keep(tape.Number(now) + 1)
			return
		}
		s.keep(tape.Number(now - grid.Span(s.absent())))
		s.learn(now)
	}
}

// afresh begins to watch at an instant: what was seen before and is on no tape is forgotten.
func (s *System) afresh(now grid.Tick) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watching = now
	for _, c := range s.computers {
		c.tallies.begin(tape.Number(now))
	}
}

// keep writes all slots before one to the tapes.
func (s *System) keep(before int64) {
	type slots struct {
		name string
		done map[int64]tally
	}
	var all []slots
	s.mu.Lock()
	since, now := s.watching, control.Now()
	for _, c := range s.computers {
		if c.registered && c.tallies.next < before {
			all = append(all, slots{c.name, c.tallies.close(before)})
		}
	}
	s.mu.Unlock()
	for _, c := range all {
		for n, t := range c.done {
			watched := t.watched(min(tape.Begin(n+1), now) - max(tape.Begin(n), since))
			if watched <= 0 {
				continue
			}
			if err := s.record(c.name, n, t.entry(watched), since > tape.Begin(n)); err != nil {
				s.log.Warn("what was seen of a computer is lost", zap.String("computer", c.name), zap.Error(err))
			}
		}
	}
}

// record writes an entry; one of a slot in which the pool began to watch adds to what was seen before.
func (s *System) record(name string, number int64, e tape.Entry, more bool) error {
	file := s.tapeFile(name)
	if more {
		if old, err := tape.Read(file, number+1); err == nil {
			e = old[number].And(e)
		}
	}
	return tape.Write(file, number, e)
}

// learn makes the forecasts anew that are of an hour that is over.
func (s *System) learn(now grid.Tick) {
	var stale []string
	s.mu.Lock()
	for name, c := range s.computers {
		if c.registered && now/grid.Hour != c.learned/grid.Hour {
			stale = append(stale, name)
		}
	}
	s.mu.Unlock()
	for _, name := range stale {
		s.mu.Lock()
		c := s.computers[name]
		if c == nil {
			s.mu.Unlock()
			continue
		}
		facts := c.facts
		s.mu.Unlock()
		f := s.foresee(name, facts, now)
		s.mu.Lock()
		if c.facts == facts {
			c.forecast, c.learned = f, now
		}
		s.mu.Unlock()
	}
}

// foresee is what is expected of a computer, by its tape.
func (s *System) foresee(name string, facts *line.Computer, now grid.Tick) desks.Forecast {
	f, _, err := foresee(s.tapeFile(name), facts, s.config.Presume, now)
	if err != nil {
		s.log.Warn("what was seen of a computer cannot be read, and counts as nothing", zap.String("computer", name), zap.Error(err))
	}
	return f
}

// foresee is what is expected of a core of a computer by a tape, and how long that tells of.
func foresee(file string, facts *line.Computer, presume float64, now grid.Tick) (f desks.Forecast, seen grid.Tick, err error) {
	before := tape.Number(now)
	entries, err := tape.Read(file, before)
	for _, e := range entries {
		seen += grid.Tick(e.Watched * float64(tape.Slot))
	}
	h := tape.History(entries, before)
	h.Speed, h.Presume, h.Offset = facts.Speed, presume, grid.Tick(facts.Policy.Offset)
	if facts.Dedicated {
		h.Presume = 1
	}
	return h.Forecast(tape.Begin(before), policyOf(facts)), seen, err
}

// policyOf is what the owner of a computer admits. The quiet time after activity is in what its agent tells of that.
func policyOf(facts *line.Computer) *desks.Policy {
	p := &desks.Policy{OnBattery: facts.Policy.Battery}
	if h := facts.Policy.Hours; h != 0 {
		p.Hours = &[7]uint32{h, h, h, h, h, h, h}
	}
	return p
}
