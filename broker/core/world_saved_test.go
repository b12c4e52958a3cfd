package core

import (
	"bytes"
	"fmt"
	"reflect"
	"unsafe"

	"gbroker/grid"
)

// onDisk are the records of a broker as it saved them last, or showed them to its readers.
type onDisk map[grid.JobID]*grid.Record

func shown(records map[grid.JobID]grid.Record) onDisk {
	s := make(onDisk, len(records))
	for id, r := range records {
		s[id] = &r
	}
	return s
}

// missed tells what a broker has in a record after a step, or after several, and neither saved nor showed: a crash would take it
// back, and it may have told others of it.
func (s onDisk) missed(c *Core, effects []Effect) error {
	for _, e := range effects {
		switch e := e.(type) {
		case Save:
			if id, r, is := e.Change.Job(); is && r != nil {
				s[id] = copied(r)
			} else if is {
				delete(s, id)
			}
		case Show:
			s[e.Record.Job.ID] = copied(e.Record)
		}
	}
	for id, j := range c.jobs {
		if known, is := s[id]; is {
			if field, has, saved := differs(&j.rec, known); field != "" {
				return fmt.Errorf("in memory alone %s of %s is %+v; saved is %+v", field, id, has, saved)
			}
		}
		if live := c.live[id] != nil; live == isTombstone(&j.rec) {
			return fmt.Errorf("%s, as a %s that is %v, is among those that something may happen to: %v", id, j.rec.Role, j.rec.State, live)
		}
	}
	return nil
}

func copied(r *grid.Record) *grid.Record {
	c := *r
	return &c
}

// differs is the first field in which two records are not alike. The document of a job does not count, as a long one is not in memory, nor
// when the job is expected to start, which a home hears with each report and shows where it matters. Most fields are the same to the bit,
// and are alike then, as none is a number with a NaN: DeepEqual, which is slow, looks at the others alone.
func differs(a, b *grid.Record) (field string, has, saved any) {
	x, y := memory(a), memory(b)
	for _, f := range compared {
		if from, to := f.Offset, f.Offset+f.Type.Size(); bytes.Equal(x[from:to], y[from:to]) {
			continue
		}
		has, saved = reflect.ValueOf(a).Elem().FieldByIndex(f.Index).Interface(), reflect.ValueOf(b).Elem().FieldByIndex(f.Index).Interface()
		if !reflect.DeepEqual(has, saved) {
			return f.Name, has, saved
		}
	}
	return "", nil, nil
}

func memory(r *grid.Record) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(r)), unsafe.Sizeof(*r))
}

// compared are the fields of a record that count in differs.
var compared = func() (list []reflect.StructField) {
	t := reflect.TypeFor[grid.Record]()
	for i := range t.NumField() {
		if f := t.Field(i); f.Name != "Job" && f.Name != "EstimateNow" {
			list = append(list, f)
		}
	}
	return list
}()
