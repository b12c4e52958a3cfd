package supervise

import (
	"fmt"
	"strings"

	"gbroker/grid"
)

func (w *writer) part(p *grid.Part, ports grid.Ports) {
	w.text("part", fmt.Sprint(p.Of, " ", p.Rank, " ", p.Round, " ", int64(p.Start), " ", int64(p.Grace), " ", int64(p.Within)))
	for _, s := range p.Sites {
		w.text("part-site", fmt.Sprint(s.Name, " ", s.Processes))
	}
	w.text("port", fmt.Sprint(ports.First, " ", ports.Last))
}

// setPart reads one of the records of a part. What nothing here asks for is left out.
func (s *Spec) setPart(key, value string) error {
	if key == "port" {
		return scan(value, &s.Ports.First, &s.Ports.Last)
	}
	if s.Part == nil {
		s.Part = &grid.Part{}
	}
	p := s.Part
	if key == "part" {
		return scan(value, &p.Of, &p.Rank, &p.Round, (*int64)(&p.Start), (*int64)(&p.Grace), (*int64)(&p.Within))
	}
	var at grid.PartSite
	if err := scan(value, &at.Name, &at.Processes); err != nil {
		return err
	}
	p.Sites = append(p.Sites, at)
	return nil
}

// scan reads exactly as many words as there are places for them.
func scan(value string, to ...any) error {
	if n := len(strings.Fields(value)); n != len(to) {
		return fmt.Errorf("%.80q has %d words, and not %d", value, n, len(to))
	}
	if _, err := fmt.Sscan(value, to...); err != nil {
		return fmt.Errorf("%.80q: %w", value, err)
	}
	return nil
}

func (s *Spec) checkPart() error {
	if p := s.Part; p.Rank < 0 || p.Rank >= len(p.Sites) || len(p.Sites) > grid.MaxPartSites {
		return fmt.Errorf("part %d of %d of a co-allocated job: there is none", p.Rank, len(p.Sites))
	}
	return s.Ports.Check()
}
