package jsdl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gbroker/grid"
)

// own reads the elements of our own namespace.
func (p *parser) own(found map[string][]*element, w *wishes) {
	job := &p.document.Job
	w.wallTime = first(found["WallTime"])
	w.named = p.named(found["Resource"])
	p.pieces(found["Piece"], w)
	job.Demand.Properties = p.properties(found["Property"])
	yes := func(name string, to *bool) {
		if e := first(found[name]); e != nil {
			*to, _ = p.boolean(e)
		}
	}
	yes("DistinctNodes", &job.Demand.DistinctNodes)
	yes("Rerunnable", &job.Rerunnable)
	yes("Hold", &job.Terms.Held)
	if e := first(found["Queue"]); e != nil {
		p.queue(e)
	}
	if e := first(found["Account"]); e != nil {
		job.Account = p.word(e)
		if err := grid.CheckAccount(job.Account); err != nil || job.Account == "" {
			p.at(e.at, "Account is %s: give letters, digits and . _ @ + -", quote(job.Account))
		}
	}
	if e := first(found["Sites"]); e != nil {
		p.sites(e)
	}
	if e := first(found["Coallocation"]); e != nil {
		p.coallocation(e)
	}
	if e := first(found["Signal"]); e != nil {
		p.signal(e)
	}
	if e := first(found["Dialect"]); e != nil {
		job.Program.Dialect = grid.Dialect(p.word(e))
		if err := job.Program.Dialect.Check(); err != nil || job.Program.Dialect == "" {
			p.at(e.at, "Dialect is %s: write one of %v", quote(string(job.Program.Dialect)), grid.Dialects)
		}
	}
	for _, e := range found["Bring"] {
		p.bring(e)
	}
	p.terms(found)
}

// bring reads a pattern of files that come back.
func (p *parser) bring(e *element) {
	b := grid.Bring{Pattern: p.word(e)}
	if bytes, given := e.attribute("", "bytes"); given {
		n, err := strconv.ParseInt(strings.Trim(bytes, whiteSpace), 10, 64)
		if err != nil || n < 1 {
			p.at(e.at, "Bring: bytes is %s: write a whole number from 1 on", quote(bytes))
			return
		}
		b.Bytes = n
	}
	p.told(e, b.Check())
	p.document.Job.Bring = append(p.document.Job.Bring, b)
}

// terms reads what the home sees to.
func (p *parser) terms(found map[string][]*element) {
	terms := &p.document.Job.Terms
	notBefore, deadline := first(found["NotBefore"]), first(found["Deadline"])
	if notBefore != nil {
		terms.NotBefore = p.instant(notBefore)
	}
	if deadline != nil {
		terms.Deadline = p.instant(deadline)
	}
	if terms.NotBefore != 0 && terms.Deadline != 0 && terms.NotBefore >= terms.Deadline {
		p.at(deadline.at, "Deadline is not after the NotBefore of line %d", notBefore.at.line)
	}
	if e := first(found["Fee"]); e != nil {
		terms.Fee, _ = p.whole(e, "a whole number", 0, grid.MaxFee)
	}
	if e := first(found["Priority"]); e != nil {
		n, _ := p.whole(e, "a whole number", -grid.MaxPriority, grid.MaxPriority)
		terms.Priority = int(n)
	}
	for _, e := range found["After"] {
		kind, given := e.attribute("", "kind")
		d := grid.Dependency{Kind: grid.DependencyKind(strings.Trim(kind, whiteSpace)), On: p.word(e)}
		if !given {
			d.Kind = grid.AfterOK
		}
		p.told(e, d.Check())
		terms.After = append(terms.After, d)
	}
	for _, e := range found["Notify"] {
		when, given := e.attribute("", "when")
		n := grid.Notice{When: grid.Occasion(strings.Trim(when, whiteSpace)), To: p.word(e)}
		if !given {
			n.When = grid.OnEnd
		}
		p.told(e, n.Check())
		terms.Notify = append(terms.Notify, n)
	}
}

// told tells of what a check of package grid found wrong with an element.
func (p *parser) told(e *element, err error) {
	if err != nil {
		p.at(e.at, "%s: %v", e.local, err)
	}
}

// instant reads an xsd:dateTime, which must have a zone.
func (p *parser) instant(e *element) grid.Tick {
	s := p.word(e)
	t, err := time.ParseInLocation(time.RFC3339Nano, s, time.UTC)
	if err != nil {
		if _, err := time.ParseInLocation("2006-01-02T15:04:05.999999999", s, time.UTC); err == nil {
			p.at(e.at, "%s is %s, which has no zone: write %sZ for UTC, or its offset as in %s+01:00", e.local, quote(s), s, s)
			return 0
		}
		p.at(e.at, "%s is %s: write it as 2026-11-30T18:00:00+01:00", e.local, quote(s))
		return 0
	}
	if t.UnixMilli() <= 0 {
		p.at(e.at, "%s is %s: that is before 1970", e.local, quote(s))
		return 0
	}
	return grid.InstantOf(t)
}

func (p *parser) sites(e *element) {
	found := p.content(e, e.local)
	choice := &p.document.Job.Sites
	before := len(p.list)
	for local, to := range map[string]*[]grid.SiteName{"Only": &choice.Only, "Not": &choice.Not, "Prefer": &choice.Prefer} {
		for _, c := range found[local] {
			name := p.word(c)
			p.told(c, grid.CheckName(name))
			*to = append(*to, grid.SiteName(name))
		}
	}
	if len(p.list) == before {
		p.told(e, choice.Check())
	}
}

