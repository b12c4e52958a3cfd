package grid

import (
	"fmt"
	"slices"
)

// Dialect is the batch system for which a program was written, as a script is: where it runs it finds
// the variables of that system. "" is none.
type Dialect string

// Dialects.
const (
	DialectSlurm   Dialect = "slurm"
	DialectTORQUE  Dialect = "torque"
	DialectOpenPBS Dialect = "openpbs"
)

// Dialects are all of them.
var Dialects = []Dialect{DialectSlurm, DialectTORQUE, DialectOpenPBS}

// Check says why it is no dialect.
func (d Dialect) Check() error {
	if d == "" || slices.Contains(Dialects, d) {
		return nil
	}
	return fmt.Errorf("%.40q is no dialect of batch scripts: use one of %v", string(d), Dialects)
}
