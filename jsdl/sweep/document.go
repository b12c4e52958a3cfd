package sweep

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"slices"
	"strings"

	"gbroker/jsdl"
)

// key is what a value may be put into: the text of an element, or an attribute of it.
type key struct {
	e         *jsdl.Element
	attribute string
}

// target is a key that a Match names.
type target struct {
	text     []rune // as the document has it
	from, to int    // what is replaced in the document
	name     string // for an element written as <a/>: that of its end tag
	brings   bool
}

// claim is that a place has the text of a target, or a slice of it, for its values.
type claim struct {
	target, from, to int
	slice            bool
	line             int // of its Match
}

// edit is one place of the document, and what stands there instead.
type edit struct {
	from, to int
	text     []byte
}

// target finds or makes the target of a key.
func (r *reader) target(k key) int {
	if id, is := r.known[k]; is {
		return id
	}
	t := target{text: []rune(k.e.Text), from: k.e.Span.Inner, to: k.e.Span.InnerTo, brings: r.brings[k.e]}
	tag := r.text[k.e.Span.From:k.e.Span.Inner]
	switch {
	case k.attribute != "":
		value, _ := k.e.Attribute("", k.attribute)
		t.text = []rune(value)
		t.from, t.to = attributeAt(tag, k.attribute)
		t.from, t.to = k.e.Span.From+t.from, k.e.Span.From+t.to
	case bytes.HasSuffix(tag, []byte("/>")):
		t.from, t.to = k.e.Span.Inner-len("/>"), k.e.Span.Inner
		t.name = string(tag[1:bytes.IndexAny(tag, space+"/")])
	}
	r.known[k] = len(r.targets)
	r.targets = append(r.targets, t)
	return len(r.targets) - 1
}

// attributeAt is where the value of an attribute without a prefix stands in a start tag, which
// is well-formed and has it.
func attributeAt(tag []byte, name string) (from, to int) {
	i := bytes.IndexAny(tag, space)
	for i >= 0 && i < len(tag) {
		equals := i + bytes.IndexByte(tag[i:], '=')
		found := strings.Trim(string(tag[i:equals]), space)
		from = equals + bytes.IndexAny(tag[equals:], `"'`) + 1
		to = from + bytes.IndexByte(tag[from:], tag[from-1])
		if found == name {
			break
		}
		i = to + 1
	}
	return from, to
}

// claimed is the line of the Match that has what a claim wants, in the same jobs; 0 is none.
func (r *reader) claimed(c claim) int {
	for _, o := range r.chain {
		if o.target == c.target && (!o.slice || !c.slice || c.from < o.to && o.from < c.to || c.from == o.from) {
			return o.line
		}
	}
	return 0
}

// noteBrought notes the elements that say which files come with the job.
func (r *reader) noteBrought(e *jsdl.Element, brings bool) {
	brings = brings || e.Local == "DataStaging" || e.Local == "Executable" || e.Local == "Input" || e.Local == "WorkingDirectory"
	r.brings[e] = brings
	for _, c := range e.Children {
		r.noteBrought(c, brings)
	}
}

// Jobs is how many jobs the document stands for, at least 1.
func (s *Sweep) Jobs() int { return s.jobs }

// AtOnce is how many of them may be under way at once; 0 is no word.
func (s *Sweep) AtOnce() int { return s.atOnce }

// Brings tells that the files that the jobs bring may differ.
func (s *Sweep) Brings() bool {
	return slices.ContainsFunc(s.targets, func(t target) bool { return t.brings })
}

// maxChecked bounds the jobs that are looked at before a sweep is taken, where they bring the same files.
const maxChecked = 1000

// Checked are the numbers of the jobs to look at before a sweep is taken: all where they bring different
// files, else some between the first and the last.
func (s *Sweep) Checked() []int {
	most := maxChecked
	if s.Brings() {
		most = s.jobs
	}
	if most = min(most, s.jobs); most == 1 {
		return []int{1}
	}
	list := make([]int, most)
	for i := range list {
		list[i] = 1 + i*(s.jobs-1)/(most-1)
	}
	return list
}

// Assigned is a value of one job.
type Assigned struct{ Match, Value string }

// Assigned are the values of the n-th job, from 1 on, by what they are put into.
func (s *Sweep) Assigned(n int) (list []Assigned) {
	s.each(n, func(p *place, value string) { list = append(list, Assigned{p.match, value}) })
	return list
}

// each gives the places and values of a job.
func (s *Sweep) each(n int, give func(p *place, value string)) {
	n--
	for i := range s.blocks {
		if b := &s.blocks[i]; n < b.jobs {
			b.each(n, give)
			return
		}
		n -= s.blocks[i].jobs
	}
}

func (b *block) each(n int, give func(p *place, value string)) {
	inner := 0
	for i := range b.inner {
		inner += b.inner[i].jobs
	}
	of, n := n/max(inner, 1), n%max(inner, 1)
	for i := range b.assignments {
		a := &b.assignments[i]
		for k := range a.places {
			give(&a.places[k], a.values.value(of))
		}
	}
	for i := range b.inner {
		if c := &b.inner[i]; n < c.jobs {
			c.each(n, give)
			return
		}
		n -= b.inner[i].jobs
	}
}

// Document is the document of the n-th job, from 1 on: one without a sweep, with its lines where they
// were.
func (s *Sweep) Document(n int) []byte {
	type part struct {
		claim
		value string
	}
	parts := map[int][]part{}
	s.each(n, func(p *place, value string) {
		for _, c := range p.claims {
			parts[c.target] = append(parts[c.target], part{c, value})
		}
	})
	edits := slices.Clone(s.sweeps)
	for id, list := range parts {
		slices.SortFunc(list, func(a, b part) int { return cmp.Compare(a.from, b.from) })
		t := &s.targets[id]
		var text strings.Builder
		at := 0
		for _, p := range list {
			if !p.slice {
				text.WriteString(p.value)
				at = len(t.text)
				break
			}
			text.WriteString(string(t.text[at:p.from]))
			text.WriteString(p.value)
			at = p.to
		}
		text.WriteString(string(t.text[at:]))
		edits = append(edits, t.edit(text.String()))
	}
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	return spliced(s.text, edits)
}

// edit puts a text into the target.
func (t *target) edit(text string) edit {
	var b bytes.Buffer
	if t.name != "" {
		b.WriteByte('>')
	}
	_ = xml.EscapeText(&b, []byte(text)) // a buffer takes all
	if t.name != "" {
		b.WriteString("</" + t.name + ">")
	}
	return edit{t.from, t.to, b.Bytes()}
}

func spliced(text []byte, edits []edit) []byte {
	size := len(text)
	for _, e := range edits {
		size += len(e.text)
	}
	out, at := make([]byte, 0, size), 0
	for _, e := range edits {
		out = append(append(out, text[at:e.from]...), e.text...)
		at = e.to
	}
	return append(out, text[at:]...)
}

// lineEnds are those of a text alone.
func lineEnds(text []byte) []byte {
	return bytes.Repeat([]byte("\n"), bytes.Count(text, []byte("\n")))
}
