package reserve

import (
	"errors"
	"fmt"

	"gbroker/grid"
)

// Check says which invariants do not hold at now, each by its name.
func (b *Book) Check(now grid.Tick) error {
	var errs []error
	wrong := func(name, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: %s", name, fmt.Sprintf(format, args...)))
	}
	all := b.sorted()
	for i, r := range all {
		for _, o := range all[i+1:] {
			if r.Kind == grid.NodesReserved && o.Kind == r.Kind && anyOverlap(places(r), places(o)) {
				wrong("apart", "%s and %s", r.ID, o.ID)
			}
		}
		if r.Kind == grid.DeliveryReserved && !r.State.Over() && b.uplinkUsed(r)+r.Bandwidth > b.rules.Uplink {
			wrong("uplink", "%s", r.ID)
		}
		if err := illegal(r); err != nil {
			wrong("legal", "%s is %v, %v", r.ID, r.State, err)
		}
		if r.State == grid.Tentative && (r.Until == 0 || now >= r.Until) || !r.State.Over() && now >= r.End {
			wrong("limited", "%s is %v", r.ID, r.State)
		}
		if !r.State.Over() && r.State != grid.Active && b.displacedBy(r) != nil {
			wrong("clear", "%s: %s", r.ID, b.displacedBy(r).reason())
		}
	}
	return errors.Join(errs...)
}

func anyOverlap(a, b []grid.Place) bool {
	for _, x := range a {
		for _, y := range b {
			if overlap(x, y) {
				return true
			}
		}
	}
	return false
}

// illegal says how state and holding do not fit.
func illegal(r *grid.Reservation) error {
	over := r.State.Over()
	switch {
	case !r.State.Valid():
		return errors.New("which is no state")
	case over && r.Holding != grid.Ending && r.Holding != grid.NotPlaced:
		return errors.New("and held")
	case r.Kind == grid.DeliveryReserved && r.Holding != grid.NotPlaced:
		return errors.New("and a batch system holds no bandwidth")
	case r.Kind == grid.NodesReserved && !over && (r.Holding == grid.Ending || r.Holding == grid.NotPlaced):
		return errors.New("and not held")
	case r.Holding == grid.Making && r.State != grid.Tentative:
		return errors.New("and being made")
	case (r.Was != nil) != (r.Holding == grid.Changing) && !over:
		return errors.New("and does not know what it was")
	case (r.State == grid.Bound || r.State == grid.Active) && r.For == "":
		return errors.New("for no job")
	}
	return nil
}
