package jsdl

import (
	"fmt"

	"gbroker/grid"
)

// wishes are all that a document says of how much it needs; 0 and nil are not said.
type wishes struct {
	processes, perHost, threads       int64 // threads is at least 1
	fill                              bool  // threads are as many as make up IndividualCPUCount
	processesAt, perHostAt, threadsAt position
	broken                            bool // one of them was refused, so that nothing follows from the others
	total, individual, resources      *allowed
	memory, totalMemory               *allowed
	named                             []namedResource
	pieces                            []grid.Chunk // given as such
	piecesAt                          position
	// What names the wall time, one way or another.
	wallTime, wallTimeLimit, genesis, arc, cpuTime, totalCPUTime *element
}

// maxPieces bounds the kinds of pieces of a job.
const maxPieces = 64

// chunks turns wishes into pieces; nil if they contradict each other, which was told.
func (p *parser) chunks(w wishes) []grid.Chunk {
	if w.broken {
		return nil
	}
	if w.pieces != nil {
		p.onlyPieces(w)
		return w.pieces
	}
	if w.fill && !p.fillNodes(&w) {
		return nil
	}
	cores := p.cores(w)
	if cores == 0 {
		return nil
	}
	if cores > grid.MaxProcesses {
		p.at(w.at(), "the job asks for %d cores: at most %d", cores, grid.MaxProcesses)
		return nil
	}
	w.processes = cores / w.threads
	chunks := p.shape(w, cores)
	p.giveMemory(w, chunks)
	p.giveNamed(w.named, chunks)
	return chunks
}

// fillNodes reckons ThreadsPerProcess where that is nil.
func (p *parser) fillNodes(w *wishes) bool {
	each := max(w.perHost, 1)
	if w.individual == nil {
		p.at(w.threadsAt, "ThreadsPerProcess is nil, as many as a node has: give IndividualCPUCount")
		return false
	}
	n := w.individual.least(each, each)
	if n == 0 {
		p.at(w.threadsAt, "ThreadsPerProcess is nil, but IndividualCPUCount in line %d is %s, which %d processes do not share", w.individual.at.line, w.individual, each)
		return false
	}
	w.threads = n / each
	return true
}

// onlyPieces refuses counts beside pieces.
func (p *parser) onlyPieces(w wishes) {
	const both = "Piece says how many: leave out %s in line %d"
	for _, a := range []*allowed{w.total, w.individual, w.resources, w.memory, w.totalMemory} {
		if a != nil {
			p.at(w.piecesAt, both, a.name, a.at.line)
		}
	}
	if w.processesAt != (position{}) {
		p.at(w.piecesAt, both, "NumberOfProcesses", w.processesAt.line)
	}
	if w.perHostAt != (position{}) {
		p.at(w.piecesAt, both, "ProcessesPerHost", w.perHostAt.line)
	}
	if len(w.named) > 0 {
		p.at(w.named[0].at, "Resource beside Piece: put it into each Piece that needs it")
	}
}

// maxTotalMemory bounds that of all pieces, so that sums stay far from overflow.
const maxTotalMemory = int64(1) << 60

// giveMemory gives each piece what it needs: IndividualPhysicalMemory, or its share of the total.
func (p *parser) giveMemory(w wishes, chunks []grid.Chunk) {
	if w.memory == nil && w.totalMemory == nil || chunks == nil {
		return
	}
	var count, sum int64
	for _, c := range chunks {
		count += int64(c.Count)
	}
	var each int64
	at := position{}
	if w.memory != nil {
		each, at = w.memory.least(1, 1), w.memory.at
	} else {
		each, at = (w.totalMemory.least(1, 1)+count-1)/count, w.totalMemory.at
	}
	for i := range chunks {
		chunks[i].Memory = each
		if each > maxTotalMemory/int64(chunks[i].Count) || each > grid.MaxMemory {
			p.at(at, "%d pieces of %d bytes are more memory than can be counted", chunks[i].Count, each)
			return
		}
		sum += each * int64(chunks[i].Count)
	}
	if w.memory != nil && w.totalMemory != nil && w.totalMemory.least(1, 1) > sum {
		p.at(w.totalMemory.at, "TotalPhysicalMemory is %s, but %d pieces with the IndividualPhysicalMemory of line %d make %d", w.totalMemory, count, w.memory.at.line, sum)
	}
}

// line is where a set stands, or the position that stands in for it.
func line(a *allowed, otherwise position) int {
	if a != nil {
		return a.at.line
	}
	return otherwise.line
}

// at is the best place for a contradiction.
func (w wishes) at() position {
	switch {
	case w.processesAt != position{}:
		return w.processesAt
	case w.total != nil:
		return w.total.at
	case w.individual != nil:
		return w.individual.at
	case w.resources != nil:
		return w.resources.at
	}
	return w.threadsAt
}

// where names the place of what says how many processes there are, if anything does.
func (w wishes) where() string {
	if n := line(w.total, w.processesAt); n > 0 {
		return fmt.Sprintf(" by line %d", n)
	}
	return ""
}

