package wire

import "gbroker/grid"

// The bodies in this file are parts of a job's, and hashed with it: what holds there holds here.

type choiceBody struct {
	Only   []string `msgpack:"o,omitempty"`
	Not    []string `msgpack:"n,omitempty"`
	Prefer []string `msgpack:"p,omitempty"`
}

func fromChoice(c grid.Choice) *choiceBody {
	if len(c.Only)+len(c.Not)+len(c.Prefer) == 0 {
		return nil
	}
	text := func(s grid.SiteName) string { return string(s) }
	return &choiceBody{each(c.Only, text), each(c.Not, text), each(c.Prefer, text)}
}

func (b *choiceBody) choice() grid.Choice {
	if b == nil {
		return grid.Choice{}
	}
	name := func(s string) grid.SiteName { return grid.SiteName(s) }
	return grid.Choice{Only: each(b.Only, name), Not: each(b.Not, name), Prefer: each(b.Prefer, name)}
}

type warningBody struct {
	Signal int64 `msgpack:"s,omitempty"`
	Before int64 `msgpack:"b,omitempty"`
	Leader bool  `msgpack:"l,omitempty"`
}

func fromWarning(w grid.Warning) *warningBody {
	if w == (grid.Warning{}) {
		return nil
	}
	return &warningBody{int64(w.Signal), int64(w.Before), w.Leader}
}

func (b *warningBody) warning() grid.Warning {
	if b == nil {
		return grid.Warning{}
	}
	return grid.Warning{Signal: int(b.Signal), Before: grid.Tick(b.Before), Leader: b.Leader}
}

type sourceBody struct {
	Path string `msgpack:"p,omitempty"`
	URI  string `msgpack:"u,omitempty"`
	Flag uint64 `msgpack:"f,omitempty"`
}

func fromSource(s grid.Source) sourceBody { return sourceBody{s.Path, s.URI, uint64(s.Flag)} }

func (b sourceBody) source(c *check) grid.Source {
	c.valid("uri", grid.CheckURI(b.URI))
	return grid.Source{Path: c.file("path", b.Path), URI: b.URI, Flag: c.flag("flag", b.Flag)}
}

type bringBody struct {
	Pattern string `msgpack:"p,omitempty"`
	Bytes   int64  `msgpack:"b,omitempty"`
}

func fromBring(b grid.Bring) bringBody { return bringBody(b) }

func (b bringBody) bring(c *check) grid.Bring {
	c.valid("pattern", grid.Bring(b).Check())
	return grid.Bring(b)
}

func (c *check) flag(name string, v uint64) grid.CreationFlag {
	f := grid.CreationFlag(min(v, 255))
	if !f.Valid() {
		c.fail(name, "%d is no creation flag", v)
	}
	return f
}

type aboutBody struct {
	Description string   `msgpack:"d,omitempty"`
	Application string   `msgpack:"a,omitempty"`
	Version     string   `msgpack:"v,omitempty"`
	Annotations []string `msgpack:"n,omitempty"`
	Projects    []string `msgpack:"p,omitempty"`
}

func fromAbout(a grid.About) *aboutBody {
	if a.Description == "" && a.Application == "" && a.Version == "" && len(a.Annotations)+len(a.Projects) == 0 {
		return nil
	}
	b := aboutBody(a)
	return &b
}

func (b *aboutBody) about() grid.About {
	if b == nil {
		return grid.About{}
	}
	same := func(s string) string { return s }
	return grid.About{
		Description: b.Description, Application: b.Application, Version: b.Version,
		Annotations: each(b.Annotations, same), Projects: each(b.Projects, same),
	}
}

type limitBody struct {
	Name  string `msgpack:"n,omitempty"`
	Value int64  `msgpack:"v,omitempty"`
}

// fromLimits takes the memory out of the limits: it has a field of its own since before there
// were others.
func fromLimits(p grid.Program) (memory int64, others []limitBody) {
	for _, l := range p.Limits {
		if l.Name == grid.LimitMemory {
			memory = l.Value
		} else {
			others = append(others, limitBody{string(l.Name), l.Value})
		}
	}
	return memory, others
}

func (b programBody) limits(c *check) []grid.Limit {
	limits := each(b.Limits, func(l limitBody) grid.Limit { return grid.Limit{Name: grid.LimitName(l.Name), Value: l.Value} })
	c.valid("limits", grid.CheckLimits(limits))
	if c.between("memory_limit", b.MemoryLimit, 0, grid.MaxMemory) == 0 || c.err != nil {
		return limits
	}
	p := grid.Program{Limits: limits}
	if _, twice := p.Limit(grid.LimitMemory); twice {
		c.fail("limits", "the memory is limited twice")
	}
	p.SetLimit(grid.LimitMemory, b.MemoryLimit)
	return p.Limits
}

type measureBody struct {
	Of     string         `msgpack:"o,omitempty"`
	Within []intervalBody `msgpack:"w,omitempty"`
}

type intervalBody struct {
	Low      float64 `msgpack:"l,omitempty"`
	High     float64 `msgpack:"h,omitempty"`
	LowOpen  bool    `msgpack:"lo,omitempty"`
	HighOpen bool    `msgpack:"ho,omitempty"`
}

func fromMeasure(m grid.Measure) measureBody {
	return measureBody{string(m.Of), each(m.Within, func(i grid.Interval) intervalBody { return intervalBody(i) })}
}

func (b measureBody) measure(*check) grid.Measure {
	return grid.Measure{Of: grid.Quantity(b.Of), Within: each(b.Within, func(i intervalBody) grid.Interval { return grid.Interval(i) })}
}
