package jsdl

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gbroker/grid"
)

// Print writes a job as a document in the order of the schemas: what Parse makes of it is the same
// job and the same staging. Of a job that no document gave, the Inputs and the Outputs without a
// Staging are left out, and pieces that no counts of the standard make are written as Piece.
func Print(job *grid.Job, staging []Staging) []byte {
	w := &writer{job: job, files: staging}
	w.b.WriteString("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n")
	w.shape = shapeOf(job)
	w.open("JobDefinition", `xmlns="`+Core+`"`, `xmlns:posix="`+POSIX+`"`, `xmlns:spmd="`+SPMD+`"`, `xmlns:gb="`+Own+`"`)
	w.open("JobDescription")
	w.identification()
	w.application()
	w.resources()
	for _, s := range staging {
		w.staging(s)
	}
	w.close("JobDescription")
	w.close("JobDefinition")
	return []byte(w.b.String())
}

type writer struct {
	b     strings.Builder
	job   *grid.Job
	files []Staging
	shape shape
	depth int
}

var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\"", "&quot;", "\r", "&#13;", "\n", "&#10;", "\t", "&#9;")

func (w *writer) line(s string) {
	w.b.WriteString(strings.Repeat("  ", w.depth))
	w.b.WriteString(s)
	w.b.WriteByte('\n')
}

func (w *writer) open(name string, attributes ...string) {
	w.line("<" + strings.Join(append([]string{name}, attributes...), " ") + ">")
	w.depth++
}

func (w *writer) close(name string) {
	w.depth--
	w.line("</" + name + ">")
}

// part writes an element that is left out when nothing is in it.
func (w *writer) part(name string, inside func(), attributes ...string) {
	before := w.b.Len()
	w.open(name, attributes...)
	begun := w.b.Len()
	inside()
	if w.b.Len() == begun && len(attributes) == 0 {
		s := w.b.String()[:before]
		w.b.Reset()
		w.b.WriteString(s)
		w.depth--
		return
	}
	w.close(name)
}

// text writes an element with a text, left out if that is "".
func (w *writer) text(name, value string, attributes ...string) {
	if value != "" {
		w.always(name, value, attributes...)
	}
}

func (w *writer) always(name, value string, attributes ...string) {
	w.line("<" + strings.Join(append([]string{name}, attributes...), " ") + ">" + escape.Replace(value) + "</" + name + ">")
}

func (w *writer) number(name string, n int64) {
	if n != 0 {
		w.always(name, strconv.FormatInt(n, 10))
	}
}

func (w *writer) yes(name string, is bool) {
	if is {
		w.always(name, "true")
	}
}

func attributeOf(name, value string) string { return name + `="` + escape.Replace(value) + `"` }

func (w *writer) identification() {
	w.part("JobIdentification", func() {
		w.text("JobName", w.job.Name)
		w.text("Description", w.job.About.Description)
		for _, s := range w.job.About.Annotations {
			w.always("JobAnnotation", s)
		}
		for _, s := range w.job.About.Projects {
			w.always("JobProject", s)
		}
	})
}

func (w *writer) application() {
	kind := "posix:POSIXApplication"
	if w.job.Program.Parallel != "" {
		kind = "spmd:SPMDApplication"
	}
	w.open("Application")
	w.text("ApplicationName", w.job.About.Application)
	w.text("ApplicationVersion", w.job.About.Version)
	w.open(kind)
	w.program()
	w.close(kind)
	w.close("Application")
}

func (w *writer) program() {
	p := &w.job.Program
	w.text("posix:Executable", p.Executable)
	for _, a := range p.Arguments {
		w.always("posix:Argument", a)
	}
	w.text("posix:Input", p.Input)
	w.text("posix:Output", p.Output)
	w.text("posix:Error", p.Error)
	w.text("posix:WorkingDirectory", p.Directory)
	for _, v := range p.Environment {
		w.always("posix:Environment", v.Value, attributeOf("name", v.Name))
	}
	if p.Parallel != "" {
		w.number("spmd:NumberOfProcesses", w.shape.processes)
		w.number("spmd:ProcessesPerHost", w.shape.perHost)
		w.number("spmd:ThreadsPerProcess", w.shape.threads)
		w.text("spmd:SPMDVariation", variationBase+p.Parallel)
	}
	if s := w.job.Walltime / grid.Second; s > 0 && w.job.Walltime%grid.Second == 0 {
		w.number("posix:WallTimeLimit", int64(s))
	}
	for _, r := range limitRules {
		// ThreadCountLimit means the same as ProcessCountLimit, which comes first.
		if value, has := p.Limit(limitNames[r.local]); has && r.local != "ThreadCountLimit" {
			w.always("posix:"+r.local, strconv.FormatInt(value, 10))
		}
	}
}