// coallocation reads over how many sites the job may lie.
func (p *parser) coallocation(e *element) {
	p.content(e, e.local)
	if _, given := e.attribute("", "sites"); !given {
		p.at(e.at, "Coallocation has no sites: write over how many at most the job may lie, as in <Coallocation sites=\"2\"/>")
		return
	}
	c := &grid.Coallocation{
		Sites:   int(p.attributeNumber(e, "sites", 1, grid.MaxPartSites)),
		PerSite: int(p.attributeNumber(e, "processes", 1, grid.MaxProcesses)),
	}
	for name, to := range map[string]*bool{"early": &c.Early, "survive": &c.Survive, "reach": &c.Reach} {
		text, given := e.attribute("", name)
		if !given {
			continue
		}
		var ok bool
		if *to, ok = parseBoolean(text); !ok {
			p.at(e.at, "%s of Coallocation is %s: give true or false", name, quote(text))
		}
	}
	p.document.Job.Coallocation = c
}

// coallocation writes over how many sites the job may lie.
func (w *writer) coallocation(c *grid.Coallocation) {
	text := fmt.Sprintf("<gb:Coallocation sites=\"%d\" processes=\"%d\"", c.Sites, c.PerSite)
	for _, said := range []struct {
		name string
		is   bool
	}{{"early", c.Early}, {"survive", c.Survive}, {"reach", c.Reach}} {
		if said.is {
			text += fmt.Sprintf(" %s=%q", said.name, "true")
		}
	}
	w.line(text + "/>")
}

// signals are those that people name.
var signals = map[string]int{"HUP": 1, "INT": 2, "QUIT": 3, "USR1": 10, "USR2": 12, "TERM": 15, "CONT": 18, "XCPU": 24}

// signalNumber is the number of a signal that is named, with or without SIG, or given as a number; 0
// if it is none.
func signalNumber(s string) int {
	if n, err := strconv.Atoi(s); err == nil && n >= 1 && n <= grid.MaxSignalSent {
		return n
	}
	return signals[strings.TrimPrefix(strings.ToUpper(s), "SIG")]
}

func (p *parser) signal(e *element) {
	s := p.word(e)
	n := signalNumber(s)
	if n == 0 {
		p.at(e.at, "Signal is %s: give a number from 1 to %d, or a name such as USR1", quote(s), grid.MaxSignalSent)
	}
	text, given := e.attribute("", "before")
	before, ok := parseInteger(strings.Trim(text, whiteSpace))
	if !given || !ok || before < 1 || before > int64(grid.MaxWalltime/grid.Second) {
		p.at(e.at, "Signal has before=%s: write how many seconds before the limit it comes, as in <Signal before=\"60\">USR1</Signal>", quote(text))
		return
	}
	leader := false
	if text, given := e.attribute("", "leader"); given {
		if leader, ok = parseBoolean(text); !ok {
			p.at(e.at, "leader of Signal is %s: give true or false", quote(text))
		}
	}
	p.document.Job.Warning = grid.Warning{Signal: n, Before: grid.Tick(before) * grid.Second, Leader: leader}
}

// pieces reads the Piece elements, which say by themselves how the job lies on nodes.
func (p *parser) pieces(list []*element, w *wishes) {
	for i, e := range list {
		if i == 0 {
			w.piecesAt = e.at
		}
		before := len(p.list)
		c := grid.Chunk{
			Count:     int(p.attributeNumber(e, "count", 1, grid.MaxProcesses)),
			Processes: int(p.attributeNumber(e, "processes", 1, grid.MaxProcesses)),
			Memory:    p.attributeNumber(e, "memory", 0, grid.MaxMemory),
		}
		c.Cores = c.Processes
		if _, given := e.attribute("", "cores"); given {
			c.Cores = int(p.attributeNumber(e, "cores", 0, grid.MaxProcesses))
		}
		for _, r := range p.named(p.content(e, e.local)["Resource"]) {
			c.Resources = append(c.Resources, r.Resource)
		}
		p.told(e, c.CheckResources())
		if len(p.list) == before && c.Memory > maxTotalMemory/int64(c.Count) {
			p.at(e.at, "%d pieces of %d bytes are more memory than can be counted", c.Count, c.Memory)
		}
		w.broken = w.broken || len(p.list) > before
		w.pieces = append(w.pieces, c)
	}
	if d := (grid.Demand{Chunks: w.pieces}); !w.broken && max(d.Processes(), d.Cores()) > grid.MaxProcesses {
		p.at(w.piecesAt, "the job asks for %d cores: at most %d", max(d.Processes(), d.Cores()), grid.MaxProcesses)
	}
}

// attributeNumber is the value of an attribute; least where it is not there.
func (p *parser) attributeNumber(e *element, name string, least, most int64) int64 {
	s, given := e.attribute("", name)
	if !given {
		return least
	}
	n, ok := parseInteger(strings.Trim(s, whiteSpace))
	if !ok || n < least || n > most {
		p.at(e.at, "%s of %s is %s: give a whole number from %d to %d", name, e.local, quote(s), least, most)
		return least
	}
	return n
}

// signalName is how a signal is printed.
func signalName(n int) string {
	var names []string
	for name, number := range signals {
		if number == n {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return strconv.Itoa(n)
	}
	return slices.Min(names)
}
