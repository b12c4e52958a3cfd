package grid

import (
	"path"
	"slices"
	"strings"
)

// Limits on what one job may ask for. A document beyond them is refused where it
// is read, a message beyond them where it is decoded.
const (
	MaxProcesses = 1 << 20
	MaxWalltime  = 366 * Day
	MaxMemory    = int64(1) << 50 // bytes, per chunk
	MaxDisk      = int64(1) << 55 // bytes, per node
	MaxArguments = 4096
	MaxText      = 128 << 10      // bytes, of one argument or environment value (what Linux takes)
	MaxPath      = 1024           // bytes, of a path inside a sandbox
	MaxFiles     = 10000          // files a job brings or leaves
	MaxSandbox   = int64(1) << 40 // bytes of these files together

	MaxResources  = 16      // named resources of one chunk
	MaxAmount     = 1 << 40 // of one named resource
	MaxProperties = 16      // of one demand
	MaxLabel      = 64      // bytes, of the name of a resource or a property
)

// Job is what one JSDL document asks for. It never changes after submission.
type Job struct {
	ID         JobID
	Name       string // JobName, "" if none
	Home       PeerID // answers for the job until its end
	User       User
	Rerunnable bool // its program may be started again after a loss
	Program    Program
	Demand     Demand
	// Walltime is the run time asked for, on the reference machine (speed 1).
	Walltime Tick
	// WalltimeDefaulted tells that the document named none and the home's default stands in.
	WalltimeDefaulted bool
	Queue             QueueName // "" lets the site choose
	Account           string    // of the batch system, to be charged; "" is the user's own
	Sites             Choice
	Terms             Terms    // at its home alone, but for the deadline
	Warning           Warning  // before its time is up
	Inputs            Manifest // travels with the job
	Sources           []Source // fetched by the site where it runs
	Outputs           []Output // comes back, or goes elsewhere
	Bring             []Bring  // comes back too, of what the program makes beside them
	About             About
	Sharing           Sharing
	Reservation       ReservationID // of the one site that it is sent to; "" is none
	Guaranteed        *Choice       // at its home alone: the reservation was made for it, and these are its sites without that
	Coallocation      *Coallocation // its home's business; nil runs it at one site
	Part              *Part         // of a co-allocated job; nil of a job of its own
}

// Abroad is what of the job other sites are told.
func (j Job) Abroad() Job {
	j.Guaranteed = nil
	return j
}

// What the parts of a document take in memory beside their texts, in bytes.
const (
	jobBytes   = 512 // of a job without any list
	entryBytes = 48  // of each entry of a list
)

// DocumentSize is about how many bytes the job takes in memory: what its document says,
// without the contents of its files.
func (j *Job) DocumentSize() int64 {
	n := int64(jobBytes+len(j.Name)+len(j.User.Name)+len(j.Program.Executable)) + j.Program.TextSize()
	for _, f := range j.Inputs {
		n += entryBytes + int64(len(f.Path)+len(f.Ranges)*len(Hash{}))
	}
	for _, o := range j.Outputs {
		n += entryBytes + int64(len(o.Path)+len(o.Target)+len(o.URI))
	}
	for _, b := range j.Bring {
		n += entryBytes + int64(len(b.Pattern))
	}
	for _, s := range j.Sources {
		n += entryBytes + int64(len(s.Path)+len(s.URI))
	}
	if j.Part != nil {
		n += int64(len(j.Part.Sites) * entryBytes)
	}
	return n + j.Demand.size() + j.Terms.size() + j.About.size() + j.Sharing.size()
}

func (d *Demand) size() int64 {
	n := int64(0)
	for _, c := range d.Chunks {
		n += entryBytes + int64(len(c.Resources)*entryBytes)
	}
	for _, m := range d.Measures {
		n += entryBytes + int64(len(m.Within)*entryBytes)
	}
	return n + texts(d.Hosts)
}

func (t *Terms) size() int64 {
	n := int64(0)
	for _, d := range t.After {
		n += entryBytes + int64(len(d.On))
	}
	for _, d := range t.Notify {
		n += entryBytes + int64(len(d.To))
	}
	return n
}

func (a *About) size() int64 {
	return int64(len(a.Description)+len(a.Application)+len(a.Version)) + texts(a.Annotations) + texts(a.Projects)
}

func texts(list []string) int64 {
	n := int64(0)
	for _, s := range list {
		n += entryBytes + int64(len(s))
	}
	return n
}

// Program is what is executed: never by a shell, always inside the job's sandbox.
type Program struct {
	// Executable is an absolute path at the site, or a path relative to Directory.
	Executable string
	Arguments  []string
	// Input, Output and Error are paths relative to Directory; "" is /dev/null for
	// Input. Output and Error left out are kept as "stdout" and "stderr" at the top
	// of the sandbox.
	Input, Output, Error string
	// Directory is the working directory, relative to the sandbox; "" is its top.
	Directory   string
	Environment []Variable
	// Parallel is "" for a plain program (one process is started, which finds the
	// others by GBROKER_HOSTFILE), else the SPMD variation, such as "MPI" or "OpenMPI".
	Parallel string
	Dialect  Dialect // of the batch scripts, if the program is one; "" is none
	Limits   []Limit // of each process, in the order of LimitNames
}

