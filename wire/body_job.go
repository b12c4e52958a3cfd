package wire

import (
	"fmt"
	"path"
	"strings"

	"gbroker/grid"
)

// The bodies in this file are hashed by JobDigest: fields are only ever appended,
// and every one is left out when zero.

type jobBody struct {
	ID         string       `msgpack:"id,omitempty"`
	Name       string       `msgpack:"n,omitempty"`
	Home       string       `msgpack:"h,omitempty"`
	UserHome   string       `msgpack:"uh,omitempty"`
	UserName   string       `msgpack:"un,omitempty"`
	Rerunnable bool         `msgpack:"r,omitempty"`
	Program    programBody  `msgpack:"p,omitempty"`
	Demand     demandBody   `msgpack:"d,omitempty"`
	Walltime   int64        `msgpack:"w,omitempty"`
	Defaulted  bool         `msgpack:"wd,omitempty"`
	Queue      string       `msgpack:"q,omitempty"`
	Inputs     []fileBody   `msgpack:"f,omitempty"`
	Outputs    []outputBody `msgpack:"o,omitempty"`
	Account    string       `msgpack:"ac,omitempty"`
	Sites      *choiceBody  `msgpack:"si,omitempty"`
	Warning    *warningBody `msgpack:"wn,omitempty"`
	Sources    []sourceBody `msgpack:"sr,omitempty"`
	Reserved   string       `msgpack:"rv,omitempty"`
	// About is no part of the digest: a broker without it may take the job.
	About *aboutBody  `msgpack:"ab,omitempty"`
	Part  *partBody   `msgpack:"pt,omitempty"`
	Bring []bringBody `msgpack:"br,omitempty"`
	// Sharing is no part of the digest either.
	Sharing *sharingBody `msgpack:"sh,omitempty"`
	// Several is no part of the digest either.
	Several *severalBody `msgpack:"sv,omitempty"`
}

func fromJob(j grid.Job) jobBody {
	return jobBody{
		ID: string(j.ID), Name: j.Name, Home: string(j.Home),
		UserHome: string(j.User.Home), UserName: j.User.Name,
		Rerunnable: j.Rerunnable,
		Program:    fromProgram(j.Program),
		Demand:     fromDemand(j.Demand),
		Walltime:   int64(j.Walltime), Defaulted: j.WalltimeDefaulted,
		Queue:   string(j.Queue),
		Inputs:  each(j.Inputs, fromFile),
		Outputs: each(j.Outputs, fromOutput),
		Account: j.Account, Sites: fromChoice(j.Sites), Warning: fromWarning(j.Warning),
		Sources: each(j.Sources, fromSource), About: fromAbout(j.About), Reserved: string(j.Reservation), Part: fromPart(j.Part), Bring: each(j.Bring, fromBring), Sharing: fromSharing(j.Sharing),
		Several: fromSeveral(j.Coallocation),
	}
}

func (b jobBody) job(c *check) grid.Job {
	user := grid.User{Home: c.peer("user.home", b.UserHome), Name: c.word("user.name", b.UserName, MaxUser)}
	if user.Name == "" {
		c.fail("user.name", "it is empty")
	}
	j := grid.Job{
		ID:         c.jobID("id", b.ID),
		Name:       c.word("name", b.Name, grid.MaxText),
		Home:       c.peer("home", b.Home),
		User:       user,
		Rerunnable: b.Rerunnable,
		Program:    nested(c, "program", b.Program.program),
		Demand:     nested(c, "demand", b.Demand.demand),
		Walltime:   c.walltime("walltime", b.Walltime), WalltimeDefaulted: b.Defaulted,
		Queue:   c.queue("queue", b.Queue),
		Inputs:  c.manifest("inputs", b.Inputs),
		Outputs: list(c, "outputs", b.Outputs, grid.MaxFiles, outputBody.output),
		Account: b.Account, Sites: b.Sites.choice(), Warning: b.Warning.warning(),
		Sources: list(c, "sources", b.Sources, grid.MaxSources, sourceBody.source),
		About:   b.About.about(), Reservation: c.optionalReservation("reservation", b.Reserved),
		Part: nested(c, "part", b.Part.part), Bring: list(c, "bring", b.Bring, grid.MaxBring, bringBody.bring),
		Sharing: nested(c, "sharing", b.Sharing.sharing), Coallocation: nested(c, "coallocation", b.Several.coallocation),
	}
	c.valid("account", grid.CheckAccount(j.Account))
	c.valid("sites", j.Sites.Check())
	c.valid("warning", j.Warning.Check())
	c.valid("about", j.About.Check())
	return j
}

