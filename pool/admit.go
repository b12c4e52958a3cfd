package pool

import (
	"fmt"
	"time"

	"gbroker/grid"
)

// Refusal is why a pool does not take a job. It is an error whose words are for its user, in UTC; Words has them for another zone.
type Refusal struct {
	Cause    Cause
	Lacking  string    // what no computer does, such as "has 64 cores"
	Now      grid.Tick // when it was asked
	Deadline grid.Tick
	Earliest grid.Tick // the earliest end, with the margin of safety; [Never] where there is none
}

func (r *Refusal) Error() string { return r.Words(time.UTC) }

// Words say it with the clock of a zone.
func (r *Refusal) Words(zone *time.Location) string {
	if r.Cause != NoTime {
		return "no computer of this pool " + r.Lacking
	}
	clock := func(t grid.Tick) string {
		at, now := t.Time().In(zone), r.Now.Time().In(zone)
		if at.YearDay() == now.YearDay() && at.Year() == now.Year() {
			return at.Format("15:04")
		}
		return at.Format("2006-01-02 15:04")
	}
	if r.Deadline == 0 {
		return "no computer of this pool that could run it is foreseen to have processor left"
	}
	if r.Earliest >= Never {
		return fmt.Sprintf("no computer of this pool can make %s, nor any later time: none that could run the job is foreseen to have processor left", clock(r.Deadline))
	}
	// An end is told as the first whole minute that it makes, a deadline as the last that it leaves.
	return fmt.Sprintf("no computer of this pool can make %s; the earliest end is %s", clock(r.Deadline), clock((r.Earliest+grid.Minute-1)/grid.Minute*grid.Minute))
}

// Admit plans the jobs that wait, then one more, and tells where it would run. The error is a [*Refusal].
// Those that wait keep what they were promised: the new job gets what they leave.
func (r Rule) Admit(now grid.Tick, computers []Computer, waiting []Job, j *Job) (Place, error) {
	return r.Plan(now, computers, waiting).Admit(j)
}

// Planned is where and when jobs that wait would run.
type Planned struct {
	shelf  *shelf
	places map[int]Place // by the place of the job; of those that were planned at once, and not changed afterwards
}

// Plan plans jobs that wait, each as early as the computers come free. Who would end late is left out.
func (r Rule) Plan(now grid.Tick, computers []Computer, waiting []Job) *Planned {
	p := &Planned{shelf: newShelf(now, &r, computers), places: map[int]Place{}}
	for _, i := range r.order(now, computers, waiting) {
		if place, ok := p.shelf.find(&waiting[i], false); ok {
			p.places[i] = place
			p.Take(&waiting[i], place)
		}
	}
	return p
}

// Clone is a plan of its own with the same jobs in it.
func (p *Planned) Clone() *Planned { return &Planned{shelf: p.shelf.clone(), places: p.places} }

// Place is that of one of those that wait, by its place among them.
func (p *Planned) Place(i int) (Place, bool) {
	place, ok := p.places[i]
	return place, ok
}

// Admit tells where one more job would run, or refuses it as [Rule.Admit].
func (p *Planned) Admit(j *Job) (Place, error) {
	s := p.shelf
	if cause := whyNone(s.computers, j); cause != "" {
		return Place{}, &Refusal{Cause: cause, Lacking: j.ask(cause), Now: s.now, Deadline: j.Deadline, Earliest: Never}
	}
	place, ok := s.find(j, false)
	if ok = ok && (j.Deadline == 0 || s.inTime(j, place)); !ok {
		return Place{}, &Refusal{Cause: NoTime, Now: s.now, Deadline: j.Deadline, Earliest: s.earliest(j)}
	}
	return place, nil
}

// Earliest is the first deadline with which one more job would be admitted; [Never] where there is none.
func (p *Planned) Earliest(j *Job) grid.Tick { return p.shelf.earliest(j) }

// Take puts a job where it would run: what is asked about later comes behind it.
func (p *Planned) Take(j *Job, place Place) { p.shelf.take(place.Computer, j, place.End) }

// earliest is the first deadline that would be admitted: the earliest end, with the margin.
func (s *shelf) earliest(j *Job) grid.Tick {
	end := Never
	for i := range s.computers {
		if c := &s.computers[i]; c.Lacks(j) == "" {
			end = min(end, c.Forecast.End(s.start(i, j), j.Work*(1+s.rule.Margin)))
		}
	}
	return end
}

// whyNone is the cause for which no computer can run j: of all causes the last that some computer comes to.
func whyNone(computers []Computer, j *Job) Cause {
	rank := map[Cause]int{NoArchitecture: 1, NoSystem: 2, NoUser: 3, NoCores: 4, NoMemory: 5, NoDisk: 6, NoSpeed: 7, NoRest: 8}
	worst := NoArchitecture
	for i := range computers {
		cause := computers[i].Lacks(j)
		if cause == "" {
			return ""
		}
		if rank[cause] > rank[worst] {
			worst = cause
		}
	}
	return worst
}
