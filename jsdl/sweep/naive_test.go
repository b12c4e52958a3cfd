package sweep

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gbroker/jsdl"
)

// Made sweeps, and what they stand for by plain recursion.
type made struct {
	lockstep [][]string // values by assignment
	places   []int      // arguments that they go to, from 1
	inner    []made
}

func (m made) text() string {
	var parts []string
	for i, l := range m.lockstep {
		parts = append(parts, assign(values(l...), fmt.Sprintf("//q:Argument[%d]", m.places[i])))
	}
	for _, i := range m.inner {
		parts = append(parts, i.text())
	}
	return sweepOf(parts...)
}

// all gives each job as what its arguments are, with those that nobody sets as the document has them.
func (m made) all(from []string, give func([]string)) {
	for k := range m.lockstep[0] {
		args := slices.Clone(from)
		for i, l := range m.lockstep {
			args[m.places[i]-1] = l[k]
		}
		if len(m.inner) == 0 {
			give(args)
		}
		for _, i := range m.inner {
			i.all(args, give)
		}
	}
}

const arguments = 6

func draw(t *rapid.T, depth int, free []int) made {
	var m made
	n := rapid.IntRange(1, 3).Draw(t, "values")
	free = rapid.Permutation(free).Draw(t, "places")
	for range rapid.IntRange(1, min(2, len(free))).Draw(t, "assignments") {
		m.places = append(m.places, free[0])
		free = free[1:]
		m.lockstep = append(m.lockstep, rapid.SliceOfN(rapid.StringMatching(`[a-c]{0,2}`), n, n).Draw(t, "list"))
	}
	if depth > 0 && len(free) > 0 {
		for range rapid.IntRange(0, 2).Draw(t, "inner") {
			m.inner = append(m.inner, draw(t, depth-1, free))
		}
	}
	return m
}

func TestAsByRecursion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var plain, sweeps strings.Builder
		from := make([]string, arguments)
		for i := range from {
			from[i] = fmt.Sprint("plain", i)
			fmt.Fprintf(&plain, "<p:Argument>%s</p:Argument>", from[i])
		}
		var want [][]string
		for range rapid.IntRange(1, 2).Draw(t, "siblings") {
			m := draw(t, 2, []int{1, 2, 3, 4, 5, 6})
			sweeps.WriteString(m.text())
			m.all(from, func(args []string) { want = append(want, args) })
		}
		text := strings.Replace(head, "<p:Argument>a1</p:Argument>\n      <p:Argument>file-XXX.dat</p:Argument>\n      <p:Argument/>", plain.String(), 1) + sweeps.String() + tail
		s, err := Read("f", []byte(text), 0)
		if err != nil {
			t.Fatalf("%v of\n%s", err, text)
		}
		if s.Jobs() != len(want) {
			t.Fatalf("%d jobs, not %d", s.Jobs(), len(want))
		}
		for _, n := range rapid.Permutation(upTo(len(want))).Draw(t, "order") {
			d, err := jsdl.Parse("f", s.Document(n))
			if err != nil || !slices.Equal(d.Job.Program.Arguments, want[n-1]) {
				t.Fatalf("job %d: %v, %v, not %q", n, err, d, want[n-1])
			}
		}
	})
}

func upTo(n int) (list []int) {
	for i := range n {
		list = append(list, i+1)
	}
	return list
}

// A loop has the values that counting one by one finds.
func TestLoopAsByCounting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start, step := rapid.IntRange(-30, 30).Draw(t, "start"), rapid.SampledFrom([]int{-7, -2, -1, 1, 2, 5}).Draw(t, "step")
		steps := rapid.IntRange(0, 20).Draw(t, "steps")
		end := start + step*steps
		if step > 1 && steps > 0 {
			end++
		}
		exceptions := rapid.SliceOfN(rapid.IntRange(-60, 60), 0, 8).Draw(t, "exceptions")
		var want []string
		for i := range steps + 1 {
			if v := start + i*step; !slices.Contains(exceptions, v) {
				want = append(want, decimal(int64(v), 1))
			}
		}
		if len(want) == 0 {
			return
		}
		var b strings.Builder
		fmt.Fprintf(&b, `<f:LoopDouble start="%de-1" end="%de-1" step="%de-1">`, start, end, step)
		for _, e := range exceptions {
			fmt.Fprintf(&b, `<f:Exception value="%de-1"/>`, e)
		}
		var got []string
		for _, a := range expand(t, head+sweepOf(assign(b.String()+"</f:LoopDouble>", "//q:Argument[1]"))+tail) {
			value, _, _ := strings.Cut(a, "|")
			got = append(got, value)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%s: %q, not %q", b.String(), got, want)
		}
	})
}

// Whatever is read, what it stands for is XML again and no sweep.
func FuzzRead(f *testing.F) {
	f.Add(head + sweepOf(assign(values("x", "y"), "//q:Argument[1]", "substring(//q:Argument[2],2,1)"), sweepOf(assign(`<f:LoopDouble start="1" end="2" step="0.5"/>`, "//q:Argument[3]"))) + tail)
	f.Add(head + sweepOf(assign(`<f:LoopInteger start="1" end="9"><f:Exception value="2"/></f:LoopInteger>`, "//q:Environment/@name")) + tail)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Read("f", []byte(text), 0)
		if err != nil || s == nil {
			return
		}
		if s.Jobs() < 1 || s.Jobs() > MaxJobs {
			t.Fatalf("%d jobs", s.Jobs())
		}
		for _, n := range []int{1, s.Jobs()} {
			d := s.Document(n)
			if again, err := Read("f", d, 0); len(d) <= jsdl.MaxDocument && (err != nil || again != nil) {
				t.Fatalf("job %d: %v, %v\n%s", n, again, err, d)
			}
		}
	})
}
