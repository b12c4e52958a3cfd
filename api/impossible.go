package api

import (
	"fmt"

	"gbroker/grid"
)

// Impossible is that no site that is known here could ever run a job, as they say. It is an error of the kind grid.ErrInvalid.
type Impossible struct {
	Why  string
	Wide bool // several sites together might
}

func (e *Impossible) Error() string {
	several := ""
	if e.Wide {
		several = "let it have several sites (--sites-at-most, or Coallocation in the document), "
	}
	return fmt.Sprintf("%v: no site that is known here could ever run it: %s; correct the document, %sor submit it with --queue-anyway to wait for a site that can", grid.ErrInvalid, e.Why, several)
}

// Is makes errors.Is(e, grid.ErrInvalid) hold.
func (e *Impossible) Is(target error) bool { return target == grid.ErrInvalid }
