package jsdl

import (
	"slices"
	"strings"

	"gbroker/grid"
)

// architectures are those of JSDL but "other".
var architectures = strings.Fields("sparc powerpc x86 x86_32 x86_64 parisc mips ia64 arm")

// systems are those of JSDL but "other", "Unknown" and "Not_Applicable".
var systems = strings.Fields(`MACOS ATTUNIX DGUX DECNT Tru64_UNIX OpenVMS HPUX AIX MVS OS400 OS_2 JavaVM MSDOS
	WIN3x WIN95 WIN98 WINNT WINCE NCR3000 NetWare OSF DC_OS Reliant_UNIX SCO_UnixWare SCO_OpenServer Sequent IRIX
	Solaris SunOS U6000 ASERIES TandemNSK TandemNT BS2000 LINUX Lynx XENIX VM Interactive_UNIX BSDUNIX FreeBSD
	NetBSD GNU_Hurd OS9 MACH_Kernel Inferno QNX EPOC IxWorks VxWorks MiNT BeOS HP_MPE NextStep PalmPilot Rhapsody
	Windows_2000 Dedicated OS_390 VSE TPF Windows_R_Me Caldera_Open_UNIX OpenBSD Windows_XP z_OS`)

func (p *parser) resources(e *element, w *wishes) {
	found := p.content(e, "Resources")
	demand := &p.document.Job.Demand
	if c := first(found["CandidateHosts"]); c != nil {
		p.hosts(c)
	}
	if c := first(found["ExclusiveExecution"]); c != nil {
		demand.Exclusive, _ = p.boolean(c)
	}
	if c := first(found["OperatingSystem"]); c != nil {
		demand.System = p.system(c)
	}
	if c := first(found["CPUArchitecture"]); c != nil {
		if name := first(p.content(c, c.local)["CPUArchitectureName"]); name != nil {
			demand.Architecture = p.oneOf(name, architectures, "write one of "+strings.Join(architectures, ", ")+", or leave it out if any will do")
		}
	}
	p.counts(found, w)
	p.declared(found)
	w.genesis, w.cpuTime, w.totalCPUTime = first(found["WallclockTime"]), first(found["IndividualCPUTime"]), first(found["TotalCPUTime"])
	if w.arc = first(found["IndividualWallTime"]); w.arc == nil {
		w.arc = first(found["TotalWallTime"])
	}
	p.own(found, w)
}

// counts reads how many of what is counted.
func (p *parser) counts(found map[string][]*element, w *wishes) {
	before := len(p.list)
	count := func(name string) *allowed {
		if c := first(found[name]); c != nil {
			return p.values(c, "a whole number", grid.MaxProcesses)
		}
		return nil
	}
	w.individual, w.total, w.resources = count("IndividualCPUCount"), count("TotalCPUCount"), count("TotalResourceCount")
	w.memory = p.bytes(first(found["IndividualPhysicalMemory"]), grid.MaxMemory)
	w.totalMemory = p.bytes(first(found["TotalPhysicalMemory"]), maxTotalMemory)
	w.memory = p.virtual(w.memory, first(found["IndividualVirtualMemory"]), grid.MaxMemory)
	w.totalMemory = p.virtual(w.totalMemory, first(found["TotalVirtualMemory"]), maxTotalMemory)
	w.broken = w.broken || len(p.list) > before
}

// bytes reads a range of bytes of which some are asked for; nil if e is, or if it is wrong.
func (p *parser) bytes(e *element, most int64) *allowed {
	if e == nil {
		return nil
	}
	set := p.values(e, "bytes", most)
	if set != nil && !slices.ContainsFunc(e.children, func(c *element) bool { return c.local != "UpperBoundedRange" }) {
		p.at(e.at, "%s has no lower bound: write a LowerBoundedRange with the bytes that are needed", e.local)
		return nil
	}
	return set
}

// virtual is the physical memory that is asked for, or the virtual one, whichever is more: who has so much of the former
// has so much of the latter.
func (p *parser) virtual(physical *allowed, e *element, most int64) *allowed {
	set := p.bytes(e, most)
	if set == nil || physical != nil && physical.least(1, 1) >= set.least(1, 1) {
		return physical
	}
	p.warn(e.at, "%s is taken for physical memory: sites count no swap", e.local)
	return set
}

