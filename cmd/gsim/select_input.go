package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"

	"gbroker/grid"
	"gbroker/plan"
)

// Limits of a slot file, so that none fills the memory.
const (
	maxFile      = 4 << 30 // bytes
	maxFileSlots = 10_000_000
	maxFileSites = 10_000
	maxFileNodes = 1_000_000 // of one site
	maxText      = 255       // bytes of a name
	maxSeconds   = 1e12      // as plan takes them
)

// slotFile is what a slot file holds.
type slotFile struct {
	now      grid.Tick
	sites    []plan.SlotSite
	delivery []grid.Tick
	slots    []grid.Slot
	inPart   []bool // by slot: it says how much of the node there is
}

// slotReader reads a slot file token by token: every field once, under its exact name, no
// needed one missing, and every mistake told with its place.
type slotReader struct {
	json  *json.Decoder
	place []string          // "slots", "[3]", ".start"
	names map[string]string // each name is kept once
}

func parseSlots(r io.Reader) (*slotFile, error) {
	limited := &io.LimitedReader{R: r, N: maxFile}
	d := &slotReader{json: json.NewDecoder(limited), names: make(map[string]string)}
	d.json.UseNumber()
	var f slotFile
	err := d.object(fields{
		"now":   func() (err error) { f.now, err = d.instant(); return err },
		"sites": func() error { return d.array(maxFileSites, func() error { return d.site(&f) }) },
		"slots": func() error { return d.array(maxFileSlots, func() error { return d.slot(&f) }) },
	}, nil)
	if err == nil {
		if _, more := d.json.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something follows the end of the document")
		}
	}
	if err == nil {
		f.complete()
		return &f, nil
	}
	if limited.N <= 0 {
		return nil, fmt.Errorf("%w: more than %d bytes", grid.ErrInvalid, int64(maxFile))
	}
	if where := strings.TrimPrefix(strings.Join(d.place, ""), "."); where != "" {
		err = fmt.Errorf("%s: %w", where, err)
	}
	return nil, fmt.Errorf("%w: %w", grid.ErrInvalid, err)
}

func (d *slotReader) site(f *slotFile) error {
	var s plan.SlotSite
	var delivery grid.Tick
	err := d.object(fields{
		"name":       func() error { name, err := d.text(); s.Name = grid.SiteName(name); return err },
		"delivery_s": func() (err error) { delivery, err = d.instant(); return err },
		"speed":      func() (err error) { s.Speed, err = d.number(); return err },
	}, fields{
		"architecture": func() (err error) { s.Architecture, err = d.text(); return err },
		"system":       func() (err error) { s.System, err = d.text(); return err },
		"nodes":        func() error { return d.array(maxFileNodes, func() error { return d.node(&s) }) },
	})
	f.sites, f.delivery = append(f.sites, s), append(f.delivery, delivery)
	return err
}

func (d *slotReader) node(s *plan.SlotSite) error {
	var n plan.Node
	err := d.object(fields{
		"name":  func() error { name, err := d.text(); n.Name = grid.NodeName(name); return err },
		"cores": func() error { cores, err := d.whole(); n.Cores = int(cores); return err },
	}, fields{
		"memory":       func() (err error) { n.Memory, err = d.whole(); return err },
		"resources":    func() (err error) { n.Resources, err = d.resources(); return err },
		"architecture": func() (err error) { n.Architecture, err = d.text(); return err },
		"system":       func() (err error) { n.System, err = d.text(); return err },
		"properties": func() error {
			return d.array(grid.MaxProperties, func() error {
				p, err := d.text()
				n.Properties = append(n.Properties, p)
				return err
			})
		},
	})
	s.Nodes = append(s.Nodes, n)
	return err
}

func (d *slotReader) slot(f *slotFile) error {
	var s grid.Slot
	var inPart bool
	err := d.object(fields{
		"site":  func() error { name, err := d.text(); s.Site = grid.SiteName(name); return err },
		"node":  func() error { name, err := d.text(); s.Node = grid.NodeName(name); return err },
		"start": func() (err error) { s.Start, err = d.instant(); return err },
		"end":   func() (err error) { s.End, err = d.instant(); return err },
		"price": func() (err error) { s.Price, err = d.number(); return err },
	}, fields{
		"cores":     func() error { cores, err := d.whole(); s.Cores, inPart = int(cores), true; return err },
		"memory":    func() (err error) { s.Memory, err = d.whole(); inPart = true; return err },
		"resources": func() (err error) { s.Resources, err = d.resources(); inPart = true; return err },
	})
	f.slots, f.inPart = append(f.slots, s), append(f.inPart, inPart)
	return err
}

// complete makes nodes that are not described ones of one core, and gives slots that do not
// say how much there is all of their node.
func (f *slotFile) complete() {
	type key struct {
		site grid.SiteName
		node grid.NodeName
	}
	site := make(map[grid.SiteName]*plan.SlotSite)
	known := make(map[key]plan.Node)
	for i := range f.sites {
		s := &f.sites[i]
		site[s.Name] = s
		for _, n := range s.Nodes {
			known[key{s.Name, n.Name}] = n
		}
	}
	for i := range f.slots {
		s := &f.slots[i]
		n, ok := known[key{s.Site, s.Node}]
		if at := site[s.Site]; !ok && at != nil {
			n = plan.Node{Name: s.Node, Cores: 1}
			known[key{s.Site, s.Node}], at.Nodes = n, append(at.Nodes, n)
		}
		if !f.inPart[i] {
			s.Cores, s.Memory, s.Resources = n.Cores, n.Memory, n.Resources
		}
	}
}

