package core

import (
	"fmt"
	"reflect"

	"gbroker/grid"
)

// onDisk are the records of a broker as it saved them last, or showed them to its readers.
type onDisk map[grid.JobID]grid.Record

// missed tells what a broker has in a record after a step, or after several, and neither saved nor showed: a crash would take it
// back, and it may have told others of it.
func (s onDisk) missed(c *Core, effects []Effect) error {
	for _, e := range effects {
		switch e := e.(type) {
		case Save:
			if id, r, is := e.Change.Job(); is && r != nil {
				s[id] = *r
			} else if is {
				delete(s, id)
			}
		case Show:
			s[e.Record.Job.ID] = *e.Record
		}
	}
	for id, j := range c.jobs {
		if known, is := s[id]; is {
			if field, has, saved := differs(&j.rec, &known); field != "" {
				return fmt.Errorf("in memory alone %s of %s is %+v; saved is %+v", field, id, has, saved)
			}
		}
		if live := c.live[id] != nil; live == isTombstone(&j.rec) {
			return fmt.Errorf("%s, as a %s that is %v, is among those that something may happen to: %v", id, j.rec.Role, j.rec.State, live)
		}
	}
	return nil
}

// differs is the first field in which two records are not alike. The document of a job does not count, as a long one is not in memory, nor
// when the job is expected to start, which a home hears with each report and shows where it matters.
func differs(a, b *grid.Record) (field string, has, saved any) {
	x, y := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	for i := range x.NumField() {
		has, saved = x.Field(i).Interface(), y.Field(i).Interface()
		if name := x.Type().Field(i).Name; name != "Job" && name != "EstimateNow" && !reflect.DeepEqual(has, saved) {
			return name, has, saved
		}
	}
	return "", nil, nil
}