func (c *check) walltime(name string, v int64) grid.Tick {
	return grid.Tick(c.between(name, v, 1, int64(grid.MaxWalltime)))
}

type programBody struct {
	Executable  string         `msgpack:"x,omitempty"`
	Arguments   []string       `msgpack:"a,omitempty"`
	Input       string         `msgpack:"i,omitempty"`
	Output      string         `msgpack:"o,omitempty"`
	Error       string         `msgpack:"e,omitempty"`
	Directory   string         `msgpack:"d,omitempty"`
	Environment []variableBody `msgpack:"v,omitempty"`
	Parallel    string         `msgpack:"p,omitempty"`
	MemoryLimit int64          `msgpack:"m,omitempty"` // the limit of this name; 0 is none
	Limits      []limitBody    `msgpack:"l,omitempty"` // the others
	Dialect     string         `msgpack:"dl,omitempty"`
}

func fromProgram(p grid.Program) programBody {
	memory, limits := fromLimits(p)
	return programBody{
		p.Executable, p.Arguments, p.Input, p.Output, p.Error, p.Directory,
		each(p.Environment, fromVariable), p.Parallel, memory, limits, string(p.Dialect),
	}
}

func (b programBody) program(c *check) grid.Program {
	b.checkTotal(c)
	p := grid.Program{
		Executable: b.Executable,
		Arguments: list(c, "arguments", b.Arguments, grid.MaxArguments, func(s string, c *check) string {
			return c.text("value", s, grid.MaxText)
		}),
		Directory:   c.within("directory", "", b.Directory),
		Input:       c.within("input", b.Directory, b.Input),
		Output:      c.within("output", b.Directory, b.Output),
		Error:       c.within("error", b.Directory, b.Error),
		Environment: list(c, "environment", b.Environment, grid.MaxArguments, variableBody.variable),
		Parallel:    c.word("parallel", b.Parallel, MaxWord),
		Dialect:     grid.Dialect(b.Dialect),
		Limits:      b.limits(c),
	}
	c.valid("dialect", p.Dialect.Check())
	switch {
	case b.Executable == "":
		c.fail("executable", "it is empty")
	case path.IsAbs(b.Executable):
		c.text("executable", b.Executable, grid.MaxPath)
	default:
		c.within("executable", b.Directory, b.Executable)
	}
	return p
}

// checkTotal bounds what the program gets as text altogether.
func (b programBody) checkTotal(c *check) {
	n := 0
	for _, a := range b.Arguments {
		n += len(a) + 1
	}
	for _, v := range b.Environment {
		n += len(v.Name) + len(v.Value) + 2
	}
	if n > MaxProgramText {
		c.fail("arguments", "with the environment they have %d bytes: at most %d", n, MaxProgramText)
	}
}

type variableBody struct {
	Name  string `msgpack:"n,omitempty"`
	Value string `msgpack:"v,omitempty"`
}

func fromVariable(v grid.Variable) variableBody { return variableBody(v) }

func (b variableBody) variable(c *check) grid.Variable {
	if b.Name == "" || strings.IndexByte(b.Name, '=') >= 0 {
		c.fail("name", "%.40q cannot name a variable", b.Name)
	}
	return grid.Variable{Name: c.text("name", b.Name, grid.MaxText), Value: c.text("value", b.Value, grid.MaxText)}
}