// declared reads what sites declare of their nodes besides.
func (p *parser) declared(found map[string][]*element) {
	demand := &p.document.Job.Demand
	for _, q := range []struct {
		local string
		of    grid.Quantity
		unit  string
	}{{"IndividualNetworkBandwidth", grid.Bandwidth, "bits per second"}, {"IndividualCPUSpeed", grid.ClockSpeed, "hertz"}} {
		if e := first(found[q.local]); e != nil {
			if m, ok := p.measure(e, q.of, q.unit); ok {
				demand.Measures = append(demand.Measures, m)
			}
		}
	}
	if set := p.bytes(first(found["IndividualDiskSpace"]), grid.MaxDisk); set != nil {
		demand.Disk = set.least(1, 1)
	}
	if e := first(found["TotalDiskSpace"]); e != nil {
		if set := p.bytes(e, grid.MaxDisk); set != nil {
			p.warn(e.at, "TotalDiskSpace is asked of each node: the whole job may lie on one")
			demand.Disk = max(demand.Disk, set.least(1, 1))
		}
	}
	names := map[string]int{}
	for _, e := range found["FileSystem"] {
		p.fileSystem(e, names)
	}
}

// fileSystem reads one that the sandbox stands in for.
func (p *parser) fileSystem(e *element, names map[string]int) {
	found := p.content(e, e.local)
	name, given := e.attribute("", "name")
	switch {
	case !given || name == "":
		p.at(e.at, "FileSystem has no name: write <FileSystem name=\"SCRATCH\">")
	case names[name] != 0:
		p.at(e.at, "FileSystem %s is given twice (first in line %d): once only", quote(name), names[name])
	}
	names[name] = e.at.line
	p.fileSystems = append(p.fileSystems, name)
	if c := first(found["Description"]); c != nil {
		p.text(c)
	}
	if c := first(found["FileSystemType"]); c != nil {
		if s := p.word(c); s == "normal" || s == "swap" {
			p.at(c.at, "FileSystemType is %s: a job sees its sandbox only, which is temporary", s)
		} else {
			p.oneOf(c, []string{"temporary", "spool"}, "write temporary")
		}
	}
	if set := p.bytes(first(found["DiskSpace"]), grid.MaxDisk); set != nil {
		disk := &p.document.Job.Demand.Disk
		if *disk += set.least(1, 1); *disk > grid.MaxDisk {
			p.at(e.at, "FileSystem: the job asks for %d bytes of disk: at most %d", *disk, grid.MaxDisk)
		}
	}
}

func (p *parser) hosts(e *element) {
	var names []string
	at := e.at
	for _, c := range p.content(e, e.local)["HostName"] {
		if name := p.word(c); slices.Contains(names, name) {
			p.warn(c.at, "HostName %s is given twice", quote(name))
		} else {
			names = append(names, name)
			at = c.at
		}
		if err := grid.CheckHosts(names); err != nil {
			p.at(at, "HostName: %v", err)
			return
		}
	}
	p.document.Job.Demand.Hosts = names
}

func (p *parser) system(e *element) string {
	found := p.content(e, e.local)
	if d := first(found["Description"]); d != nil {
		p.text(d)
	}
	kind := first(found["OperatingSystemType"])
	if kind == nil {
		return ""
	}
	name := first(p.content(kind, kind.local)["OperatingSystemName"])
	if name == nil {
		return ""
	}
	return p.oneOf(name, systems, "write a name of JSDL such as LINUX, FreeBSD or MACOS, or leave it out if any system will do")
}

// oneOf reads a word of a closed list; one in other case is taken with a warning.
func (p *parser) oneOf(e *element, list []string, advice string) string {
	s := p.word(e)
	if slices.Contains(list, s) {
		return s
	}
	if i := slices.IndexFunc(list, func(l string) bool { return strings.EqualFold(l, s) }); i >= 0 {
		p.warn(e.at, "%s is %s: taken for %s", e.local, quote(s), list[i])
		return list[i]
	}
	p.at(e.at, "%s is %s: %s", e.local, quote(s), advice)
	return ""
}