func (w *writer) exact(name string, n int64) {
	if n > 0 {
		w.part(name, func() { w.number("Exact", n) })
	}
}

func (w *writer) atLeast(name string, n int64) {
	if n > 0 {
		w.part(name, func() { w.number("LowerBoundedRange", n) })
	}
}

func (w *writer) resources() {
	d := &w.job.Demand
	w.part("Resources", func() {
		w.part("CandidateHosts", func() {
			for _, h := range d.Hosts {
				w.always("HostName", h)
			}
		})
		w.fileSystems()
		w.yes("ExclusiveExecution", d.Exclusive)
		w.part("OperatingSystem", func() {
			w.part("OperatingSystemType", func() { w.text("OperatingSystemName", d.System) })
		})
		w.part("CPUArchitecture", func() { w.text("CPUArchitectureName", d.Architecture) })
		w.measure("IndividualCPUSpeed", grid.ClockSpeed)
		w.exact("IndividualCPUCount", w.shape.individual)
		w.measure("IndividualNetworkBandwidth", grid.Bandwidth)
		w.atLeast("IndividualPhysicalMemory", w.shape.memory)
		w.atLeast("IndividualDiskSpace", d.Disk)
		w.exact("TotalCPUCount", w.shape.total)
		w.exact("TotalResourceCount", w.shape.resources)
		w.terms()
		w.yes("gb:DistinctNodes", d.DistinctNodes)
		for _, s := range d.Properties {
			w.always("gb:Property", s)
		}
		w.named(w.shape.named)
		for _, c := range w.shape.pieces {
			w.piece(c)
		}
		w.after()
	})
}

// fileSystems declares those that files are on.
func (w *writer) fileSystems() {
	seen := map[string]bool{"": true}
	for _, s := range w.files {
		if !seen[s.FileSystem] {
			seen[s.FileSystem] = true
			w.part("FileSystem", func() {}, attributeOf("name", s.FileSystem))
		}
	}
}

func (w *writer) named(list []grid.Resource) {
	for _, r := range list {
		w.always("gb:Resource", strconv.FormatInt(r.Amount, 10), attributeOf("name", r.Name))
	}
}

func (w *writer) piece(c grid.Chunk) {
	attributes := []string{fmt.Sprintf(`count="%d"`, c.Count), fmt.Sprintf(`processes="%d"`, c.Processes), fmt.Sprintf(`cores="%d"`, c.Cores)}
	if c.Memory > 0 {
		attributes = append(attributes, fmt.Sprintf(`memory="%d"`, c.Memory))
	}
	w.part("gb:Piece", func() { w.named(c.Resources) }, attributes...)
}

// measure writes a quantity as the terms of a range, in the order of the schema.
func (w *writer) measure(name string, of grid.Quantity) {
	i := slices.IndexFunc(w.job.Demand.Measures, func(m grid.Measure) bool { return m.Of == of })
	if i < 0 {
		return
	}
	bound := func(name string, v float64, open bool) {
		if open {
			w.always(name, number(v), `exclusiveBound="true"`)
			return
		}
		w.always(name, number(v))
	}
	w.part(name, func() {
		for _, k := range w.job.Demand.Measures[i].Within {
			w.part("Range", func() {
				bound("LowerBound", k.Low, k.LowOpen)
				if k.High == 0 {
					w.always("UpperBound", "INF")
				} else {
					bound("UpperBound", k.High, k.HighOpen)
				}
			})
		}
	})
}

// terms writes how the job is treated.
func (w *writer) terms() {
	j, t := w.job, &w.job.Terms
	if j.Walltime%grid.Second != 0 {
		w.number("gb:WallTime", int64(j.Walltime/grid.Second)+1)
	}
	w.instant("gb:NotBefore", t.NotBefore)
	w.instant("gb:Deadline", t.Deadline)
	w.number("gb:Fee", t.Fee)
	w.text("gb:Account", j.Account)
	w.yes("gb:Rerunnable", j.Rerunnable)
	w.yes("gb:Hold", t.Held)
	w.number("gb:Priority", int64(t.Priority))
	w.part("gb:Sites", func() {
		for _, s := range j.Sites.Only {
			w.always("gb:Only", string(s))
		}
		for _, s := range j.Sites.Not {
			w.always("gb:Not", string(s))
		}
		for _, s := range j.Sites.Prefer {
			w.always("gb:Prefer", string(s))
		}
	})
	w.text("gb:Queue", string(j.Queue))
	if j.Coallocation != nil {
		w.coallocation(j.Coallocation)
	}
}

