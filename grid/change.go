package grid

// Kind is a kind of entity that a journal keeps.
type Kind uint8

// Kinds.
const (
	KindJob         Kind = 1 + iota // *Record
	KindSite                        // *SiteState; there is one
	KindGroup                       // *Group
	KindTemplate                    // *Template
	KindResults                     // *Results
	KindReservation                 // *Reservation
	KindAllocation                  // *Allocation
	KindBudget                      // *Budget
)

// Entity is what a journal keeps one record of.
type Entity interface {
	// Entity is its kind, and what it is called among those of its kind.
	Entity() (Kind, string)
}

// Entity says that a record is that of a job.
func (r *Record) Entity() (Kind, string) { return KindJob, string(r.Job.ID) }

// Entity says that the state is that of the one site.
func (s *SiteState) Entity() (Kind, string) { return KindSite, "" }

// Change is one step's word to the journal about one entity: its record as it now is, and what
// is appended to what was said of it before. Without a record it is deleted, with all of that.
type Change struct {
	Kind      Kind
	Key       string
	Record    Entity
	Events    []Event
	Decisions []Decision
	// Undecided: the decisions of before are deleted.
	Undecided bool
	// Brief: the record of a job lacks the texts of its program, which are as the journal has them.
	Brief bool
}

// Event is one line of the history of an entity.
type Event struct {
	At    Tick
	State State // of a job
	Site  SiteName
	Epoch Epoch
	Why   string
}

// Saved is the change that saves a record.
func Saved(e Entity, events ...Event) Change {
	kind, key := e.Entity()
	return Change{Kind: kind, Key: key, Record: e, Events: events}
}

// Deleted is the change that deletes one.
func Deleted(kind Kind, key string) Change { return Change{Kind: kind, Key: key} }

// Job is the job that the change is of, and its record, nil if it is deleted; is tells whether
// it is of a job.
func (c Change) Job() (id JobID, r *Record, is bool) {
	if c.Kind != KindJob {
		return "", nil, false
	}
	r, _ = c.Record.(*Record)
	return JobID(c.Key), r, true
}

// Whole is the record that the change saves of a job, with the texts of its program, which the journal had in that of before.
func (c Change) Whole(before *Record) *Record {
	_, r, _ := c.Job()
	if r == nil || !c.Brief || before == nil {
		return r
	}
	whole := *r
	whole.Job.Program = r.Job.Program.With(before.Job.Program)
	return &whole
}

// Then is this change and a later one of the same entity in one, where it saves a record.
func (c Change) Then(next Change) Change {
	if next.Record == nil {
		return next
	}
	if next.Undecided {
		c.Decisions, c.Undecided = nil, true
	}
	c.Record, c.Brief = next.Record, next.Brief
	c.Events = append(c.Events[:len(c.Events):len(c.Events)], next.Events...)
	c.Decisions = append(c.Decisions[:len(c.Decisions):len(c.Decisions)], next.Decisions...)
	return c
}