type demandBody struct {
	Chunks       []chunkBody `msgpack:"c,omitempty"`
	Architecture string      `msgpack:"a,omitempty"`
	System       string      `msgpack:"o,omitempty"`
	Properties   []string    `msgpack:"p,omitempty"`
	Exclusive    bool        `msgpack:"x,omitempty"`

	DistinctNodes bool          `msgpack:"dn,omitempty"`
	Hosts         []string      `msgpack:"h,omitempty"`
	Disk          int64         `msgpack:"dk,omitempty"`
	Measures      []measureBody `msgpack:"m,omitempty"`
}

func fromDemand(d grid.Demand) demandBody {
	return demandBody{
		each(d.Chunks, fromChunk), d.Architecture, d.System, d.Properties, d.Exclusive,
		d.DistinctNodes, d.Hosts, d.Disk, each(d.Measures, fromMeasure),
	}
}

func (b demandBody) demand(c *check) grid.Demand {
	d := grid.Demand{
		Chunks:       list(c, "chunks", b.Chunks, MaxChunks, chunkBody.chunk),
		Architecture: c.word("architecture", b.Architecture, MaxWord),
		System:       c.word("system", b.System, MaxWord),
		Properties:   each(b.Properties, func(s string) string { return s }),
		Exclusive:    b.Exclusive,

		DistinctNodes: b.DistinctNodes,
		Hosts:         each(b.Hosts, func(s string) string { return s }),
		Disk:          c.between("disk", b.Disk, 0, grid.MaxDisk),
		Measures:      list(c, "measures", b.Measures, len(grid.Quantities), measureBody.measure),
	}
	if len(b.Chunks) == 0 {
		c.fail("chunks", "there are none")
	}
	c.valid("properties", grid.CheckProperties(b.Properties))
	c.valid("hosts", grid.CheckHosts(b.Hosts))
	c.valid("measures", grid.CheckMeasures(d.Measures))
	if c.err == nil && d.Processes() > grid.MaxProcesses {
		c.fail("chunks", "%d processes: at most %d", d.Processes(), grid.MaxProcesses)
	}
	return d
}

type chunkBody struct {
	Count     int64          `msgpack:"n,omitempty"`
	Processes int64          `msgpack:"p,omitempty"`
	Cores     int64          `msgpack:"c,omitempty"`
	Memory    int64          `msgpack:"m,omitempty"`
	Resources []resourceBody `msgpack:"r,omitempty"`
}

func fromChunk(k grid.Chunk) chunkBody {
	return chunkBody{int64(k.Count), int64(k.Processes), int64(k.Cores), k.Memory, each(k.Resources, fromResource)}
}

// chunk keeps counts so small that the sums over MaxChunks of their products fit.
func (b chunkBody) chunk(c *check) grid.Chunk {
	k := grid.Chunk{
		Count:     c.count("count", b.Count, 1, grid.MaxProcesses),
		Processes: c.count("processes", b.Processes, 1, grid.MaxProcesses),
		Cores:     c.count("cores", b.Cores, 0, grid.MaxProcesses),
		Memory:    c.between("memory", b.Memory, 0, grid.MaxMemory),
		Resources: each(b.Resources, resourceBody.resource),
	}
	if c.err == nil && k.Memory > MaxTotalMemory/int64(k.Count) {
		c.fail("memory", "%d pieces of %d bytes: at most %d bytes", k.Count, k.Memory, MaxTotalMemory)
	}
	if err := k.CheckResources(); err != nil {
		c.fail("resources", "%w", err)
	}
	return k
}

type resourceBody struct {
	Name   string `msgpack:"n,omitempty"`
	Amount int64  `msgpack:"a,omitempty"`
}

func fromResource(r grid.Resource) resourceBody { return resourceBody(r) }

func (b resourceBody) resource() grid.Resource { return grid.Resource(b) }

