package sweep

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gbroker/jsdl"
)

const (
	head = `<?xml version="1.0"?>
<j:JobDefinition xmlns:j="http://schemas.ggf.org/jsdl/2005/11/jsdl" xmlns:p="http://schemas.ggf.org/jsdl/2005/11/jsdl-posix"
    xmlns:s="` + Namespace + `" xmlns:f="` + Functions + `" xmlns:own="urn:gbroker:jsdl:1">
  <j:JobDescription>
    <j:JobIdentification><j:JobName>sweep</j:JobName></j:JobIdentification>
    <j:Application><p:POSIXApplication>
      <p:Executable>/bin/echo</p:Executable>
      <p:Argument>a1</p:Argument>
      <p:Argument>file-XXX.dat</p:Argument>
      <p:Argument/>
      <p:Environment name="N">0</p:Environment>
    </p:POSIXApplication></j:Application>
  </j:JobDescription>
`
	tail  = "</j:JobDefinition>\n"
	bound = `<s:NamespaceBinding prefix="q" ns="http://schemas.ggf.org/jsdl/2005/11/jsdl-posix"/>`
)

func node(match string) string {
	return "<s:DocumentNode>" + bound + "<s:Match>\n  " + match + "\n</s:Match></s:DocumentNode>"
}

func assign(function string, matches ...string) string {
	var b strings.Builder
	b.WriteString("<s:Assignment>")
	for _, m := range matches {
		b.WriteString(node(m))
	}
	return b.String() + function + "</s:Assignment>"
}

func values(list ...string) string {
	return "<f:Values><f:Value>" + strings.Join(list, "</f:Value><f:Value>") + "</f:Value></f:Values>"
}

func sweepOf(parts ...string) string { return "<s:Sweep>" + strings.Join(parts, "") + "</s:Sweep>" }

// expand gives the arguments and the variable of each job.
func expand(t interface{ Fatalf(string, ...any) }, text string) []string {
	s, err := Read("f", []byte(text), 0)
	if err != nil || s == nil {
		t.Fatalf("%v, %v of\n%s", s, err, text)
	}
	var all []string
	for n := range s.Jobs() {
		d, err := jsdl.Parse("f", s.Document(n+1))
		if err != nil {
			t.Fatalf("job %d: %v\n%s", n+1, err, s.Document(n+1))
		}
		all = append(all, strings.Join(d.Job.Program.Arguments, "|")+" N="+d.Job.Program.Environment[0].Value)
	}
	return all
}

func TestSweeps(t *testing.T) {
	for name, c := range map[string]struct {
		sweeps string
		want   []string
	}{
		"values": {sweepOf(assign(values("x", "&lt;&amp; y"), "//q:Argument[1]")), []string{"x|file-XXX.dat| N=0", "<& y|file-XXX.dat| N=0"}},
		"lockstep": {sweepOf(assign(values("x", "y"), "//q:Argument[1]"), assign(`<f:LoopInteger start="4" end="5"/>`, "//q:Environment[@name='N']")),
			[]string{"x|file-XXX.dat| N=4", "y|file-XXX.dat| N=5"}},
		"nested": {sweepOf(assign(values("x", "y"), "//q:Argument[1]"), sweepOf(assign(`<f:LoopInteger start="2" end="1" step="-1"/>`, "//q:Argument[3]"))),
			[]string{"x|file-XXX.dat|2 N=0", "x|file-XXX.dat|1 N=0", "y|file-XXX.dat|2 N=0", "y|file-XXX.dat|1 N=0"}},
		"siblings": {sweepOf(assign(values("x", "y"), "//q:Argument[1]")) + sweepOf(assign(values("z"), "//q:Argument[1]")),
			[]string{"x|file-XXX.dat| N=0", "y|file-XXX.dat| N=0", "z|file-XXX.dat| N=0"}},
		"substring, and the same value in two places": {sweepOf(assign(`<f:LoopInteger start="7" end="8"/>`, "substring(//q:Argument[2], 6, 3)", "//q:Environment")),
			[]string{"a1|file-7.dat| N=7", "a1|file-8.dat| N=8"}},
		"slices of one text": {sweepOf(assign(values("longer"), "substring(//q:Argument[2],1,4)"), assign(values("Z"), "substring(//q:Argument[2],10)")),
			[]string{"a1|longer-XXX.Z| N=0"}},
		"exceptions": {sweepOf(assign(`<f:LoopInteger start="1" end="9" step="2"><f:Exception value="3"/><f:Exception>9</f:Exception><f:Exception value="4"/></f:LoopInteger>`, "//q:Argument[1]/text()")),
			[]string{"1|file-XXX.dat| N=0", "5|file-XXX.dat| N=0", "7|file-XXX.dat| N=0"}},
		"decimals": {sweepOf(assign(`<f:LoopDouble start="-0.1" end="0.25" step="1e-1"><f:Exception value="0.0"/></f:LoopDouble>`, "/*/*//q:Argument[1]")),
			[]string{"-0.1|file-XXX.dat| N=0", "0.1|file-XXX.dat| N=0", "0.2|file-XXX.dat| N=0"}},
		"all that match": {sweepOf(assign(values("v"), "//q:Argument")), []string{"v|v|v N=0"}},
	} {
		if got := expand(t, head+c.sweeps+tail); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", name, got, c.want)
		}
	}
}

