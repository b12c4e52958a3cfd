package sweep

import (
	"bytes"
	"strconv"
	"strings"

	"gbroker/jsdl"
)

// The namespaces.
const (
	Namespace = "http://schemas.ogf.org/jsdl/2009/03/sweep"
	Functions = "http://schemas.ogf.org/jsdl/2009/03/sweep/functions"
)

// Limits.
const (
	MaxJobs       = 100_000
	MaxParameters = 100
	MaxBringing   = 20_000 // jobs, where they bring different files
)

// Sweep is a document that stands for many jobs.
type Sweep struct {
	text    []byte // of the document
	targets []target
	sweeps  []edit  // each Sweep goes, but for the ends of its lines
	blocks  []block // those beside each other at the top
	jobs    int
	atOnce  int
}

// block is one Sweep element.
type block struct {
	assignments []assignment // all of the same length
	inner       []block
	jobs        int // that it stands for
}

// assignment gives one value after the other to its places.
type assignment struct {
	values function
	at     *jsdl.Element
	places []place
}

// place is what one DocumentNode names: some texts, or a slice of each.
type place struct {
	match  string
	slice  bool
	start  int // in characters, from 0
	length int // -1 is to the end
	claims []claim
}

// Is tells whether a document may have a sweep, without reading it: one that Read finds none in is no
// sweep.
func Is(document []byte) bool { return bytes.Contains(document, []byte("sweep")) }

// Read reads the sweep of a document that stands for most jobs at most, [MaxJobs] if most is 0; nil if it has none. file is its
// name in messages. The error is a [jsdl.Errors].
func Read(file string, document []byte, most int) (*Sweep, error) {
	if most <= 0 || most > MaxJobs {
		most = MaxJobs
	}
	root, err := jsdl.Tree(file, document)
	if err != nil {
		return nil, err
	}
	r := &reader{Mistakes: jsdl.NewMistakes(file), most: most, known: map[key]int{}, brings: map[*jsdl.Element]bool{}}
	for _, e := range root.Children {
		switch {
		case e.Space == Namespace && e.Local == "Sweep":
			r.sweeps = append(r.sweeps, e)
		case foreignSweep(e) != "":
			r.At(e, "%s", foreignSweep(e))
		case e.Space == jsdl.Core && e.Local == "JobDescription":
			r.description = e
		}
	}
	if len(r.sweeps) == 0 || r.description == nil {
		return nil, r.Err() // the reader of the job tells what else is wrong
	}
	r.root = root
	r.noteBrought(r.description, false)
	s := &Sweep{text: bytes.Clone(jsdl.Text(document))}
	r.text = s.text
	r.read(s)
	if err := r.Err(); err != nil {
		return nil, err
	}
	for _, e := range r.sweeps {
		s.sweeps = append(s.sweeps, edit{from: e.Span.From, to: e.Span.To, text: lineEnds(s.text[e.Span.From:e.Span.To])})
	}
	if s.targets = r.targets; s.Brings() && s.jobs > MaxBringing {
		r.At(r.sweeps[0], "the document stands for %d jobs that may bring different files: at most %d of those", s.jobs, MaxBringing)
	}
	return s, r.Err()
}

// reader reads the Sweep elements of one document.
type reader struct {
	*jsdl.Mistakes
	text              []byte
	root, description *jsdl.Element
	sweeps            []*jsdl.Element
	most              int
	parameters        int
	targets           []target
	known             map[key]int            // targets by what they are
	brings            map[*jsdl.Element]bool // which files come may differ with it
	chain             []claim                // of the Sweep that is read, and of those around it
}

func (r *reader) read(s *Sweep) {
	for i, e := range r.sweeps {
		if text, is := e.Attribute(jsdl.Own, "atOnce"); is {
			n, err := strconv.Atoi(strings.Trim(text, space))
			switch {
			case i > 0:
				r.At(e, "atOnce stands on the first Sweep alone: it is of all jobs of the document")
			case err != nil || n < 1:
				r.At(e, "atOnce is %s: it is how many of the jobs may be under way at once, 1 or more", jsdl.Quote(text))
			}
			s.atOnce = n
		}
		b := r.block(e, 0)
		s.blocks = append(s.blocks, b)
		if s.jobs += b.jobs; s.jobs > r.most {
			r.At(e, "the document stands for more than %d jobs: make several documents of it", r.most)
			return
		}
	}
}

// maxNesting bounds Sweeps inside each other.
const maxNesting = 16

// block reads one Sweep; the number of its jobs is at most one more than what is allowed.
func (r *reader) block(e *jsdl.Element, depth int) block {
	var b block
	defer func(n int) { r.chain = r.chain[:n] }(len(r.chain))
	r.attributes(e, "own:atOnce")
	for _, c := range e.Children {
		switch {
		case c.Space == Namespace && c.Local == "Assignment" && len(b.inner) > 0:
			r.At(c, "an Assignment stands before the Sweeps that are inside of its own")
		case c.Space == Namespace && c.Local == "Assignment":
			if a, ok := r.assignment(c); ok {
				b.assignments = append(b.assignments, a)
			}
		case c.Space == Namespace && c.Local == "Sweep" && depth == maxNesting:
			r.At(c, "Sweeps are nested deeper than %d", maxNesting)
		case c.Space == Namespace && c.Local == "Sweep":
			if _, is := c.Attribute(jsdl.Own, "atOnce"); is {
				r.At(c, "atOnce stands on the first Sweep alone: it is of all jobs of the document")
			}
			b.inner = append(b.inner, r.block(c, depth+1))
		default:
			r.unknown(c, "a Sweep has Assignments, then Sweeps")
		}
	}
	switch {
	case len(b.assignments) > 0:
		return r.counted(e, b)
	case len(e.Children) == 0 || e.Children[0].Local == "Sweep":
		r.At(e, "this Sweep has no Assignment: it says what takes which values")
	}
	return b
}

