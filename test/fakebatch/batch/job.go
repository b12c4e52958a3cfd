package batch

import (
	"strings"
	"syscall"
	"time"
)

// States of a job.
const (
	Queued  = 'Q'
	Held    = 'H'
	Waiting = 'W' // until its time
	Running = 'R'
	Exiting = 'E'
	Over    = 'C' // the faces say it in their own letter
)

// Job is one job.
type Job struct {
	Number  int
	ID      string // 3.pbs1
	Name    string
	User    string
	Queue   string
	State   byte
	Holds   string // letters of u, o, s
	Account string
	Script  []byte
	Args    []string // the command's
	Work    string   // where the command was called
	Start   string   // where the script starts; "" is the user's home
	Home    string
	Out     string
	Err     string
	Join    string // oe, eo or n
	Environ []string
	// Variables are the job's own, as NAME=VALUE.
	Variables   []string
	Resources   []Value // as asked, in order
	Chunks      []Chunk
	Scatter     bool // no two chunks on one node
	Exclusive   bool // whole nodes
	Wall        time.Duration
	Rerun       bool
	Priority    int
	Mail        string
	Keep        string
	Shell       string
	Depend      string
	Extra       string // TORQUE's -W x=
	After       time.Time
	Reservation string // the reservation that it is bound to

	Created, Eligible, Modified time.Time
	Started, Finished           time.Time
	Parts                       []Part
	Session                     int
	Starts                      int
	Exit                        *int
	Why                         Why
	Lost                        bool   // its processes went with a node, and the server does not know yet
	By                          string // who ended it
	Comment                     string
	Blocked                     string // Maui does not consider it: BatchHold, Deferred
	CPU                         time.Duration
	Memory                      int64 // KiB
	// Earliest is the start that the last cycle gave it; zero is none.
	Earliest time.Time
	// Capped is one that waits because its user has as many running as may run.
	Capped bool
	// Suspended is one that runs, is stopped, and holds no cores.
	Suspended bool

	stop chan Why
}

// Why is how a job ended.
type Why uint8

// Reasons.
const (
	Itself Why = iota
	Deleted
	OverWall
	Rerunning
	NodeLost
	Dependency
)

// Value is one resource, as NAME=VALUE.
type Value struct{ Name, Value string }

// Chunk is a part of a request that lies on one node, Count times.
type Chunk struct {
	Count, Cores int
	Lines        int // in the nodes' file
	Memory       int64
	Node         string
	Properties   []string
}

// Part is what a job has on a node.
type Part struct {
	Node   string
	Cores  []int
	Lines  int
	Memory int64
}

// Waits reports that the job has not started, or is to start again.
func (j *Job) Waits() bool { return j.State == Queued || j.State == Held || j.State == Waiting }

// Runs reports that the job holds nodes.
func (j *Job) Runs() bool { return j.State == Running || j.State == Exiting }

// Ended reports that it is history.
func (j *Job) Ended() bool { return j.State == Over }

// Cores that the job asks for, in all.
func (j *Job) Cores() int {
	n := 0
	for _, c := range j.Chunks {
		n += c.Count * c.Cores
	}
	return n
}

// Resource is the value of a resource that was asked for.
func (j *Job) Resource(name string) string {
	for _, v := range j.Resources {
		if v.Name == name {
			return v.Value
		}
	}
	return ""
}

// SetResource changes or adds one.
func (j *Job) SetResource(name, value string) {
	for i := range j.Resources {
		if j.Resources[i].Name == name {
			j.Resources[i].Value = value
			return
		}
	}
	j.Resources = append(j.Resources, Value{name, value})
}

// Settle sets the state of a job that waits, by its holds and times.
func (j *Job) Settle(now time.Time) {
	if !j.Waits() {
		return
	}
	before := j.State
	switch {
	case j.Holds != "":
		j.State = Held
	case j.After.After(now):
		j.State = Waiting
	default:
		j.State = Queued
		if j.Eligible.IsZero() || before == Held {
			j.Eligible = now
		}
	}
	if before != j.State {
		j.Modified = now
	}
}

