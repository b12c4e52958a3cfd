package openpbs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/command"
	"gbroker/pbs/external"
)

// seeds are the kept recordings whose text holds a word.
func seeds(f *testing.F, word string) {
	files, err := filepath.Glob("testdata/recordings/*.stdout")
	if err != nil || len(files) == 0 {
		f.Fatalf("no recordings: %v", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		if strings.Contains(string(text), word) {
			f.Add(text)
		}
	}
}

func FuzzJobs(f *testing.F) {
	seeds(f, `"Jobs"`)
	f.Fuzz(func(t *testing.T, text []byte) {
		_, list, err := plain(t).jobs(text)
		if err != nil {
			return
		}
		for _, j := range list {
			cores := 0
			for _, p := range j.Places {
				cores += p.Cores
			}
			switch {
			case !isJobID(string(j.Local)), (j.State == external.Done) != (j.End != nil), j.Mark != "" && checkMark(j.Mark) != nil,
				j.Limit < 0 || j.Limit > forever, len(j.Demand.Chunks) > maxKinds, cores < 0, len(j.Reason) > 1000:
				t.Errorf("%+v", j)
			}
			for _, c := range j.Demand.Chunks {
				if c.Count < 1 || c.Count > grid.MaxProcesses || c.Cores < 0 || c.Cores > grid.MaxProcesses || c.Memory < 0 || c.Memory > grid.MaxMemory || grid.CheckResources(c.Resources) != nil {
					t.Errorf("%+v", c)
				}
			}
			if grid.CheckProperties(j.Demand.Properties) != nil {
				t.Errorf("%q", j.Demand.Properties)
			}
		}
	})
}

func FuzzNodes(f *testing.F) {
	seeds(f, `"nodes"`)
	f.Fuzz(func(t *testing.T, text []byte) {
		_, list, err := plain(t).nodes(text)
		for _, n := range list {
			if err == nil && (!isWord(string(n.Name)) || n.Cores < 0 || n.Memory < 0) {
				t.Errorf("%+v", n)
			}
		}
	})
}

func FuzzQueues(f *testing.F) {
	seeds(f, `"Queue"`)
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := queues(text)
		for _, q := range list {
			if err == nil && (!isWord(string(q.Name)) || q.Limit < 0) {
				t.Errorf("%+v", q)
			}
		}
	})
}

func FuzzServer(f *testing.F) {
	seeds(f, `"Server"`)
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, sv, err := servers(text); err == nil && (sv.depth < 0 || sv.keeps < 0 || sv.walltime < 0) {
			t.Errorf("%+v", sv)
		}
	})
}

func FuzzReservations(f *testing.F) {
	seeds(f, `Resv ID`)
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := plain(t).reservations(text)
		for _, b := range list {
			if err == nil && (!isReservationID(b.Native) || len(b.Nodes) != len(b.cores) || b.Start < 0 || b.End < 0 || b.User == "") {
				t.Errorf("%+v", b)
			}
		}
	})
}

func FuzzDecision(f *testing.F) {
	seeds(f, "R")
	f.Fuzz(func(t *testing.T, text []byte) {
		if id, err := decided(command.Call{}, command.Result{Stdout: text}); (err == nil) != isReservationID(id) {
			t.Errorf("%q, %v", id, err)
		}
	})
}

func FuzzConfig(f *testing.F) {
	f.Add([]byte(delivered))
	f.Fuzz(func(t *testing.T, text []byte) {
		if c, err := config(text); err == nil {
			c.order([]job{{Job: external.Job{Eligible: 2}}, {Job: external.Job{Eligible: 1}}}, nil)
			_ = c.policy(1).String()
		}
	})
}

func FuzzQuantities(f *testing.F) {
	for _, s := range []string{"512mb", "1gw", "01:30:00", "90", "Fri Nov 20 23:05:46 2026", "99999999999999999999", "-1", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for what, read := range map[string]func() (int64, error){
			"size":     func() (int64, error) { return size(text) },
			"duration": func() (int64, error) { d, err := duration(text); return int64(d), err },
			"date":     func() (int64, error) { d, err := date(text); return int64(d), err },
			"epoch":    func() (int64, error) { d, err := epoch(text); return int64(d), err },
			"clamped":  func() (int64, error) { return clamped(text, 7) },
		} {
			if n, err := read(); err == nil && (n < 0 || n > 1<<62) {
				t.Errorf("the %s %q is %d", what, text, n)
			}
		}
	})
}