func TestAttributesAndAtOnce(t *testing.T) {
	text := head + `<s:Sweep own:atOnce=" 5 ">` + assign(values("A", "B"), "//q:Environment/@name") + "</s:Sweep>" + tail
	s, err := Read("f", []byte(text), 0)
	if err != nil {
		t.Fatal(err)
	}
	d, err := jsdl.Parse("f", s.Document(2))
	if err != nil || s.AtOnce() != 5 || s.Brings() || d.Job.Program.Environment[0].Name != "B" {
		t.Errorf("%v, %d at once, %v", err, s.AtOnce(), d)
	}
	if a := s.Assigned(2); len(a) != 1 || a[0] != (Assigned{"//q:Environment/@name", "B"}) {
		t.Errorf("assigned are %v", a)
	}
	if s, err = Read("f", []byte(head+sweepOf(assign(values("/bin/a"), "//q:Executable"))+tail), 0); err != nil || !s.Brings() {
		t.Errorf("the executable brings files: %v, %v", s, err)
	}
}

// A document without a sweep has none, and is none of this package's.
func TestNone(t *testing.T) {
	if s, err := Read("f", []byte(head+tail), 0); s != nil || err != nil {
		t.Errorf("%v, %v", s, err)
	}
}

func TestRefused(t *testing.T) {
	const one = "//q:Argument[1]"
	loop := func(a string) string { return sweepOf(assign("<f:LoopInteger "+a+"/>", one)) }
	many := sweepOf(assign(`<f:LoopInteger start="1" end="100000"/>`, one))
	for name, c := range map[string][2]string{
		"endless":            {loop(`start="1" end="9" step="0"`), "16:28: the step of this loop is 0: it would never end"},
		"wrong sign":         {loop(`start="1" end="9" step="-1"`), "never gets from 1 to 9 by steps of -1"},
		"no end":             {loop(`start="1"`), "LoopInteger has no end"},
		"a word":             {loop(`start="one" end="2"`), `start is "one"`},
		"too large":          {loop(`start="1" end="99999999999999999999"`), "at most 18 digits"},
		"infinite":           {sweepOf(assign(`<f:LoopDouble start="0" end="INF"/>`, one)), `end is "INF"`},
		"fractions":          {loop(`start="1.5" end="2"`), "LoopInteger has whole numbers"},
		"nothing left":       {sweepOf(assign(`<f:LoopInteger start="1" end="1"><f:Exception value="1"/></f:LoopInteger>`, one)), "there would be no job"},
		"no value":           {sweepOf(assign("<f:Values/>", one)), "Values has no Value"},
		"too many":           {loop(`start="1" end="100001"`), "more than 100000 jobs"},
		"too many together":  {many + sweepOf(assign(values("x"), one)), "more than 100000 jobs"},
		"too many nested":    {sweepOf(assign(values("x", "y"), one), sweepOf(assign(`<f:LoopInteger start="1" end="50001"/>`, "//q:Argument[2]"))), "more than 100000 jobs"},
		"far too many":       {sweepOf(assign(`<f:LoopInteger start="-100000000000000000" end="100000000000000000"/>`, one)), "more than 100000 jobs"},
		"lockstep":           {sweepOf(assign(values("x", "y"), one), assign(values("z"), "//q:Argument[2]")), "this Assignment has 1 values and the first of its Sweep (line 14) 2"},
		"twice":              {sweepOf(assign(values("x"), one), sweepOf(assign(values("z"), one))), "names what takes the values of line 14 too"},
		"slices overlap":     {sweepOf(assign(values("x"), "substring(//q:Argument[2],1,4)", "substring(//q:Argument[2],4,2)")), "names what takes the values"},
		"behind the end":     {sweepOf(assign(values("x"), "substring(//q:Argument[2],14,1)")), "begins at character 14, and Argument (line 9) has 12"},
		"matches nothing":    {sweepOf(assign(values("x"), "//q:Argument[4]")), "matches nothing of the JobDescription"},
		"of a sweep itself":  {sweepOf(assign(values("x"), "/*/*[2]")), "matches nothing"},
		"no text":            {sweepOf(assign(values("x"), "//q:POSIXApplication")), "has elements in it"},
		"no namespace":       {sweepOf(assign(values("x"), "//Argument")), "has no prefix"},
		"the document's own": {sweepOf(assign(values("x"), "//p:Argument")), "is bound by no NamespaceBinding"},
		"placeholder":        {sweepOf(assign(values("x"), "XXX")), "a placeholder in the text, as a dialect has it"},
		"an axis":            {sweepOf(assign(values("x"), "/descendant::q:Argument")), "axes such as"},
		"a function":         {sweepOf(assign(values("x"), "//q:Argument[last()]")), "[last()] is not known"},
		"a union":            {sweepOf(assign(values("x"), "//q:Argument|//q:Output")), "is no step"},
		"three //":           {sweepOf(assign(values("x"), "//*//*//q:Argument")), "more than 2 times //"},
		"no node":            {sweepOf("<s:Assignment>" + values("x") + "</s:Assignment>"), "has no DocumentNode"},
		"no function":        {sweepOf("<s:Assignment>" + node(one) + "</s:Assignment>"), "has no function"},
		"empty":              {"<s:Sweep/>", "has no Assignment"},
		"elements":           {sweepOf(assign("<f:Values><f:Value><f:Value/></f:Value></f:Values>", one)), "a Value is text"},
		"draft":              {`<d:Sweep xmlns:d="http://schemas.ogf.org/jsdl/2007/01/jsdl-sweep"/>`, "the draft of 2007, as g-Eclipse writes it"},
		"dialect":            {sweepOf(assign("<s:Values/>", one)), "in the namespace of sweeps, as a dialect has it"},
		"folder":             {sweepOf(assign("<f:Directory filenameonly='true'>d</f:Directory>", one)), "Directory, a function over the files of a folder"},
		"foreign":            {sweepOf("<j:Job/>"), "is not known here: a Sweep has Assignments"},
		"atOnce":             {`<s:Sweep own:atOnce="0">` + assign(values("x"), one) + "</s:Sweep>", "how many of the jobs may be under way at once"},
		"attribute":          {`<s:Sweep step="0">` + assign(values("x"), one) + "</s:Sweep>", "has the attribute step, which is not known"},
	} {
		s, err := Read("f.jsdl", []byte(head+c[0]+tail), 0)
		if err == nil || !strings.Contains(err.Error(), c[1]) || !strings.HasPrefix(err.Error(), "f.jsdl:") {
			t.Errorf("%s: got %v, %v\nwant %q", name, s, err, c[1])
		}
	}
}

// The largest is counted, and its last made, at once.
func BenchmarkLast(b *testing.B) {
	text := []byte(head + sweepOf(assign(`<f:LoopInteger start="1" end="100000"/>`, "//q:Argument[1]")) + tail)
	for b.Loop() {
		s, err := Read("f", text, 0)
		if err != nil || len(s.Document(s.Jobs())) == 0 {
			b.Fatal(err)
		}
	}
}

func ExampleSweep() {
	s, err := Read("f", []byte(head+sweepOf(assign(`<f:LoopInteger start="1" end="100000"/>`, "//q:Argument[1]"))+tail), 0)
	fmt.Println(s.Jobs(), err, s.Assigned(99_999))
	// Output: 100000 <nil> [{//q:Argument[1] 99999}]
}