// resources reads an object of amounts by name.
func (d *slotReader) resources() (list []grid.Resource, err error) {
	if err := d.open('{', "an object"); err != nil {
		return nil, err
	}
	for d.json.More() {
		r := grid.Resource{}
		if r.Name, err = d.text(); err == nil {
			r.Amount, err = d.whole()
		}
		if err == nil {
			err = grid.CheckResource(r)
		}
		if err == nil && len(list) == grid.MaxResources {
			err = fmt.Errorf("at most %d resources are read", grid.MaxResources)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	_, err = d.token()
	return list, err
}

// fields are how to read those of an object.
type fields map[string]func() error

// object reads an object that has all of some fields, any of some others, and no more.
func (d *slotReader) object(needed, optional fields) error {
	if err := d.open('{', "an object"); err != nil {
		return err
	}
	seen := make(map[string]bool, len(needed)+len(optional))
	for d.json.More() {
		token, err := d.token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		read := needed[name]
		if read == nil {
			read = optional[name]
		}
		if read == nil {
			return fmt.Errorf("there is no field %.80q: the fields are %s", name, list(needed, optional))
		}
		d.place = append(d.place, "."+name)
		if seen[name] {
			return errors.New("the field comes twice")
		}
		seen[name] = true
		if err := read(); err != nil {
			return err
		}
		d.place = d.place[:len(d.place)-1]
	}
	if _, err := d.token(); err != nil {
		return err
	}
	for name := range needed {
		if seen[name] {
			delete(needed, name)
		}
	}
	if len(needed) > 0 {
		return fmt.Errorf("it lacks %s", list(needed, nil))
	}
	return nil
}

var fieldNames = strings.Fields("now sites slots name delivery_s speed architecture system nodes site node start end price cores memory resources properties")

func list(needed, optional fields) string {
	var names []string
	for _, name := range fieldNames {
		if needed[name] != nil || optional[name] != nil {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

func (d *slotReader) array(most int, element func() error) error {
	if err := d.open('[', "a list"); err != nil {
		return err
	}
	d.place = append(d.place, "")
	for i := 0; d.json.More(); i++ {
		d.place[len(d.place)-1] = "[" + strconv.Itoa(i) + "]"
		if i == most {
			return fmt.Errorf("at most %d are read", most)
		}
		if err := element(); err != nil {
			return err
		}
	}
	d.place = d.place[:len(d.place)-1]
	_, err := d.token()
	return err
}

func (d *slotReader) open(delim json.Delim, what string) error {
	token, err := d.token()
	if err != nil {
		return err
	}
	if token != delim {
		return fmt.Errorf("%s is expected, not %s", what, shown(token))
	}
	return nil
}

func (d *slotReader) token() (json.Token, error) {
	token, err := d.json.Token()
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("the file ends here, after %d bytes", d.json.InputOffset())
	case err != nil:
		return nil, fmt.Errorf("no JSON near byte %d: %w", d.json.InputOffset(), err)
	}
	return token, nil
}

func (d *slotReader) number() (float64, error) {
	token, err := d.token()
	if err != nil {
		return 0, err
	}
	number, ok := token.(json.Number)
	if !ok {
		return 0, fmt.Errorf("a number is expected, not %s", shown(token))
	}
	x, err := number.Float64()
	if err != nil {
		return 0, fmt.Errorf("%.40s is beyond all numbers", number.String())
	}
	return x, nil
}

// whole is a whole number from 0 up.
func (d *slotReader) whole() (int64, error) {
	x, err := d.number()
	if err == nil && (x != math.Trunc(x) || x < 0 || x > 1<<53) {
		err = fmt.Errorf("%v: a whole number from 0 up", x)
	}
	return int64(x), err
}

// instant is a time in seconds, to the nearest millisecond.
func (d *slotReader) instant() (grid.Tick, error) {
	x, err := d.number()
	if err != nil {
		return 0, err
	}
	if math.Abs(x) > maxSeconds {
		return 0, fmt.Errorf("%v s: at most %.0e s", x, maxSeconds)
	}
	return grid.FromSeconds(x), nil
}

func (d *slotReader) text() (string, error) {
	token, err := d.token()
	if err != nil {
		return "", err
	}
	name, ok := token.(string)
	switch {
	case !ok:
		return "", fmt.Errorf("a name in quotes is expected, not %s", shown(token))
	case name == "":
		return "", errors.New("the name is empty")
	case len(name) > maxText:
		return "", fmt.Errorf("the name has %d bytes: at most %d", len(name), maxText)
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "", fmt.Errorf("the name %q has a character that cannot be seen", name)
	}
	if kept, ok := d.names[name]; ok {
		return kept, nil
	}
	d.names[name] = name
	return name, nil
}

// shown is a token in an error.
func shown(token json.Token) string {
	switch t := token.(type) {
	case nil:
		return "null"
	case string:
		return fmt.Sprintf("%.40q", t)
	}
	return fmt.Sprintf("%.40v", token)
}
