package jsdl

import (
	"slices"
	"strings"

	"gbroker/grid"
)

const (
	noDisk      = "disks are not counted yet"
	noNetwork   = "sites do not promise it"
	useWallTime = "give a WallTimeLimit"
	useMemory   = "ask with IndividualPhysicalMemory"
)

var resources = []child{
	{space: Core, local: "CandidateHosts", refused: "the brokers choose where a job runs"},
	{space: Core, local: "FileSystem", refused: "a job sees its sandbox only"},
	{space: Core, local: "ExclusiveExecution"},
	{space: Core, local: "OperatingSystem"},
	{space: Core, local: "CPUArchitecture"},
	{space: Core, local: "IndividualCPUSpeed", refused: "each site declares one speed, and the fastest way is chosen"},
	{space: Core, local: "IndividualCPUTime", refused: useWallTime},
	{space: Core, local: "IndividualCPUCount"},
	{space: Core, local: "IndividualNetworkBandwidth", refused: noNetwork},
	{space: Core, local: "IndividualPhysicalMemory"},
	{space: Core, local: "IndividualVirtualMemory", refused: useMemory},
	{space: Core, local: "IndividualDiskSpace", refused: noDisk},
	{space: Core, local: "TotalCPUTime", refused: useWallTime},
	{space: Core, local: "TotalCPUCount"},
	{space: Core, local: "TotalPhysicalMemory", refused: useMemory},
	{space: Core, local: "TotalVirtualMemory", refused: useMemory},
	{space: Core, local: "TotalDiskSpace", refused: noDisk},
	{space: Core, local: "TotalResourceCount"},
	{space: Own, local: "Resource", many: true, anywhere: true},
	{space: Own, local: "Property", many: true, anywhere: true},
	{space: Own, local: "Queue", anywhere: true},
}

var operatingSystem = []child{
	{space: Core, local: "OperatingSystemType"},
	{space: Core, local: "OperatingSystemVersion", refused: "sites do not tell their version"},
	{space: Core, local: "Description"},
}

var operatingSystemType = []child{
	{space: Core, local: "OperatingSystemName", needed: "write <OperatingSystemName>LINUX</OperatingSystemName>"},
}

var cpuArchitecture = []child{
	{space: Core, local: "CPUArchitectureName", needed: "write <CPUArchitectureName>x86_64</CPUArchitectureName>"},
}

// architectures are those of JSDL but "other".
var architectures = strings.Fields("sparc powerpc x86 x86_32 x86_64 parisc mips ia64 arm")

// systems are those of JSDL but "other", "Unknown" and "Not_Applicable".
var systems = strings.Fields(`MACOS ATTUNIX DGUX DECNT Tru64_UNIX OpenVMS HPUX AIX MVS OS400 OS_2 JavaVM MSDOS
	WIN3x WIN95 WIN98 WINNT WINCE NCR3000 NetWare OSF DC_OS Reliant_UNIX SCO_UnixWare SCO_OpenServer Sequent IRIX
	Solaris SunOS U6000 ASERIES TandemNSK TandemNT BS2000 LINUX Lynx XENIX VM Interactive_UNIX BSDUNIX FreeBSD
	NetBSD GNU_Hurd OS9 MACH_Kernel Inferno QNX EPOC IxWorks VxWorks MiNT BeOS HP_MPE NextStep PalmPilot Rhapsody
	Windows_2000 Dedicated OS_390 VSE TPF Windows_R_Me Caldera_Open_UNIX OpenBSD Windows_XP z_OS`)

func (p *parser) resources(e *element, w *wishes) {
	found := p.content(e, resources)
	demand := &p.document.Job.Demand
	if c := first(found["ExclusiveExecution"]); c != nil {
		demand.Exclusive, _ = p.boolean(c)
	}
	if c := first(found["OperatingSystem"]); c != nil {
		demand.System = p.system(c)
	}
	if c := first(found["CPUArchitecture"]); c != nil {
		if name := first(p.content(c, cpuArchitecture)["CPUArchitectureName"]); name != nil {
			demand.Architecture = p.oneOf(name, architectures, "write one of "+strings.Join(architectures, ", ")+", or leave it out if any will do")
		}
	}
	before := len(p.list)
	count := func(name string) *allowed {
		if c := first(found[name]); c != nil {
			return p.values(c, "a whole number", grid.MaxProcesses)
		}
		return nil
	}
	w.individual, w.total, w.resources = count("IndividualCPUCount"), count("TotalCPUCount"), count("TotalResourceCount")
	if c := first(found["IndividualPhysicalMemory"]); c != nil {
		w.memory = p.values(c, "bytes", grid.MaxMemory)
		if w.memory != nil && c.children[0].local == "UpperBoundedRange" {
			p.at(c.at, "IndividualPhysicalMemory has no lower bound: write a LowerBoundedRange with the bytes that are needed")
		}
	}
	w.broken = w.broken || len(p.list) > before
	w.named = p.named(found["Resource"])
	demand.Properties = p.properties(found["Property"])
	if c := first(found["Queue"]); c != nil {
		p.queue(c)
	}
}

