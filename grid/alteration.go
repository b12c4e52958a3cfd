package grid

import (
	"fmt"
	"strings"
)

// Alteration is what the user of a job wants to be otherwise than he handed it in; nil is as it is.
// Held and the instants are seen to at home, and a job keeps its place for Priority and Deadline;
// for all else it comes home, and a place is searched for it anew.
type Alteration struct {
	Held      *bool      `json:",omitempty"`
	NotBefore *Tick      `json:",omitempty"`
	Deadline  *Tick      `json:",omitempty"`
	Priority  *int       `json:",omitempty"`
	Walltime  *Tick      `json:",omitempty"`
	Processes *int       `json:",omitempty"`
	Queue     *QueueName `json:",omitempty"`
}

// HandedIn is what an alteration may replace of a job as it travels, as it was handed in.
type HandedIn struct {
	Walltime Tick
	Queue    QueueName
	Demand   Demand
}

// OfJob tells that the alteration is of the job as it travels: of its walltime, processes or queue.
func (a *Alteration) OfJob() bool {
	return a != nil && (a.Walltime != nil || a.Processes != nil || a.Queue != nil)
}

// Then is this alteration with a later one upon it.
func (a Alteration) Then(b Alteration) Alteration {
	over(&a.Held, b.Held)
	over(&a.NotBefore, b.NotBefore)
	over(&a.Deadline, b.Deadline)
	over(&a.Priority, b.Priority)
	over(&a.Walltime, b.Walltime)
	over(&a.Processes, b.Processes)
	over(&a.Queue, b.Queue)
	return a
}

func over[T any](to **T, later *T) {
	if later != nil {
		*to = later
	}
}

// With are the terms as altered.
func (t Terms) With(a Alteration) Terms {
	set(&t.Held, a.Held)
	set(&t.NotBefore, a.NotBefore)
	set(&t.Deadline, a.Deadline)
	set(&t.Priority, a.Priority)
	return t
}

func set[T any](to *T, v *T) {
	if v != nil {
		*to = *v
	}
}

// With is the job as altered, with its terms.
func (j Job) With(a Alteration) (Job, error) {
	j.Terms = j.Terms.With(a)
	if a.Walltime != nil {
		j.Walltime, j.WalltimeDefaulted = *a.Walltime, false
	}
	if a.Processes != nil {
		d, err := j.Demand.withProcesses(*a.Processes)
		if err != nil {
			return j, err
		}
		j.Demand = d
	}
	set(&j.Queue, a.Queue)
	switch {
	case j.Walltime < 1 || j.Walltime > MaxWalltime:
		return j, fmt.Errorf("a walltime of %.0f s: at least 1 ms, at most %.0f s", j.Walltime.Seconds(), MaxWalltime.Seconds())
	case j.Demand.Processes() > MaxProcesses:
		return j, fmt.Errorf("%d processes: at most %d", j.Demand.Processes(), MaxProcesses)
	}
	return j, j.Terms.Check()
}

// withProcesses is the demand with another number of processes: of pieces of one process each there
// are then more or fewer, a single piece grows or shrinks.
func (d Demand) withProcesses(n int) (Demand, error) {
	if n < 1 || n > MaxProcesses {
		return d, fmt.Errorf("%d processes: at least 1, at most %d", n, MaxProcesses)
	}
	if len(d.Chunks) != 1 {
		return d, fmt.Errorf("its document asks for %d kinds of pieces: hand in another document", len(d.Chunks))
	}
	c := d.Chunks[0]
	switch {
	case c.Processes > 0 && n%c.Processes == 0 && c.Count > 1:
		c.Count = n / c.Processes
	case c.Count == 1 && c.Processes > 0 && c.Cores%c.Processes == 0:
		c.Cores, c.Processes = c.Cores/c.Processes*n, n
	default:
		return d, fmt.Errorf("its document asks for %d pieces of %d processes: %d are no whole number of these", c.Count, c.Processes, n)
	}
	d.Chunks = []Chunk{c}
	return d, nil
}

// String is for people: what is altered.
func (a Alteration) String() string {
	var list []string
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if a.Held != nil {
		add("%s", map[bool]string{true: "held", false: "released"}[*a.Held])
	}
	if a.NotBefore != nil {
		add("not before %s", a.NotBefore.Stamp())
	}
	if a.Deadline != nil {
		add("deadline %s", a.Deadline.Stamp())
	}
	if a.Priority != nil {
		add("priority %d", *a.Priority)
	}
	if a.Walltime != nil {
		add("walltime %.0f s", a.Walltime.Seconds())
	}
	if a.Processes != nil {
		add("%d processes", *a.Processes)
	}
	if a.Queue != nil {
		add("queue %q", string(*a.Queue))
	}
	return strings.Join(list, ", ")
}
