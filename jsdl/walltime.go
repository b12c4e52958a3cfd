package jsdl

import (
	"gbroker/grid"
)

// wallTime decides how long the job may run. What names it is asked in this order: the element of
// ours, WallTimeLimit, those of other projects, and last the times of processors, which by the
// standard mean something else but are used so.
func (p *parser) wallTime(w wishes) {
	job := &p.document.Job
	var from *element
	for _, c := range []struct {
		e    *element
		read func(*element) int64
	}{
		{w.wallTime, p.seconds}, {w.wallTimeLimit, p.seconds}, {w.genesis, p.secondsOfRange}, {w.arc, p.secondsOfARC},
	} {
		if c.e == nil {
			continue
		}
		s := c.read(c.e)
		if from == nil {
			from = c.e
			job.Walltime = grid.Tick(s) * grid.Second
		} else if t := grid.Tick(s) * grid.Second; s > 0 && t != job.Walltime {
			p.warn(c.e.at, "%s is not what counts: that is %s in line %d", c.e.name(), from.name(), from.at.line)
		}
	}
	p.cpuTimes(w, from)
}

// cpuTimes reads IndividualCPUTime and TotalCPUTime; from is what names the wall time, or nil.
func (p *parser) cpuTimes(w wishes, from *element) {
	job := &p.document.Job
	cores := int64(job.Demand.Cores())
	if e := w.cpuTime; e != nil {
		s := p.secondsOfRange(e)
		switch {
		case s == 0:
		case from != nil:
			p.warn(e.at, "%s is not what counts: the wall time is in line %d", e.local, from.at.line)
		default:
			from = e
			job.Walltime = grid.Tick(s) * grid.Second
			p.warn(e.at, "%s is taken for the wall time, %d s: a WallTimeLimit says so", e.local, s)
		}
	}
	if w.totalCPUTime == nil || cores == 0 {
		return
	}
	set := p.values(w.totalCPUTime, "seconds", grid.MaxProcesses*int64(grid.MaxWalltime/grid.Second))
	switch walltime := int64(job.Walltime / grid.Second); {
	case set == nil:
	case from == nil:
		s := min((set.limit(grid.MaxProcesses*int64(grid.MaxWalltime/grid.Second))+cores-1)/cores, int64(grid.MaxWalltime/grid.Second))
		job.Walltime = grid.Tick(s) * grid.Second
		p.warn(w.totalCPUTime.at, "TotalCPUTime over %d cores is taken for a wall time of %d s: a WallTimeLimit says so", cores, s)
	case walltime > 0 && set.least(1, 1) > walltime*cores:
		p.at(w.totalCPUTime.at, "TotalCPUTime is %s, but %d cores in the %d s of line %d make %d", set, cores, walltime, from.at.line, walltime*cores)
	}
}

func (p *parser) seconds(e *element) int64 {
	n, _ := p.whole(e, "seconds", 1, int64(grid.MaxWalltime/grid.Second))
	return n
}

func (p *parser) secondsOfRange(e *element) int64 {
	const most = int64(grid.MaxWalltime / grid.Second)
	if set := p.values(e, "seconds", most); set != nil {
		return set.limit(most)
	}
	return 0
}

func (p *parser) secondsOfARC(e *element) int64 {
	found := p.content(e, e.local)
	if c := first(found["Min"]); c != nil {
		p.seconds(c)
	}
	if c := first(found["Max"]); c != nil {
		return p.seconds(c)
	}
	return 0
}
