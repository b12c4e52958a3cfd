package core

import (
	"reflect"
	"testing"

	"gbroker/grid"
	"gbroker/plan"
)

func looksAlike(a, b plan.Snapshot) bool { return alikeButForTime(&a, &b) }

// Every field of a job that a batch system shows counts when two looks are compared, also one that is new.
func TestEveryFieldOfAJobTellsLooksApart(t *testing.T) {
	running := func() plan.Snapshot { return plan.Snapshot{Running: []plan.Running{{}}} }
	waiting := func() plan.Snapshot { return plan.Snapshot{Waiting: []plan.Waiting{{}}} }
	if !looksAlike(running(), running()) || !looksAlike(waiting(), waiting()) {
		t.Fatal("alike snapshots are told apart")
	}
	for i := range reflect.TypeFor[plan.Running]().NumField() {
		s := running()
		tellApart(t, running(), s, reflect.ValueOf(&s.Running[0]).Elem(), i)
	}
	for i := range reflect.TypeFor[plan.Waiting]().NumField() {
		s := waiting()
		tellApart(t, waiting(), s, reflect.ValueOf(&s.Waiting[0]).Elem(), i)
	}
	for i := range reflect.TypeFor[grid.Demand]().NumField() {
		s := waiting()
		tellApart(t, waiting(), s, reflect.ValueOf(&s.Waiting[0].Demand).Elem(), i)
	}
	for i := range reflect.TypeFor[plan.Snapshot]().NumField() {
		s := plan.Snapshot{}
		if name := reflect.TypeOf(s).Field(i).Name; name != "At" && name != "Forecast" && name != "Cohorts" { // of which no plan is made
			v := reflect.ValueOf(&s).Elem()
			v.Field(i).Set(other(v.Field(i).Type()))
			if looksAlike(plan.Snapshot{}, s) {
				t.Errorf("snapshots are alike that differ by %s", v.Type().Field(i).Name)
			}
		}
	}
}

func tellApart(t *testing.T, as, s plan.Snapshot, v reflect.Value, field int) {
	t.Helper()
	v.Field(field).Set(other(v.Field(field).Type()))
	if looksAlike(as, s) {
		t.Errorf("snapshots are alike of which a %v differs by %s", v.Type(), v.Type().Field(field).Name)
	}
}

// other is a value of a type that is not its zero.
func other(t reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.Slice:
		return reflect.MakeSlice(t, 1, 1)
	case reflect.Struct:
		for i := range t.NumField() {
			if v.Field(i).CanSet() {
				v.Field(i).Set(other(t.Field(i).Type))
			}
		}
	case reflect.String:
		v.SetString("other")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.Pointer:
		return reflect.New(t.Elem())
	default:
		if v.CanInt() {
			v.SetInt(1)
		} else if v.CanUint() {
			v.SetUint(1)
		}
	}
	return v
}

// Of equal jobs it does not matter in which lists they lie.
func TestLooksOfOtherListsAreAlike(t *testing.T) {
	s := func(share int) plan.Snapshot {
		return plan.Snapshot{
			Running: []plan.Running{{Job: "a", Shares: []plan.Share{{Cores: share}}}},
			Waiting: []plan.Waiting{{Job: "b", Demand: grid.Demand{Chunks: []grid.Chunk{{Count: share}}}}},
		}
	}
	later := s(1)
	later.At = 7
	if !looksAlike(s(1), later) || looksAlike(s(1), s(2)) {
		t.Error("lists are compared by where they lie")
	}
}