type outputBody struct {
	Path     string `msgpack:"p,omitempty"`
	Target   string `msgpack:"t,omitempty"`
	Required bool   `msgpack:"r,omitempty"`
	URI      string `msgpack:"u,omitempty"`
	Flag     uint64 `msgpack:"f,omitempty"`
	Delete   bool   `msgpack:"d,omitempty"`
}

func fromOutput(o grid.Output) outputBody {
	return outputBody{o.Path, o.Target, o.Required, o.URI, uint64(o.Flag), o.Delete}
}

func (b outputBody) output(c *check) grid.Output {
	o := grid.Output{
		Path: c.file("path", b.Path), Target: b.Target, Required: b.Required,
		URI: b.URI, Flag: c.flag("flag", b.Flag), Delete: b.Delete,
	}
	switch {
	case b.URI == "":
		c.file("target", b.Target)
	case b.Target != "":
		c.fail("target", "%.80q is brought home and taken elsewhere too: one of both", b.Target)
	default:
		c.valid("uri", grid.CheckURI(b.URI))
	}
	return o
}

type fileBody struct {
	Path   string `msgpack:"p,omitempty"`
	Size   int64  `msgpack:"s,omitempty"`
	Mode   uint64 `msgpack:"m,omitempty"`
	Ranges []byte `msgpack:"r,omitempty"` // the hashes one after the other
}

func fromFile(f grid.File) fileBody {
	ranges := make([]byte, 0, len(f.Ranges)*len(grid.Hash{}))
	for i := range f.Ranges {
		ranges = append(ranges, f.Ranges[i][:]...)
	}
	return fileBody{f.Path, f.Size, uint64(f.Mode), ranges}
}

func (b fileBody) file(c *check) grid.File {
	const width = len(grid.Hash{})
	f := grid.File{Path: c.file("path", b.Path), Size: c.between("size", b.Size, 0, MaxSandbox)}
	if b.Mode > 0o777 {
		c.fail("mode", "0%o is more than permission bits", b.Mode)
		return f
	}
	f.Mode = uint32(b.Mode)
	n := (b.Size + grid.RangeSize - 1) / grid.RangeSize
	if c.err != nil || int64(len(b.Ranges)) != n*int64(width) {
		c.fail("ranges", "%d bytes of hashes: %d bytes of file have %d hashes of %d", len(b.Ranges), b.Size, n, width)
		return f
	}
	if n > 0 {
		f.Ranges = make([]grid.Hash, n)
	}
	for i := range f.Ranges {
		copy(f.Ranges[i][:], b.Ranges[i*width:])
	}
	return f
}

// manifest checks files singly and together: ascending paths, none twice, none
// both a file and a folder, and no more bytes than a sandbox may have.
func (c *check) manifest(name string, bodies []fileBody) grid.Manifest {
	m := grid.Manifest(list(c, name, bodies, grid.MaxFiles, fileBody.file))
	if c.err != nil {
		return nil
	}
	seen := make(map[string]bool, len(m))
	total := int64(0)
	for i, f := range m {
		at := fmt.Sprintf("%s[%d].path", name, i)
		if i > 0 && f.Path <= m[i-1].Path {
			c.fail(at, "%.80q does not follow %.80q: files come once each, in the order of their paths", f.Path, m[i-1].Path)
			return nil
		}
		if folder := folderIn(seen, f.Path); folder != "" {
			c.fail(at, "%.80q lies below %.80q, which is a file", f.Path, folder)
			return nil
		}
		seen[f.Path] = true
		total += f.Size // each at most MaxSandbox, and at most MaxFiles of them
	}
	if total > MaxSandbox {
		c.fail(name, "%d bytes of files: at most %d", total, MaxSandbox)
	}
	return m
}

// folderIn is a folder on the way to p that files has as a file, or "".
func folderIn(files map[string]bool, p string) string {
	for i := range len(p) {
		if p[i] == '/' && files[p[:i]] {
			return p[:i]
		}
	}
	return ""
}
