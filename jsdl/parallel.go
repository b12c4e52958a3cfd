package jsdl

import (
	"fmt"
	"slices"
	"strings"

	"gbroker/grid"
)

// variationBase is what the URIs of all SPMD variations start with: www.ogf.org,
// unlike the namespace. The other is a mistake that was handed around.
const (
	variationBase  = "http://www.ogf.org/jsdl/2007/02/jsdl-spmd/"
	variationTypos = "http://www.ogf/org/jsdl/2007/02/jsdl-spmd/"
)

var variations = []string{"MPI", "GridMPI", "IntelMPI", "LAM-MPI", "MPICH1", "MPICH2", "MPICH-GM", "MPICH-MX",
	"MVAPICH", "MVAPICH2", "OpenMPI", "POE", "PVM"}

// parallel reads what only an SPMDApplication has.
func (p *parser) parallel(found map[string][]*element, w *wishes) {
	before := len(p.list)
	if e := first(found["NumberOfProcesses"]); e != nil {
		w.processesAt = e.at
		if !p.asManyAs(e, "actualtotalcpucount", "actualTotalCPUCount") {
			w.processes, _ = p.whole(e, "a whole number", 1, grid.MaxProcesses)
		}
	}
	if e := first(found["ProcessesPerHost"]); e != nil {
		w.perHostAt = e.at
		w.perHost, _ = p.whole(e, "a whole number", 1, grid.MaxProcesses)
	}
	if e := first(found["ThreadsPerProcess"]); e != nil {
		w.threadsAt = e.at
		if w.fill = p.asManyAs(e, "actualindividualcpucount", "actualIndividualCPUCount"); !w.fill {
			w.threads, _ = p.whole(e, "a whole number", 1, grid.MaxProcesses)
		}
	}
	w.broken = len(p.list) > before
	if e := first(found["SPMDVariation"]); e != nil {
		p.document.Job.Program.Parallel = p.variation(e)
	}
}

func (p *parser) variation(e *element) string {
	s := p.word(e)
	name, based := strings.CutPrefix(s, variationBase)
	if typo, is := strings.CutPrefix(s, variationTypos); is {
		name, based = typo, true
		p.warn(e.at, "SPMDVariation is %s: taken for %s", quote(s), variationBase+name)
	}
	if !based || !slices.Contains(variations, name) {
		p.at(e.at, "SPMDVariation is %s: write %s and one of %s", quote(s), variationBase, strings.Join(variations, ", "))
		return ""
	}
	return name
}

// asManyAs tells that a number is nil: as many as there are CPUs. right is the attribute that may
// say so besides xsi:nil, camel how some write it.
func (p *parser) asManyAs(e *element, right, camel string) bool {
	asked := false
	for i, a := range e.attributes {
		if a.space == "" && a.local == camel {
			p.warn(e.at, "%s has the attribute %s: taken for %s", e.local, camel, right)
			e.attributes[i].local, a.local = right, right
		}
		if (a.space != "" || a.local != right) && (a.space != xsiNamespace || a.local != "nil") {
			continue
		}
		yes, ok := parseBoolean(a.value)
		if !ok {
			p.at(e.at, "%s of %s is %s: give true or false", a.local, e.local, quote(a.value))
		}
		asked = asked || yes
	}
	if asked && strings.Trim(e.text, whiteSpace) != "" {
		p.at(e.at, "%s has both a number and %s or nil: one of them only", e.local, right)
	}
	if asked {
		p.text(e)
	}
	return asked
}

// describe names the processes of a job in messages.
func (w wishes) describe() string {
	if w.threads > 1 {
		return fmt.Sprintf("%d processes of %d threads make %d (line %d)", w.processes, w.threads, w.processes*w.threads, w.processesAt.line)
	}
	return fmt.Sprintf("NumberOfProcesses in line %d is %d", w.processesAt.line, w.processes)
}