// TextSize is how many bytes the texts of a program take: its arguments and its environment, which may be long.
func (p *Program) TextSize() (n int64) {
	for _, a := range p.Arguments {
		n += entryBytes + int64(len(a))
	}
	for _, v := range p.Environment {
		n += entryBytes + int64(len(v.Name)+len(v.Value))
	}
	return n
}

// Brief is the program without its texts, and With has those of another.
func (p Program) Brief() Program { return p.With(Program{}) }

// With is the program with the texts of another.
func (p Program) With(texts Program) Program {
	p.Arguments, p.Environment = texts.Arguments, texts.Environment
	return p
}

// Names of the files that take standard output and error where the document names none.
const (
	DefaultOutput = "stdout"
	DefaultError  = "stderr"
)

// UserAtHome is USER@SITE, as owners of computers name whom they admit.
func (j *Job) UserAtHome() string {
	site, _, _ := strings.Cut(string(j.ID), ".")
	return j.User.Name + "@" + site
}

// Streams are the names under which a job's standard output and error come back; "" where they
// do not.
func (j *Job) Streams() (output, errors string) {
	at := func(name, fallback string) string {
		if name != "" {
			fallback = path.Join(j.Program.Directory, name)
		}
		for _, o := range j.Outputs {
			if o.Path == fallback {
				return o.Target
			}
		}
		return ""
	}
	return at(j.Program.Output, DefaultOutput), at(j.Program.Error, DefaultError)
}

// Variable is one environment variable.
type Variable struct {
	Name, Value string
}

// Demand is the capacity a job needs at once: all its chunks together.
type Demand struct {
	Chunks []Chunk
	// Architecture and System are the site's CPU architecture and operating system
	// in JSDL's words (x86_64, LINUX); "" accepts any.
	Architecture, System string
	// Properties are names that every node of the job must carry.
	Properties []string
	// Exclusive asks for whole nodes: nobody else runs there meanwhile.
	Exclusive bool
	// DistinctNodes asks for each piece to lie on a node of its own.
	DistinctNodes bool
	Hosts         []string  // the nodes it may lie on, by name; none is any
	Disk          int64     // bytes of disk that every node must have for it; 0 asks for none
	Measures      []Measure // what every node must have besides, in the order of Quantities
}

// Chunk is Count equal pieces; each piece lies on one node.
type Chunk struct {
	Count     int   // pieces, at least 1
	Processes int   // processes in each piece
	Cores     int   // cores each piece needs
	Memory    int64 // bytes each piece needs; 0 asks for none
	// Resources are what else each piece needs, by name, no name twice.
	Resources []Resource
}

// Resource is an amount of something that a node has besides cores and memory.
type Resource struct {
	Name   string // such as gpu:a100
	Amount int64  // at least 1
}

// Processes is the number of processes of the whole demand.
func (d Demand) Processes() int {
	n := 0
	for _, c := range d.Chunks {
		n += c.Count * c.Processes
	}
	return n
}

// Cores is the number of cores of the whole demand.
func (d Demand) Cores() int {
	n := 0
	for _, c := range d.Chunks {
		n += c.Count * c.Cores
	}
	return n
}

// Memory is what the whole demand needs, in bytes.
func (d Demand) Memory() (n int64) {
	for _, c := range d.Chunks {
		n += int64(c.Count) * c.Memory
	}
	return n
}

// Resources are what the whole demand needs of named resources, in the order of names.
func (d Demand) Resources() (list []Resource) {
	for _, c := range d.Chunks {
		for _, r := range c.Resources {
			i := slices.IndexFunc(list, func(x Resource) bool { return x.Name == r.Name })
			if i < 0 {
				i, list = len(list), append(list, Resource{Name: r.Name})
			}
			list[i].Amount += int64(c.Count) * r.Amount
		}
	}
	slices.SortFunc(list, func(a, b Resource) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Output is a file that is brought home after the end, or taken elsewhere by the home.
type Output struct {
	Path   string // relative to the sandbox's top
	Target string // where the user gets it, relative to the output folder; "" of one with a URI
	URI    string // where the home takes it instead, without a password; "" brings it home
	Flag   CreationFlag
	// Required tells that its absence is worth a word (Targets); Output and Error always exist.
	Required bool
	// Delete takes the file away from the site at the end, when it is where it goes.
	Delete bool
}

// Stored is the name under which it is kept once it was collected: where the user gets it, or for one that
// is taken elsewhere a name that is no user's.
func (o Output) Stored() string {
	if o.URI == "" {
		return o.Target
	}
	return ElsewhereDir + "/" + o.Path
}

// ElsewhereDir holds the outputs that are taken elsewhere, among those of a job.
const ElsewhereDir = ".elsewhere"

// RangeSize is the length in bytes of the ranges in which files are hashed, sent
// and resumed; the last range of a file may be shorter.
const RangeSize = 4 << 20

// Hash is a BLAKE3-256.
type Hash [32]byte

// File is one file of a job's sandbox.
type File struct {
	Path   string // relative, slash-separated, clean, never leaving the sandbox
	Size   int64  // bytes
	Mode   uint32 // permission bits, 0 to 0777
	Ranges []Hash // BLAKE3 of each range in order; none for an empty file
}

// Manifest is a list of files in the order of their paths.
type Manifest []File

// Size is the number of bytes of all files.
func (m Manifest) Size() int64 {
	var n int64
	for _, f := range m {
		n += f.Size
	}
	return n
}