// Hold adds holds; Release takes them away. They tell whether a hold was there.
func (j *Job) Hold(letters string, now time.Time) {
	for _, l := range "uos" {
		if strings.ContainsRune(letters, l) && !strings.ContainsRune(j.Holds, l) {
			j.Holds += string(l)
		}
	}
	j.Modified = now
	j.Settle(now)
}

// Release takes holds away.
func (j *Job) Release(letters string, now time.Time) bool {
	had := strings.ContainsAny(j.Holds, letters)
	j.Holds = strings.Map(func(r rune) rune {
		if strings.ContainsRune(letters, r) {
			return -1
		}
		return r
	}, j.Holds)
	j.Modified = now
	j.Settle(now)
	return had
}

// HoldWord is Hold_Types.
func (j *Job) HoldWord() string {
	if j.Holds == "" {
		return "n"
	}
	return j.Holds
}

// Used is the wall time that the job has run, by now.
func (j *Job) Used(now time.Time) time.Duration {
	switch {
	case j.Started.IsZero():
		return 0
	case !j.Finished.IsZero():
		return j.Finished.Sub(j.Started)
	}
	return now.Sub(j.Started)
}

func (j *Job) on(node string) bool {
	for _, p := range j.Parts {
		if p.Node == node {
			return true
		}
	}
	return false
}

// Submit takes a job into the queue; its number and identifier are set here.
func (s *System) Submit(j *Job, now time.Time) {
	j.Number = s.Number()
	j.ID = s.ID(j.Number)
	j.Created, j.Modified = now, now
	j.State = Queued
	j.stop = make(chan Why, 4)
	s.Jobs = append(s.Jobs, j)
	j.Settle(now)
	s.asked = true
	s.Wake()
}

// Delete ends a job: at once where it waits, by signals where it runs.
func (s *System) Delete(j *Job, by string, now time.Time) {
	j.By = by
	switch {
	case j.Waits():
		s.over(j, Deleted, nil, now)
	case j.Runs():
		if j.Suspended {
			j.Suspended = false
			signal(j.Session, syscall.SIGCONT) // else it would not hear
		}
		j.tell(Deleted)
	}
	s.Wake()
}

// Suspend stops the processes of a running job, which gives its cores back.
func (s *System) Suspend(j *Job) {
	j.Suspended = true
	signal(j.Session, syscall.SIGSTOP)
	s.Wake()
}

// Resume lets it go on, if its cores are free; false is that they are not.
func (s *System) Resume(j *Job) bool {
	for _, p := range j.Parts {
		n := s.Node(p.Node)
		if n == nil || s.UseOn(p.Node)+len(p.Cores) > n.Cores {
			return false
		}
	}
	j.Suspended = false
	s.take(j.Parts)
	signal(j.Session, syscall.SIGCONT)
	return true
}

// Requeue stops a running job and puts it back.
func (s *System) Requeue(j *Job) { j.tell(Rerunning) }

func (j *Job) tell(why Why) {
	select {
	case j.stop <- why:
	default: // it is being stopped already
	}
}

// Lose forgets a job at once, as a server that lost its files; its processes go on.
func (s *System) Lose(id string) {
	for i, j := range s.Jobs {
		if j.ID == id {
			s.Jobs = append(s.Jobs[:i], s.Jobs[i+1:]...)
			return
		}
	}
}

// Drop takes an ended job out of the history.
func (s *System) Drop(j *Job) {
	if j.Ended() {
		s.Lose(j.ID)
	}
}

// over makes a job history.
func (s *System) over(j *Job, why Why, exit *int, now time.Time) {
	j.State, j.Why, j.Exit = Over, why, exit
	j.Finished, j.Modified = now, now
	j.Earliest = time.Time{}
}

// releaseDependents lets the jobs go on that waited for others to end.
func (s *System) releaseDependents(now time.Time) {
	for _, j := range s.Jobs {
		kind, id, ok := strings.Cut(j.Depend, ":")
		if !ok || !j.Waits() {
			continue
		}
		other := s.Job(id)
		if other != nil && !other.Ended() {
			continue
		}
		good := other != nil && other.Exit != nil && *other.Exit == 0
		if kind == "afterok" && !good || kind == "afternotok" && good {
			s.over(j, Dependency, nil, now)
			continue
		}
		j.Depend = ""
		j.Release("s", now)
	}
}
