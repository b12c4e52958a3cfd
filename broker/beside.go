package broker

import (
	"sync"

	"gbroker/grid"
)

// beside are the entities of one kind that readers see beside the records of jobs, by what they are called: as they
// were last made durable. They are never changed.
type beside[E grid.Entity] struct {
	mu  sync.Mutex
	all map[string]E
}

func (v *beside[E]) reset(list []E) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.all = map[string]E{}
	for _, e := range list {
		_, key := e.Entity()
		v.all[key] = e
	}
}

// change takes a change of an entity of this kind, and gives what it was before; nil if it was not there.
func (v *beside[E]) change(c grid.Change) (before grid.Entity) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if was, known := v.all[c.Key]; known {
		before = was
	}
	if e, is := c.Record.(E); is {
		v.all[c.Key] = e
	} else {
		delete(v.all, c.Key)
	}
	return before
}

func (v *beside[E]) get(key string) (e E, is bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	e, is = v.all[key]
	return e, is
}

func (v *beside[E]) list() []E {
	v.mu.Lock()
	defer v.mu.Unlock()
	list := make([]E, 0, len(v.all))
	for _, e := range v.all {
		list = append(list, e)
	}
	return list
}

// copies are copies of the elements of a list: Core changes its own.
func copies[T any](list []T) []*T {
	all := make([]*T, len(list))
	for i, e := range list {
		all[i] = &e
	}
	return all
}