// cores is how many cores the whole job gets, a multiple of the threads of a
// process; 0 if there is no such number, which was told.
func (p *parser) cores(w wishes) int64 {
	switch {
	case w.processes > 0:
		cores := w.processes * w.threads
		if w.total != nil && !w.total.has(cores) {
			p.at(w.total.at, "TotalCPUCount is %s, but %s", w.total, w.describe())
			return 0
		}
		return cores
	case w.total != nil && (w.individual == nil || w.resources == nil):
		return p.coresOfTotal(w)
	}
	each, nodes := w.threads, int64(1)
	if w.perHost > 0 && (w.resources != nil || w.individual != nil) {
		each = w.perHost * w.threads
	} else if w.individual != nil {
		each = w.individual.least(1, w.threads)
		if each == 0 {
			p.at(w.individual.at, "IndividualCPUCount is %s, but ThreadsPerProcess in line %d is %d: no node holds whole processes", w.individual, w.threadsAt.line, w.threads)
			return 0
		}
	}
	if w.resources != nil {
		nodes = w.resources.least(1, 1)
	}
	if w.total != nil && !w.total.has(each*nodes) {
		p.at(w.total.at, "TotalCPUCount is %s, but IndividualCPUCount %d (line %d) x TotalResourceCount %d (line %d) makes %d", w.total, each, line(w.individual, w.perHostAt), nodes, line(w.resources, position{}), each*nodes)
		return 0
	}
	return each * nodes
}

// coresOfTotal is the smallest TotalCPUCount that whole processes, and whole nodes, make up.
func (p *parser) coresOfTotal(w wishes) int64 {
	step, from := w.threads, w.threads*max(w.perHost, 1)
	if w.individual != nil && w.perHost == 0 {
		step = w.individual.least(1, w.threads)
		if step == 0 {
			p.at(w.individual.at, "IndividualCPUCount is %s, but ThreadsPerProcess in line %d is %d: no node holds whole processes", w.individual, w.threadsAt.line, w.threads)
			return 0
		}
	}
	if w.resources != nil {
		from = max(from, w.resources.least(1, 1)*w.threads)
	}
	cores := w.total.least(from, step)
	if cores == 0 {
		p.at(w.total.at, "TotalCPUCount is %s, which cannot be shared out: it takes a multiple of %d from %d", w.total, step, max(from, step))
	}
	return cores
}

// shape cuts the job into pieces of one node each.
func (p *parser) shape(w wishes, cores int64) []grid.Chunk {
	n, k := w.processes, w.threads
	switch {
	case w.perHost > 0:
		return p.perHost(w)
	case w.individual != nil:
		return p.wholeNodes(w, cores)
	case w.resources != nil:
		nodes := w.resources.least(1, 1)
		if nodes > n {
			p.at(w.resources.at, "TotalResourceCount is %s, but the job has %d processes%s: each node takes at least one", w.resources, n, w.where())
			return nil
		}
		return pieces(nodes-n%nodes, n/nodes, n%nodes, n/nodes+1, k)
	}
	return pieces(n, 1, 0, 0, k)
}

// perHost makes pieces of ProcessesPerHost processes; the last may be smaller.
func (p *parser) perHost(w wishes) []grid.Chunk {
	n, each := w.processes, w.perHost
	nodes := (n + each - 1) / each
	switch {
	case each > n:
		p.at(w.perHostAt, "ProcessesPerHost is %d, more than the processes of the job (%d)%s: give NumberOfProcesses", each, n, w.where())
		return nil
	case w.individual != nil && !w.individual.has(each*w.threads):
		p.at(w.individual.at, "IndividualCPUCount is %s, but ProcessesPerHost %d in line %d with %d threads each makes %d", w.individual, each, w.perHostAt.line, w.threads, each*w.threads)
		return nil
	case w.resources != nil && !w.resources.has(nodes):
		p.at(w.resources.at, "TotalResourceCount is %s, but %d processes with %d on each host (line %d) make %d hosts", w.resources, n, each, w.perHostAt.line, nodes)
		return nil
	}
	var rest int64
	if n%each > 0 {
		rest = 1
	}
	return pieces(n/each, each, rest, n%each, w.threads)
}

// wholeNodes makes pieces of the smallest IndividualCPUCount that divides the cores.
func (p *parser) wholeNodes(w wishes, cores int64) []grid.Chunk {
	for each := w.individual.least(1, w.threads); each > 0 && each <= cores; each = w.individual.least(each+1, w.threads) {
		if cores%each == 0 && (w.resources == nil || w.resources.has(cores/each)) {
			return pieces(cores/each, each/w.threads, 0, 0, w.threads)
		}
	}
	if w.resources == nil {
		p.at(w.individual.at, "IndividualCPUCount is %s, of which %d cores are no multiple", w.individual, cores)
	} else {
		p.at(w.individual.at, "IndividualCPUCount %s x TotalResourceCount %s (line %d) does not make the %d cores of the job", w.individual, w.resources, w.resources.at.line, cores)
	}
	return nil
}

// pieces is a pieces of m processes and b pieces of n, of k cores a process.
func pieces(a, m, b, n, k int64) []grid.Chunk {
	chunks := []grid.Chunk{{Count: int(a), Processes: int(m), Cores: int(m * k)}}
	if b > 0 {
		chunks = append(chunks, grid.Chunk{Count: int(b), Processes: int(n), Cores: int(n * k)})
	}
	return chunks
}