func (w *writer) instant(name string, at grid.Tick) {
	if at > 0 {
		w.always(name, at.Time().Format("2006-01-02T15:04:05.999Z07:00"))
	}
}

// after writes what the job waits for, and who hears of it.
func (w *writer) after() {
	for _, d := range w.job.Terms.After {
		w.always("gb:After", d.On, attributeOf("kind", string(d.Kind)))
	}
	for _, n := range w.job.Terms.Notify {
		w.always("gb:Notify", n.To, attributeOf("when", string(n.When)))
	}
	if s := w.job.Warning; s.Signal != 0 {
		attributes := []string{fmt.Sprintf(`before="%d"`, (s.Before+grid.Second-1)/grid.Second)}
		if s.Leader {
			attributes = append(attributes, `leader="true"`)
		}
		w.always("gb:Signal", signalName(s.Signal), attributes...)
	}
	w.text("gb:Dialect", string(w.job.Program.Dialect))
	for _, b := range w.job.Bring {
		if b.Bytes == 0 {
			w.always("gb:Bring", b.Pattern)
			continue
		}
		w.always("gb:Bring", b.Pattern, attributeOf("bytes", strconv.FormatInt(b.Bytes, 10)))
	}
}

func (w *writer) staging(s Staging) {
	w.open("DataStaging")
	w.always("FileName", s.Name)
	w.text("FilesystemName", s.FileSystem)
	w.always("CreationFlag", s.CreationFlag.String())
	w.yes("DeleteOnTermination", s.DeleteOnTermination)
	where := func(name, path, uri string) {
		w.part(name, func() {
			if uri == "" && path != "" {
				uri = referenceTo(path)
			}
			w.text("URI", uri)
		})
	}
	where("Source", s.Source, s.From)
	where("Target", s.Target, s.To)
	w.close("DataStaging")
}

// shape is how many of what is asked for, in the words of the standard; or pieces, where it has none.
type shape struct {
	processes, perHost, threads, individual, total, resources, memory int64
	named                                                             []grid.Resource
	pieces                                                            []grid.Chunk
}

// shapeOf finds words of the standard that make the pieces of a job. The same reckoning that reads
// them says whether they do.
func shapeOf(j *grid.Job) shape {
	chunks := j.Demand.Chunks
	if len(chunks) == 0 {
		return shape{}
	}
	c := chunks[0]
	n, nodes := int64(j.Demand.Processes()), int64(0)
	for _, k := range chunks {
		nodes += int64(k.Count)
	}
	threads := int64(c.Cores / max(c.Processes, 1))
	tries := []shape{
		{processes: n, threads: threads},
		{processes: n, perHost: int64(c.Processes), threads: threads},
	}
	if j.Program.Parallel == "" {
		tries = []shape{{}, {total: n}, {individual: int64(c.Cores), resources: nodes}, {total: n, resources: nodes}}
	}
	for _, s := range tries {
		s.memory, s.named = c.Memory, c.Resources
		if s.threads == 1 {
			s.threads = 0
		}
		if reflect.DeepEqual(s.chunks(), chunks) {
			return s
		}
	}
	return shape{pieces: chunks}
}

// chunks are the pieces that a reader makes of the shape.
func (s shape) chunks() []grid.Chunk {
	p := &parser{reporter: &reporter{}, document: &Document{}}
	w := wishes{processes: s.processes, perHost: s.perHost, threads: max(s.threads, 1)}
	set := func(n int64) *allowed {
		if n < 1 {
			return nil
		}
		return &allowed{spans: []span{{n, n}}}
	}
	w.individual, w.total, w.resources, w.memory = set(s.individual), set(s.total), set(s.resources), set(s.memory)
	for _, r := range s.named {
		w.named = append(w.named, namedResource{Resource: r})
	}
	chunks := p.chunks(w)
	if len(p.list) > 0 {
		return nil
	}
	return chunks
}
