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
	maxText      = 255  // bytes of a name
	maxSeconds   = 1e12 // as plan takes them
)

// slotFile is what a slot file holds.
type slotFile struct {
	now      grid.Tick
	sites    []plan.SlotSite
	delivery []grid.Tick
	slots    []grid.Slot
}

// slotReader reads a slot file token by token: every field once, under its exact name,
// none missing, and every mistake told with its place.
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
	err := d.object(map[string]func() error{
		"now":   func() (err error) { f.now, err = d.instant(); return err },
		"sites": func() error { return d.array(maxFileSites, func() error { return d.site(&f) }) },
		"slots": func() error { return d.array(maxFileSlots, func() error { return d.slot(&f) }) },
	})
	if err == nil {
		if _, more := d.json.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something follows the end of the document")
		}
	}
	if err == nil {
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
	var name string
	var delivery grid.Tick
	var speed float64
	err := d.object(map[string]func() error{
		"name":       func() (err error) { name, err = d.text(); return err },
		"delivery_s": func() (err error) { delivery, err = d.instant(); return err },
		"speed":      func() (err error) { speed, err = d.number(); return err },
	})
	f.sites = append(f.sites, plan.SlotSite{Name: grid.SiteName(name), Speed: speed})
	f.delivery = append(f.delivery, delivery)
	return err
}

func (d *slotReader) slot(f *slotFile) error {
	var s grid.Slot
	err := d.object(map[string]func() error{
		"site":  func() error { name, err := d.text(); s.Site = grid.SiteName(name); return err },
		"node":  func() error { name, err := d.text(); s.Node = grid.NodeName(name); return err },
		"start": func() (err error) { s.Start, err = d.instant(); return err },
		"end":   func() (err error) { s.End, err = d.instant(); return err },
		"price": func() (err error) { s.Price, err = d.number(); return err },
	})
	f.slots = append(f.slots, s)
	return err
}

// object reads an object that has exactly these fields.
func (d *slotReader) object(fields map[string]func() error) error {
	if err := d.open('{', "an object"); err != nil {
		return err
	}
	missing := len(fields)
	seen := make(map[string]bool, missing)
	for d.json.More() {
		token, err := d.token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		read, known := fields[name]
		if !known {
			return fmt.Errorf("there is no field %.80q: the fields are %s", name, list(fields))
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
	for name := range fields {
		if seen[name] {
			delete(fields, name)
		}
	}
	if len(fields) > 0 {
		return fmt.Errorf("it lacks %s", list(fields))
	}
	return nil
}

func list(fields map[string]func() error) string {
	var names []string
	for _, name := range []string{"now", "sites", "slots", "name", "delivery_s", "speed", "site", "node", "start", "end", "price"} {
		if _, ok := fields[name]; ok {
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
