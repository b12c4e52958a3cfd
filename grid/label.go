package grid

import (
	"errors"
	"fmt"
	"slices"
)

// MaxTotalAmount bounds a named resource over all pieces of a chunk, so that the
// sum over the chunks of a demand cannot overflow.
const MaxTotalAmount = int64(1) << 56

// CheckLabel says why s cannot name a resource or a property: labels are 1 to 64 of
// letters, digits and . _ : -, and start with a letter or digit, so that they are
// one word in a command, a listing and a file of a batch system.
func CheckLabel(s string) error {
	if s == "" {
		return fmt.Errorf("the name is empty: use 1 to %d letters, digits and . _ : -", MaxLabel)
	}
	if len(s) > MaxLabel {
		return fmt.Errorf("the name %.20q… has %d characters: at most %d", s, len(s), MaxLabel)
	}
	for i, c := range []byte(s) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
		if letter || i > 0 && (c == '.' || c == '_' || c == ':' || c == '-') {
			continue
		}
		return fmt.Errorf("the name %q has %q at position %d: use letters, digits and . _ : -, first a letter or digit", s, c, i+1)
	}
	return nil
}

// counted are the names of what has a field of its own.
var counted = []string{"cores", "memory"}

// CheckResource says why one named resource is none: its name is no label or names
// what is counted anyway, or its amount is out of range.
func CheckResource(r Resource) error {
	if err := CheckLabel(r.Name); err != nil {
		return fmt.Errorf("a resource: %w", err)
	}
	if slices.Contains(counted, r.Name) {
		return fmt.Errorf("the resource %s is counted by itself: leave it out here", r.Name)
	}
	if r.Amount < 1 || r.Amount > MaxAmount {
		return fmt.Errorf("%d of the resource %s: an amount is a whole number from 1 to %d", r.Amount, r.Name, int64(MaxAmount))
	}
	return nil
}

// CheckResources says why a list of named resources is none: there are too many,
// one is wrong, or one is named twice.
func CheckResources(list []Resource) error {
	if len(list) > MaxResources {
		return fmt.Errorf("%d named resources: at most %d", len(list), MaxResources)
	}
	for i, r := range list {
		if err := CheckResource(r); err != nil {
			return err
		}
		if slices.ContainsFunc(list[:i], func(o Resource) bool { return o.Name == r.Name }) {
			return fmt.Errorf("the resource %s is named twice: once only, with the sum", r.Name)
		}
	}
	return nil
}

// CheckResources says why the named resources of a chunk are none, in one piece or
// in all.
func (c Chunk) CheckResources() error {
	if err := CheckResources(c.Resources); err != nil {
		return err
	}
	for _, r := range c.Resources {
		if r.Amount > MaxTotalAmount/int64(max(c.Count, 1)) {
			return fmt.Errorf("%d pieces with %d %s each are more than can be counted: at most %d in all", c.Count, r.Amount, r.Name, MaxTotalAmount)
		}
	}
	return nil
}

// CheckProperties says why a list of properties is none: there are too many, one is
// no label, or one is there twice.
func CheckProperties(list []string) error {
	if len(list) > MaxProperties {
		return fmt.Errorf("%d properties: at most %d", len(list), MaxProperties)
	}
	for i, p := range list {
		if err := CheckLabel(p); err != nil {
			return fmt.Errorf("a property: %w", err)
		}
		if slices.Contains(list[:i], p) {
			return errors.New("the property " + p + " is named twice: once only")
		}
	}
	return nil
}
