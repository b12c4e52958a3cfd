package core

import (
	"gbroker/grid"
	"gbroker/wire"
)

// Wish is what a user asks of a job or a group of another home.
type Wish struct {
	Job           grid.JobID
	Group         grid.GroupID // instead of Job
	User          string
	Administrator bool
	Ask           wire.Wish
	Alter         grid.Alteration // of WishAlter
	Key           string          // of WishResubmit
	After, Limit  int             // of a group: up to Limit of its jobs after that number
}

// Forward passes a wish on to a peer. Its answer has what that one has found.
type Forward struct {
	Token Token
	To    grid.PeerID
	Wish  Wish
}

// Serve does what a user of another broker wishes, who may. It is answered by Served; the wish may come again
// meanwhile, and after it.
type Serve struct {
	From   grid.PeerID
	Number uint64
	Wish   Wish
}

// Served answers Serve.
type Served struct {
	From   grid.PeerID
	Number uint64
	Found  Found
	Err    error // wraps a kind of grid
}

// Found is what is found of a job, or of a group, by who is asked for it.
type Found struct {
	Record    grid.Record
	Certain   bool // nothing that an alteration has replaced can start any more
	Group     grid.Group
	Counts    grid.Counts
	Jobs      []grid.Record // a page of the group
	Next      int           // more of its jobs follow after that number; 0 is the end
	Events    []grid.Event
	Decisions []grid.Decision
}

func (Forward) event() {}
func (Served) event()  {}
func (Serve) effect()  {}

func (e Forward) token() Token { return e.Token }

// name is what the wish is about, for people.
func (w *Wish) name() string {
	if w.Group != "" {
		return "the group " + string(w.Group)
	}
	return "job " + string(w.Job)
}

// site is the home of it by name.
func (w *Wish) site() grid.SiteName {
	if w.Group != "" {
		return w.Group.Site()
	}
	return w.Job.Site()
}

// old tells of what brokers of all versions know; see [wire.FeatureWishes].
func (w *Wish) old() bool { return w.Group == "" && w.Ask <= wire.WishCancel }

// changes tells of what does not only tell.
func (w *Wish) changes() bool {
	switch w.Ask {
	case wire.WishStatus, wire.WishHistory, wire.WishDecisions:
		return false
	}
	return true
}

// request is the wish as it travels now.
func (c *kernel) request(p passed) wire.Request {
	w := &p.wish
	m := wire.Request{
		Number: p.number, Echo: p.echo, Job: w.Job, Group: w.Group, User: w.User, Administrator: w.Administrator, Wish: w.Ask,
		Key: w.Key, After: w.After, Limit: w.Limit,
	}
	if w.Ask == wire.WishAlter {
		in := func(t *grid.Tick) wire.In {
			if t == nil {
				return wire.In{}
			}
			return wire.In{Span: *t - c.now, Known: true}
		}
		a := &w.Alter
		m.Alter = &wire.Alteration{
			Held: a.Held, NotBefore: in(a.NotBefore), Deadline: in(a.Deadline), Priority: a.Priority,
			Walltime: a.Walltime, Processes: a.Processes, Queue: a.Queue,
		}
	}
	return m
}

// wishOf is the wish that has come.
func (c *kernel) wishOf(m wire.Request) Wish {
	w := Wish{
		Job: m.Job, Group: m.Group, User: m.User, Administrator: m.Administrator, Ask: m.Wish,
		Key: m.Key, After: m.After, Limit: m.Limit,
	}
	if a := m.Alter; a != nil {
		at := func(in wire.In) *grid.Tick {
			if !in.Known {
				return nil
			}
			t := c.until(in)
			return &t
		}
		w.Alter = grid.Alteration{
			Held: a.Held, NotBefore: at(a.NotBefore), Deadline: at(a.Deadline), Priority: a.Priority,
			Walltime: a.Walltime, Processes: a.Processes, Queue: a.Queue,
		}
	}
	return w
}
