package main

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/jsdl"
	"gbroker/jsdl/sweep"
)

// A range that is cut is done whole and once, each part within its time on one of the computers that pools tell of, and what is refused could not have been.
func TestRangeIsCut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const now = 1000 * grid.Hour
		var sites []api.Site
		for range rapid.IntRange(1, 3).Draw(t, "pools") {
			g := api.LikeComputers{
				Architecture: "x86_64", System: "LINUX", Cores: rapid.IntRange(1, 4).Draw(t, "cores"), Memory: 8 << 30, Speed: 1,
				Computers: rapid.IntRange(1, 9).Draw(t, "computers"), Levels: make([]float64, grid.MaxLevels),
			}
			for i := range g.Levels {
				g.Levels[i] = rapid.Float64Range(0, 1).Draw(t, "H")
			}
			sites = append(sites, api.Site{Groups: []api.LikeComputers{g}})
		}
		cores, hours := rapid.IntRange(1, 4).Draw(t, "width"), rapid.Int64Range(1, 40).Draw(t, "hours")
		job := grid.Job{Walltime: grid.Tick(rapid.Int64Range(1, 100).Draw(t, "work")) * grid.Hour, Terms: grid.Terms{Deadline: now + grid.Tick(hours)*grid.Hour}}
		job.Demand.Chunks = []grid.Chunk{{Count: 1, Processes: 1, Cores: cores}}
		n := numbers{7, 7 + rapid.Int64Range(0, 999).Draw(t, "numbers")}
		computers := foretold(now, sites, &job)
		places, power := 0, 0.0 // of all, in hours of the reference
		for _, s := range sites {
			g, one := s.Groups[0], 0.0
			for h := range hours {
				one += g.Levels[h/4%grid.MaxLevels]
			}
			places, power = places+g.Computers*(g.Cores/cores), power+float64(g.Computers*(g.Cores/cores))*one
		}
		if len(computers) != places {
			t.Fatalf("%d places, want %d", len(computers), places)
		}
		parts, err := n.cut(now, computers, &job)
		needs := job.Walltime.Seconds() / 3600 * (1 + divided.Margin)
		if err != nil {
			if spare := needs / float64(n.count()) * float64(places); power-spare > needs {
				t.Fatalf("%v, where %v hours are needed of %v", err, needs, power)
			}
			return
		}
		next, sum := n.first, int64(0)
		for _, p := range parts {
			if p.first != next || p.last < p.first {
				t.Fatalf("%v after %d", p, next)
			}
			next, sum = p.last+1, sum+p.walltime
		}
		if next != n.last+1 || len(parts) > places || needs > power+1e-6 || sum < int64(job.Walltime/grid.Second) || sum > int64(job.Walltime/grid.Second)+int64(len(parts)) {
			t.Fatalf("%d parts in %d places, of %d s, until %d; %v hours of %v", len(parts), places, sum, next-1, needs, power)
		}
	})
}

// The document of a range has a job for each part, with its numbers and its walltime, and else what it had.
func TestRangeIsASweep(t *testing.T) {
	t.Parallel()
	text := fmt.Sprintf(`<JobDefinition xmlns=%q xmlns:posix=%q xmlns:gb="urn:gbroker:jsdl:1"><JobDescription><Application><posix:POSIXApplication>
<posix:Executable>/bin/true</posix:Executable><posix:Environment name="RANGE_LAST">mine</posix:Environment><posix:Environment name="OTHER">kept</posix:Environment>
<posix:WallTimeLimit>100</posix:WallTimeLimit></posix:POSIXApplication></Application><Resources><gb:Deadline>2030-01-01T00:00:00Z</gb:Deadline></Resources></JobDescription></JobDefinition>`,
		"http://schemas.ggf.org/jsdl/2005/11/jsdl", jsdl.POSIX)
	d := &document{text: []byte(text)}
	if err := d.open("a.jsdl", t.TempDir()); err != nil {
		t.Fatal(err)
	}
	defer d.close()
	if err := d.become([]share{{numbers{1, 30}, 30}, {numbers{31, 100}, 70}}, "a.jsdl"); err != nil {
		t.Fatal(err)
	}
	s, err := sweep.Read("a.jsdl", d.text, 0)
	if err != nil || s.Jobs() != 2 {
		t.Fatalf("%v\n%s", err, d.text)
	}
	for i, want := range []string{"1-30 30", "31-100 70"} {
		one, err := jsdl.Parse("a.jsdl", s.Document(i+1))
		if err != nil {
			t.Fatal(err)
		}
		is := map[string]string{}
		for _, v := range one.Job.Program.Environment {
			is[v.Name] = v.Value
		}
		got := fmt.Sprintf("%s-%s %d", is[firstVariable], is[lastVariable], one.Job.Walltime/grid.Second)
		if got != want || is["OTHER"] != "kept" || one.Job.Terms.Deadline == 0 {
			t.Errorf("part %d: %s, want %s: %v", i+1, got, want, is)
		}
	}
}

func TestNumbersOfARange(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "1", "5-3", "a-b", "1-", "-5-7", "1-" + strconv.FormatInt(1<<53, 10), "1-2-3"} {
		if n, err := parseNumbers(text); err == nil || !strings.Contains(err.Error(), "as 1-100000") {
			t.Errorf("%q is %v, %v", text, n, err)
		}
	}
	if n, err := parseNumbers("0-99"); err != nil || n.count() != 100 {
		t.Error(n, err)
	}
}
