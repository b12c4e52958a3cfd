package supervise

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"gbroker/grid"
)

// Encode gives the content of a SPECFILE. Values must be without zero bytes.
func (s *Spec) Encode() ([]byte, error) {
	w := &writer{}
	w.text("gbroker-spec", version)
	w.text("job", string(s.ID.Job))
	w.number("term", int64(s.ID.Epoch.Term))
	w.number("hop", int64(s.ID.Epoch.Hop))
	w.number("attempt", int64(s.ID.Attempt))
	w.text("name", s.Name)
	w.text("work", s.Work)
	w.text("control", s.Control)
	w.number("limit", int64(s.Limit))
	w.number("expected", int64(s.Expected))
	w.number("age", int64(s.Age))
	w.number("arrived", int64(s.Arrived))
	w.number("sequence", int64(s.Sequence))
	w.number("grace", int64(s.Grace))
	w.text("site", string(s.Site))
	w.text("path", s.Path)
	w.texts("base", s.Base)
	w.text("architecture", s.Demand.Architecture)
	w.text("system", s.Demand.System)
	for _, c := range s.Demand.Chunks {
		w.text("chunk", fmt.Sprint(c.Count, c.Processes, c.Cores, c.Memory)+words(c.Resources))
	}
	w.texts("property", s.Demand.Properties)
	if s.Demand.Exclusive {
		w.number("exclusive", 1)
	}
	if s.Demand.DistinctNodes {
		w.number("distinct-nodes", 1)
	}
	w.texts("host", s.Demand.Hosts)
	if s.Demand.Disk > 0 {
		w.number("disk", s.Demand.Disk)
	}
	for _, m := range s.Demand.Measures {
		for _, i := range m.Within {
			w.text("measure", fmt.Sprint(m.Of, " ", i.Low, " ", i.High, " ", i.LowOpen, " ", i.HighOpen))
		}
	}
	if s.Queue != "" {
		w.text("queue", string(s.Queue))
	}
	if s.Reservation != "" {
		w.text("reservation", s.Reservation)
	}
	if s.Held {
		w.number("held", 1)
	}
	if s.Group != "" {
		w.text("group", s.Group)
	}
	if s.FileLimit > 0 {
		w.number("file-limit", s.FileLimit)
	}
	w.program(&s.Program)
	w.warning(s.Warning)
	if s.Part != nil {
		w.part(s.Part, s.Ports)
	}
	for _, h := range s.Shares {
		w.text("share", fmt.Sprint(h.Node, " ", h.Processes, " ", h.Cores, " ", h.Memory)+words(h.Resources))
	}
	for _, g := range s.GPUs {
		w.number("gpu", int64(g))
	}
	w.text("end", "")
	if w.err == nil && w.b.Len() > maxSpec {
		w.err = fmt.Errorf("%w: the job's arguments and environment take %d bytes: at most %d", grid.ErrInvalid, w.b.Len(), maxSpec)
	}
	return []byte(w.b.String()), w.err
}

// words writes named resources behind the numbers of a record.
func words(list []grid.Resource) string {
	var b strings.Builder
	for _, r := range list {
		fmt.Fprintf(&b, " %s=%d", r.Name, r.Amount)
	}
	return b.String()
}

type writer struct {
	b   strings.Builder
	err error
}

func (w *writer) text(key, value string) {
	if strings.IndexByte(value, 0) >= 0 && w.err == nil {
		w.err = fmt.Errorf("%w: %s has a zero byte, which no program can be given", grid.ErrInvalid, key)
	}
	w.b.WriteString(key)
	w.b.WriteByte('=')
	w.b.WriteString(value)
	w.b.WriteByte(0)
}

func (w *writer) number(key string, n int64) { w.text(key, strconv.FormatInt(n, 10)) }

func (w *writer) texts(key string, values []string) {
	for _, v := range values {
		w.text(key, v)
	}
}

func (w *writer) program(p *grid.Program) {
	w.text("executable", p.Executable)
	w.texts("argument", p.Arguments)
	w.text("input", p.Input)
	w.text("output", p.Output)
	w.text("error", p.Error)
	w.text("directory", p.Directory)
	for _, v := range p.Environment {
		if v.Name == "" || strings.Contains(v.Name, "=") {
			w.err = errors.Join(w.err, fmt.Errorf("%w: %.80q cannot name an environment variable", grid.ErrInvalid, v.Name))
		}
		w.text("variable", v.Name+"="+v.Value)
	}
	w.text("parallel", p.Parallel)
	if p.Dialect != "" {
		w.text("dialect", string(p.Dialect))
	}
	for _, l := range p.Limits {
		w.text("process-limit", fmt.Sprintf("%s %d", l.Name, l.Value))
	}
}

func (w *writer) warning(v grid.Warning) {
	if v == (grid.Warning{}) {
		return
	}
	w.number("warning", int64(v.Signal))
	w.number("warn-before", int64(v.Before))
	if v.Leader {
		w.number("warn-leader", 1)
	}
}
