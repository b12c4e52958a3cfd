package supervise

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"gbroker/grid"
	"gbroker/pbs/control"
)

// Spec is one job of the embedded batch system, as it stands in the spool and as
// the supervisor gets it.
//
// # Form of a SPECFILE
//
// Records "key=value" that each end with a zero byte, so that all else stands
// as it is: first "gbroker-spec=1" (the version), last "end=". Records of a list
// repeat. Unknown keys are refused, as is a file that does not end with "end=".
//
//	chunk=COUNT PROCESSES CORES MEMORY [RESOURCE=AMOUNT …]
//	share=NODE PROCESSES CORES MEMORY [RESOURCE=AMOUNT …]
//	property=NAME      a list
//	exclusive=1        left out where false
//	queue=NAME         left out where there is none
//	reservation=NAME   left out where there is none
//	held=1             left out where false
//	file-limit=BYTES   left out where there is none
//	dialect=NAME       left out where there is none
//	warning=SIGNAL     the program gets this signal; left out where there is none
//	warn-before=MS     so long before its limit
//	warn-leader=1      its first process alone gets it; left out where false
//	group=FOLDER       left out where there is none
//	gpu=NUMBER         a list
//
// Of a part of a co-allocated job, all of them:
//
//	part=JOB RANK ROUND START GRACE WITHIN
//	part-site=NAME PROCESSES    a list, in the order of ranks
//	port=FIRST LAST    the ports of which one is offered to its programs
type Spec struct {
	ID            grid.AttemptID
	Name          string
	Work, Control string
	Limit         grid.Tick // kill limit of the program
	Expected, Age grid.Tick
	Arrived       grid.Tick
	Sequence      uint64 // order of arrival
	Grace         grid.Tick
	Site          grid.SiteName
	Path          string   // where a parallel program's starter is searched
	Base          []string // NAME=VALUE, the environment under the job's own variables
	Demand        grid.Demand
	Queue         grid.QueueName
	Program       grid.Program
	Warning       grid.Warning
	Reservation   string  // it starts in this one and nowhere else
	Held          bool    // it waits until that is ended
	Group         string  // folder of its control group
	FileLimit     int64   // the largest file it may write, in bytes; 0 is any
	Shares        []Share // where it runs; empty while it waits
	GPUs          []int   // the numbers of its own
	Part          *grid.Part
	Ports         grid.Ports

	rendezvous string // where programs of all parts meet, once that is known
}

// Share is the part of a job on one node.
type Share struct {
	Node             grid.NodeName
	Processes, Cores int
	Memory           int64
	Resources        []grid.Resource
}

// maxSpec bounds a SPECFILE, in bytes; the kernel would not take more arguments.
const maxSpec = 8 << 20

const version = "1"

// Decode is the inverse of Encode.
func Decode(data []byte) (*Spec, error) {
	const first = "gbroker-spec="
	records := strings.Split(string(data), "\x00")
	if v, ok := strings.CutPrefix(records[0], first); !ok {
		return nil, fmt.Errorf("it does not begin with %q", first)
	} else if v != version {
		return nil, fmt.Errorf("it is of version %.20q: this program knows version %s", v, version)
	}
	n := len(records)
	if n < 3 || records[n-1] != "" || records[n-2] != "end=" {
		return nil, errors.New("it is torn: its last record is not \"end=\"")
	}
	s := &Spec{}
	d := newDecoder(s)
	for _, record := range records[1 : n-2] {
		key, value, ok := strings.Cut(record, "=")
		if !ok {
			return nil, fmt.Errorf("%.40q is no record", record)
		}
		if err := d.set(key, strings.Clone(value)); err != nil { // who keeps one value does not keep the file
			return nil, fmt.Errorf("record %q: %w", key, err)
		}
	}
	return s, s.check()
}

func (s *Spec) check() error {
	if _, err := grid.ParseJobID(string(s.ID.Job)); err != nil {
		return err
	}
	if s.Work == "" || s.Work[0] != '/' || s.Control == "" || s.Control[0] != '/' {
		return errors.New("work and control must be absolute")
	}
	if err := grid.CheckProperties(s.Demand.Properties); err != nil {
		return err
	}
	if err := errors.Join(grid.CheckLimits(s.Program.Limits), grid.CheckHosts(s.Demand.Hosts), grid.CheckMeasures(s.Demand.Measures)); err != nil {
		return err
	}
	if err := errors.Join(s.Program.Dialect.Check(), s.Warning.Check()); err != nil {
		return err
	}
	if s.Part != nil {
		if err := s.checkPart(); err != nil {
			return err
		}
	}
	if s.Limit <= 0 || s.Grace < 0 {
		return fmt.Errorf("limit %d and grace %d must be positive", s.Limit, s.Grace)
	}
	return nil
}

