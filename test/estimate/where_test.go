package main

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// The load is of its seed, keeps the share of local work, and brings as much as it says.
func TestWhereLoad(t *testing.T) {
	t.Parallel()
	load := drawWhere(1, 260)
	if !reflect.DeepEqual(load, drawWhere(1, 260)) || reflect.DeepEqual(load, drawWhere(2, 260)) {
		t.Error("the load is not of its seed alone")
	}
	var work, local float64
	jobs := 0
	for i, j := range load {
		if size := clusters[j.site].size(); j.cores < 1 || j.local && j.cores > size || !j.local && j.cores > 8 || i > 0 && j.at < load[i-1].at {
			t.Errorf("job %d: %+v", i, j)
		}
		if work += j.work(); j.local {
			local += j.work()
		} else {
			jobs++
		}
	}
	if busy := work / load[len(load)-1].at.Seconds() / 40; jobs != 260 || busy < 0.75 || busy > 0.95 || local/work < 0.45 || local/work > 0.6 {
		t.Errorf("%d jobs, %.2f of the sites busy, %.2f of that local", jobs, busy, local/work)
	}
}

func TestWhereReport(t *testing.T) {
	t.Parallel()
	good := foretold{Told: "a", Ran: "a", ToldS: 10, EarlyS: 5, LateS: 20, SpreadOf: 30, StartedS: 12}
	late, elsewhere, warming := good, good, good
	late.StartedS, elsewhere.Ran, warming.Warm = 21, "b", true
	list := []foretold{warming, late, elsewhere}
	for range 8 {
		list = append(list, good)
	}
	r := newWhereReport(1, time.Minute, list)
	if !r.Good || r.verdict() != nil || r.All.Jobs != 10 || r.All.Same != 0.9 || r.All.Within != 0.9 || r.Waiting.Jobs != 10 || r.AtOnce.Jobs != 0 {
		t.Errorf("%+v", r.All)
	}
	r = newWhereReport(1, time.Minute, append(list, elsewhere))
	if r.Good || r.verdict() == nil || !strings.Contains(r.table(), "same site  81.8 %") {
		t.Errorf("it is no miss: %s", r.table())
	}
	silent := good
	silent.LateS, silent.EarlyS, silent.SpreadOf = -1e9, -1e9, 0
	if silent.within() || newWhereReport(1, 0, nil).Good {
		t.Error("what was not told, or nobody, counts as true")
	}
}