func (p *parser) system(e *element) string {
	found := p.content(e, operatingSystem)
	if d := first(found["Description"]); d != nil {
		p.text(d)
	}
	kind := first(found["OperatingSystemType"])
	if kind == nil {
		return ""
	}
	name := first(p.content(kind, operatingSystemType)["OperatingSystemName"])
	if name == nil {
		return ""
	}
	return p.oneOf(name, systems, "write a name of JSDL such as LINUX, FreeBSD or MACOS, or leave it out if any system will do")
}

// oneOf reads a word of a closed list, in which case matters.
func (p *parser) oneOf(e *element, list []string, advice string) string {
	s := p.word(e)
	if slices.Contains(list, s) {
		return s
	}
	if i := slices.IndexFunc(list, func(l string) bool { return strings.EqualFold(l, s) }); i >= 0 {
		p.at(e.at, "%s is %s: write %s", e.local, quote(s), list[i])
		return ""
	}
	p.at(e.at, "%s is %s: %s", e.local, quote(s), advice)
	return ""
}

// wishes are all that a document says of how much it needs; 0 and nil are not said.
type wishes struct {
	processes, perHost, threads          int64 // threads is at least 1
	processesAt, perHostAt, threadsAt    position
	broken                               bool // one of them was refused, so that nothing follows from the others
	total, individual, resources, memory *allowed
	named                                []namedResource
}

// chunks turns wishes into pieces; nil if they contradict each other, which was told.
func (p *parser) chunks(w wishes) []grid.Chunk {
	if w.broken {
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
	if w.memory != nil {
		const most = int64(1) << 60 // of all pieces, so that sums stay far from overflow
		each := w.memory.least(1, 1)
		for i := range chunks {
			chunks[i].Memory = each
			if each > most/int64(chunks[i].Count) {
				p.at(w.memory.at, "%d pieces of %d bytes are more memory than can be counted", chunks[i].Count, each)
			}
		}
	}
	p.giveNamed(w.named, chunks)
	return chunks
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
			p.at(w.individual.at, "IndividualCPUCount is %s, but ThreadsPerProcess is %d: no node holds whole processes", w.individual, w.threads)
			return 0
		}
	}
	if w.resources != nil {
		nodes = w.resources.least(1, 1)
	}
	if w.total != nil && !w.total.has(each*nodes) {
		p.at(w.total.at, "TotalCPUCount is %s, but IndividualCPUCount %d x TotalResourceCount %d makes %d", w.total, each, nodes, each*nodes)
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
			p.at(w.individual.at, "IndividualCPUCount is %s, but ThreadsPerProcess is %d: no node holds whole processes", w.individual, w.threads)
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
			p.at(w.resources.at, "TotalResourceCount is %s, but the job has %d processes: each node takes at least one", w.resources, n)
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
		p.at(w.perHostAt, "ProcessesPerHost is %d, more than the processes of the job (%d): give NumberOfProcesses", each, n)
		return nil
	case w.individual != nil && !w.individual.has(each*w.threads):
		p.at(w.individual.at, "IndividualCPUCount is %s, but ProcessesPerHost %d with %d threads each makes %d", w.individual, each, w.threads, each*w.threads)
		return nil
	case w.resources != nil && !w.resources.has(nodes):
		p.at(w.resources.at, "TotalResourceCount is %s, but %d processes with %d on each host make %d hosts", w.resources, n, each, nodes)
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
		p.at(w.individual.at, "IndividualCPUCount %s x TotalResourceCount %s does not make the %d cores of the job", w.individual, w.resources, cores)
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