// decoder knows where each record belongs.
type decoder struct {
	*Spec
	texts map[string]*string
	ticks map[string]*grid.Tick
	small map[string]*uint32
}

func newDecoder(s *Spec) *decoder {
	p := &s.Program
	return &decoder{
		Spec: s,
		texts: map[string]*string{
			"name": &s.Name, "work": &s.Work, "control": &s.Control, "path": &s.Path,
			"job": (*string)(&s.ID.Job), "site": (*string)(&s.Site), "queue": (*string)(&s.Queue), "reservation": &s.Reservation, "group": &s.Group,
			"architecture": &s.Demand.Architecture, "system": &s.Demand.System,
			"executable": &p.Executable, "input": &p.Input, "output": &p.Output, "error": &p.Error,
			"directory": &p.Directory, "parallel": &p.Parallel, "dialect": (*string)(&p.Dialect),
		},
		ticks: map[string]*grid.Tick{
			"limit": &s.Limit, "expected": &s.Expected, "age": &s.Age, "arrived": &s.Arrived, "grace": &s.Grace,
			"warn-before": &s.Warning.Before,
		},
		small: map[string]*uint32{
			"term": &s.ID.Epoch.Term, "hop": &s.ID.Epoch.Hop, "attempt": &s.ID.Attempt,
		},
	}
}

func (d *decoder) set(key, value string) error {
	if at, ok := d.texts[key]; ok {
		*at = value
		return nil
	}
	p := &d.Program
	switch key {
	case "part", "part-site", "port":
		return d.setPart(key, value)
	case "argument":
		p.Arguments = append(p.Arguments, value)
	case "base":
		d.Base = append(d.Base, value)
	case "variable":
		name, v, _ := strings.Cut(value, "=")
		p.Environment = append(p.Environment, grid.Variable{Name: name, Value: v})
	case "property":
		d.Demand.Properties = append(d.Demand.Properties, value)
	case "host":
		d.Demand.Hosts = append(d.Demand.Hosts, value)
	case "measure":
		return d.setMeasure(value)
	case "process-limit":
		name, v, _ := strings.Cut(value, " ")
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return fmt.Errorf("%.40q is no number", v)
		}
		p.Limits = append(p.Limits, grid.Limit{Name: grid.LimitName(name), Value: n})
	case "chunk":
		return d.setChunk(value)
	case "share":
		return d.setShare(value)
	default:
		return d.setNumber(key, value)
	}
	return nil
}

func (d *decoder) setNumber(key, value string) error {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return fmt.Errorf("%.40q is no number, or the key is unknown", value)
	}
	if n < 0 && key != "age" {
		return fmt.Errorf("%d is negative", n)
	}
	if at, ok := d.ticks[key]; ok {
		*at = grid.Tick(n)
		return nil
	}
	if at, ok := d.small[key]; ok {
		if n > 1<<32-1 {
			return fmt.Errorf("%d is too large", n)
		}
		*at = uint32(n)
		return nil
	}
	switch key {
	case "held":
		if d.Held = n == 1; n > 1 {
			return fmt.Errorf("%d is not 0 or 1", n)
		}
	case "sequence":
		d.Sequence = uint64(n)
	case "warning":
		d.Warning.Signal = int(min(n, 1<<16))
	case "warn-leader":
		if d.Warning.Leader = n == 1; n > 1 {
			return fmt.Errorf("%d is not 0 or 1", n)
		}
	case "memory-limit": // of an older version, which knew no other; 0 is none
		if n > 0 {
			d.Program.SetLimit(grid.LimitMemory, n)
		}
	case "file-limit":
		d.FileLimit = n
	case "gpu":
		d.GPUs = append(d.GPUs, int(n))
	case "exclusive":
		if d.Demand.Exclusive = n == 1; n > 1 {
			return fmt.Errorf("%d is not 0 or 1", n)
		}
	case "distinct-nodes":
		if d.Demand.DistinctNodes = n == 1; n > 1 {
			return fmt.Errorf("%d is not 0 or 1", n)
		}
	case "disk":
		d.Demand.Disk = n
	default:
		return errors.New("it is unknown")
	}
	return nil
}