// counted reckons the jobs of a block.
func (r *reader) counted(e *jsdl.Element, b block) block {
	first := b.assignments[0]
	for _, a := range b.assignments[1:] {
		if n, m := first.values.count(), a.values.count(); n != m {
			r.At(a.at, "this Assignment has %d values and the first of its Sweep (line %d) %d: they advance together, so they have equally many. Put it into a Sweep inside of this one for all pairs",
				m, first.at.Line, n)
		}
	}
	each := 1
	if len(b.inner) > 0 {
		each = 0
		for _, i := range b.inner {
			each = min(each+i.jobs, r.most+1)
		}
	}
	b.jobs = r.most + 1
	if n := first.values.count(); n <= int64(r.most) {
		b.jobs = min(int(n)*each, b.jobs) // both are at most 100,001
	}
	if b.jobs > r.most {
		r.At(e, "this Sweep stands for more than %d jobs: make several documents of it", r.most)
	}
	return b
}

func (r *reader) assignment(e *jsdl.Element) (assignment, bool) {
	a := assignment{at: e}
	r.attributes(e)
	sound := true
	var of *jsdl.Element
	for _, c := range e.Children {
		switch {
		case of != nil:
			r.At(c, "the function is the last of an Assignment, and there is one")
			sound = false
		case c.Space == Namespace && c.Local == "DocumentNode":
			p, ok := r.documentNode(c)
			a.places = append(a.places, p)
			sound = sound && ok
		default:
			of = c
			var ok bool
			a.values, ok = r.function(c)
			sound = sound && ok
		}
	}
	switch {
	case len(a.places) == 0:
		r.At(e, "this Assignment has no DocumentNode: it says what takes the values")
		return a, false
	case of == nil:
		r.At(e, "this Assignment has no function: Values, LoopInteger or LoopDouble in the namespace %s", Functions)
		return a, false
	}
	return a, sound
}

func (r *reader) documentNode(e *jsdl.Element) (p place, ok bool) {
	r.attributes(e)
	if r.parameters++; r.parameters > MaxParameters {
		if r.parameters == MaxParameters+1 {
			r.At(e, "the document has more than %d DocumentNodes", MaxParameters)
		}
		return p, false
	}
	prefixes := map[string]string{}
	var match *jsdl.Element
	for _, c := range e.Children {
		switch {
		case c.Space == Namespace && c.Local == "NamespaceBinding" && match == nil:
			prefix, has := c.Attribute("", "prefix")
			ns, also := c.Attribute("", "ns")
			r.attributes(c, "prefix", "ns")
			if !has || !also || prefix == "" || prefixes[prefix] != "" {
				r.At(c, "a NamespaceBinding has a prefix that no other has, and its namespace in ns")
				return p, false
			}
			prefixes[prefix] = ns
		case c.Space == Namespace && c.Local == "Match" && match == nil:
			match = c
		default:
			r.unknown(c, "a DocumentNode has NamespaceBindings, then one Match")
			return p, false
		}
	}
	if match == nil {
		r.At(e, "this DocumentNode has no Match: it says what takes the values")
		return p, false
	}
	return r.match(match, prefixes)
}

// attributes refuses those without a namespace that are not known.
func (r *reader) attributes(e *jsdl.Element, known ...string) {
next:
	for _, a := range e.Attributes {
		name := a.Local
		switch a.Space {
		case "":
		case jsdl.Own:
			name = "own:" + a.Local
		default:
			continue
		}
		for _, k := range known {
			if name == k {
				continue next
			}
		}
		r.At(e, "%s has the attribute %s, which is not known", e.Local, a.Local)
	}
}

func (r *reader) unknown(e *jsdl.Element, what string) {
	if why := foreignSweep(e); why != "" {
		r.At(e, "%s", why)
		return
	}
	r.At(e, "{%s}%s is not known here: %s", e.Space, e.Local, what)
}

// foreignSweep says which other language an element is of; "" is none that is known.
func foreignSweep(e *jsdl.Element) string {
	switch {
	case strings.HasPrefix(e.Space, "http://schemas.ogf.org/jsdl/2007/"), strings.HasSuffix(e.Space, "/jsdl-sweep"):
		if strings.Contains(e.Space, "sweep") {
			return "this sweep is in the language of the draft of 2007, as g-Eclipse writes it: the namespace of the standard is " + Namespace + ", that of its functions " + Functions
		}
	case e.Space == Namespace && (e.Local == "Values" || e.Local == "LoopInteger" || e.Local == "LoopDouble"):
		return e.Local + " is in the namespace of sweeps, as a dialect has it: the standard has functions in " + Functions
	case e.Local == "Directory" && strings.HasPrefix(e.Space, Namespace):
		return "Directory, a function over the files of a folder, is of a dialect: name the files by Values"
	}
	return ""
}

const space = " \t\r\n"