func (s *Spec) setChunk(value string) error {
	n, named, err := numbers(strings.Fields(value), 4)
	if err != nil {
		return err
	}
	c := grid.Chunk{Count: int(n[0]), Processes: int(n[1]), Cores: int(n[2]), Memory: n[3], Resources: named}
	s.Demand.Chunks = append(s.Demand.Chunks, c)
	return c.CheckResources()
}

// setMeasure reads one interval of a measure.
func (s *Spec) setMeasure(value string) error {
	var of string
	var i grid.Interval
	if _, err := fmt.Sscan(value, &of, &i.Low, &i.High, &i.LowOpen, &i.HighOpen); err != nil {
		return fmt.Errorf("%.60q is no interval: %w", value, err)
	}
	list := &s.Demand.Measures
	if n := len(*list); n == 0 || string((*list)[n-1].Of) != of {
		*list = append(*list, grid.Measure{Of: grid.Quantity(of)})
	}
	last := &(*list)[len(*list)-1]
	last.Within = append(last.Within, i)
	return nil
}

func (s *Spec) setShare(value string) error {
	node, rest, _ := strings.Cut(value, " ")
	n, named, err := numbers(strings.Fields(rest), 3)
	if err != nil {
		return err
	}
	s.Shares = append(s.Shares, Share{
		Node: grid.NodeName(node), Processes: int(n[0]), Cores: int(n[1]), Memory: n[2], Resources: named,
	})
	return nil
}

// numbers reads as many numbers as wanted, and behind them named resources.
func numbers(words []string, want int) (n []int64, named []grid.Resource, err error) {
	n = make([]int64, want)
	for i, w := range words {
		name, amount, is := strings.Cut(w, "=")
		var v int64
		if v, err = strconv.ParseInt(cmp.Or(amount, w), 10, 64); err != nil {
			return nil, nil, fmt.Errorf("%.40q is no number", w)
		}
		switch {
		case is && i >= want:
			named = append(named, grid.Resource{Name: name, Amount: v})
		case is || i >= want:
			return nil, nil, fmt.Errorf("word %d is %.40q: %d numbers come first, then named resources", i+1, w, want)
		default:
			n[i] = v
		}
	}
	if len(words) < want {
		return nil, nil, fmt.Errorf("has %d numbers, not %d", len(words), want)
	}
	return n, named, nil
}

// Read reads a SPECFILE.
func Read(name string) (*Spec, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSpec+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxSpec {
		return nil, fmt.Errorf("%s is longer than %d bytes", name, maxSpec)
	}
	s, err := Decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s is no job of this program: %w", name, err)
	}
	return s, nil
}

// environment is all of the program's environment: Base, over it the job's own
// variables, over them what gbroker says.
func (s *Spec) environment() []string {
	env := append(slices.Clone(s.Base), s.visible()...)
	for _, v := range s.Program.Environment {
		env = append(env, v.Name+"="+v.Value)
	}
	if s.Part != nil {
		env = append(env, s.Part.Environment()...)
		env = append(env, "GBROKER_SITES_HOSTFILE="+s.sitesFile(), "GBROKER_RENDEZVOUS="+s.rendezvous)
	}
	env = append(env,
		"GBROKER_JOB="+string(s.ID.Job),
		"GBROKER_SITE="+string(s.Site),
		"GBROKER_PROCESSES="+strconv.Itoa(max(s.Demand.Processes(), 1)),
		RunMark(s.Control, s.ID),
		s.Mark(),
	)
	if len(s.GPUs) > 0 {
		env = append(env, "GBROKER_GPUS="+s.gpus())
	}
	return lastOfEach(env)
}

// Mark is the environment variable by which processes of an attempt are known.
func (s *Spec) Mark() string { return Mark(s.ID) }

// Mark is the environment variable by which processes of an attempt are known.
func Mark(at grid.AttemptID) string { return "GBROKER_ATTEMPT=" + at.String() }

// RunMark is the environment variable by which processes of one run of an attempt are known: several may be on a machine, each with a control directory of its own.
func RunMark(dir string, at grid.AttemptID) string {
	return "GBROKER_HOSTFILE=" + control.HostFile(dir, at)
}

// lastOfEach keeps the last value of each name.
func lastOfEach(env []string) []string {
	at := make(map[string]int, len(env))
	kept := env[:0]
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		if i, had := at[name]; had {
			kept[i] = e
			continue
		}
		at[name] = len(kept)
		kept = append(kept, e)
	}
	return kept
}
