package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/internal/cli"
)

const sitesAB = `"sites":[{"name":"a","delivery_s":0,"speed":1},{"name":"b","delivery_s":15,"speed":2}]`

const free = `{"now":5,` + sitesAB + `,"slots":[
 {"site":"a","node":"1","start":0,"end":50,"price":1},
 {"site":"a","node":"1","start":50,"end":120,"price":3},
 {"site":"a","node":"2","start":10,"end":200.5,"price":1},
 {"site":"b","node":"1","start":0,"end":60,"price":2}]}`

// runGsim runs gsim select over a slot file (in place of FILE) and on standard input.
func runGsim(t *testing.T, slots, args string) (code int, stdout, stderr string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "free.json")
	if err := os.WriteFile(file, []byte(slots), 0o600); err != nil {
		t.Fatal(err)
	}
	root := newRoot()
	root.SetIn(strings.NewReader(slots))
	var out, errs bytes.Buffer
	code = cli.Run(context.Background(), root, strings.Fields(strings.ReplaceAll("select "+args, "FILE", file)), &out, &errs)
	return code, out.String(), strings.ReplaceAll(errs.String(), file, "FILE")
}

func TestSelectAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args string
		code int
		want string // with all space taken away
	}{
		{"--slots FILE --processes 2 --walltime 100", 0, `{"start":10,"end":110,"slots":[
			{"site":"a","node":"1","start":0,"end":120,"price":3,"processes":1,"cores":1},{"site":"a","node":"2","start":10,"end":200.5,"price":1,"processes":1,"cores":1}],"cost":0.1111111111111111}`},
		{"--slots - --processes 1 --walltime 40", 0, `{"start":20,"end":40,"slots":[{"site":"b","node":"1","start":0,"end":60,"price":2,"processes":1,"cores":1}],"cost":0.011111111111111112}`},
		{"--slots - --processes 1 --walltime 40 --first start", 0, `{"start":5,"end":45,"slots":[{"site":"a","node":"1","start":0,"end":120,"price":1,"processes":1,"cores":1}],"cost":0.011111111111111112}`},
		{"--slots - --processes 1 --walltime 40 --margin 10.25", 0, `{"start":30.25,"end":50.25,"slots":[{"site":"b","node":"1","start":0,"end":60,"price":2,"processes":1,"cores":1}],"cost":0.011111111111111112}`},
		{"--slots - --processes 1 --walltime 40 --fee 1", 0, `{"start":5,"end":45,"slots":[{"site":"a","node":"1","start":0,"end":50,"price":1,"processes":1,"cores":1}],"cost":0.011111111111111112}`},
		{"--slots - --processes 3 --walltime 40", 0, `{"start":20,"end":60,"slots":[{"site":"a","node":"1","start":0,"end":120,"price":3,"processes":1,"cores":1},
			{"site":"a","node":"2","start":10,"end":200.5,"price":1,"processes":1,"cores":1},{"site":"b","node":"1","start":0,"end":60,"price":2,"processes":1,"cores":1}],"cost":0.06666666666666667}`},
		{"--slots - --processes 3 --walltime 40 --max-sites 1", 1, `{"reason":"at most 2 of the 3 pieces have room at once for 40 s, first at 10 s; 
			of 4 slots 0 cost too much, 0 have no room for any piece, 0 are too short, 0 end too soon after the files are there; without the limit of sites it would start at 20 s"}`},
		{"--slots - --processes 3 --walltime 40 --min-per-site 2", 1, `{"reason":"at most 2 of the 3 pieces have room at once for 40 s, first at 10 s; 
			of 4 slots 0 cost too much, 0 have no room for any piece, 0 are too short, 0 end too soon after the files are there; without the least number of pieces per site it would start at 20 s"}`},
	} {
		code, out, errs := runGsim(t, free, c.args)
		if plain := strings.NewReplacer(" ", "", "\n", "", "\t", ""); code != c.code || errs != "" || plain.Replace(out) != plain.Replace(c.want) {
			t.Errorf("gsim select %s: exit code %d, %s\n%s\nwant %d\n%s", c.args, code, errs, out, c.code, c.want)
		}
	}
}

func TestSelectRefusesWhatMakesNoSense(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, want string }{
		{"--processes 1 --walltime 1", "--slots is missing"},
		{"--slots FILE --walltime 1", "at least one of the flags in the group [job processes] is required"},
		{"--slots FILE --job x.jsdl --processes 1", "[job processes]"},
		{"--slots FILE --processes 1", "--walltime is needed"},
		{"--slots FILE --processes 0 --walltime 1", "no pieces are asked for: at least 1"},
		{"--slots FILE --processes 1 --walltime 0.0001", "--walltime 0.0001: at least 0.001 seconds"},
		{"--slots FILE --processes 1 --walltime NaN", "--walltime NaN"},
		{"--slots FILE --processes 1 --walltime Inf", "a walltime of 1e+12 s"},
		{"--slots FILE --processes 1 --walltime 1 --fee NaN", "a fee of NaN: a number from 0 up"},
		{"--slots FILE --processes 1 --walltime 1 --fee -1", "a fee of -1: a number from 0 up"},
		{"--slots FILE --processes 1 --walltime 1 --margin -1", "a margin of -1 s"},
		{"--slots FILE --processes 1 --walltime 1 --margin NaN", "--margin NaN"},
		{"--slots FILE --processes 1 --walltime 1 --max-sites -1", "at most -1 sites"},
		{"--slots FILE --processes 1 --walltime 1 --min-per-site 2", "at least 2 pieces per site, of 1 pieces in all"},
		{"--slots FILE --processes 1 --walltime 1 --first last", `--first "last": start or end`},
		{"--slots FILE --processes 1 --walltime 1 more", `takes nothing besides its flags, and 1 word is given: more`},
	} {
		if code, out, errs := runGsim(t, free, c.args); code != 2 || out != "" || !strings.Contains(errs, c.want) {
			t.Errorf("gsim select %s: exit code %d, %s%s\nwant %q", c.args, code, out, errs, c.want)
		}
	}
	code, _, errs := runGsim(t, free, "--slots /nowhere/free.json --processes 1 --walltime 1")
	if code != 3 || !strings.Contains(errs, "/nowhere/free.json: no such file") {
		t.Errorf("a file that is not there: exit code %d, %s", code, errs)
	}
}

// badSlots are files with one mistake, and what is said of it.
var badSlots = []struct{ file, want string }{
	{``, "the file ends here, after 0 bytes"},
	{`[]`, "an object is expected, not ["},
	{`{"now":0,` + sitesAB + `}`, "it lacks slots"},
	{`{"now":0,"sites":[],"slots":[],"more":1}`, `there is no field "more": the fields are now, sites, slots`},
	{`{"now":0,"now":1,"sites":[],"slots":[]}`, "now: the field comes twice"},
	{`{"now":0,"sites":[],"slots":[]} {}`, "something follows the end of the document"},
	{`{"now":0,"sites":[],"slots":null}`, "slots: a list is expected, not null"},
	{`{"now":"0","sites":[],"slots":[]}`, `now: a number is expected, not "0"`},
	{`{"now":2e12,"sites":[],"slots":[]}`, "now: 2e+12 s: at most 1e+12 s"},
	{`{"now":0,"sites":[{"name":"a","delivery_s":0}],"slots":[]}`, "sites[0]: it lacks speed"},
	{`{"now":0,"sites":[{"name":"a","delivery_s":-1,"speed":1}],"slots":[]}`, "sites[0]: a delivery time of -1 s"},
	{`{"now":0,"sites":[{"name":"a","delivery_s":0,"speed":0}],"slots":[]}`, "sites[0]: its speed is 0"},
	{`{"now":0,"sites":[{"name":"","delivery_s":0,"speed":1}],"slots":[]}`, "sites[0].name: the name is empty"},
	{`{"now":0,"sites":[{"name":"a\u0007","delivery_s":0,"speed":1}],"slots":[]}`, "sites[0].name: the name "},
	{`{"now":0,` + sitesAB + `,"slots":[{"site":"a","node":"1","start":0,"end":1,"price":NaN}]}`, "slots[0].price: no JSON near byte"},
	{`{"now":0,` + sitesAB + `,"slots":[{"site":"a","node":"1","start":0,"end":1e999,"price":0}]}`, "slots[0].end: 1e999 is beyond all numbers"},
	{`{"now":0,` + sitesAB + `,"slots":[{"site":"a","node":"1","Start":0,"end":1,"price":0}]}`, `slots[0]: there is no field "Start": the fields are site, node, start, end, price, cores, memory, resources`},
	{`{"now":0,` + sitesAB + `,"slots":[{"site":"a","node":"1","start":0,"end":9,"price":0},{"site":"a","node":"1","start":2,"end":1,"price":0}]}`, "slots[1]: it ends at 1 s, which is not after its start at 2 s"},
	{`{"now":0,` + sitesAB + `,"slots":[{"site":"a","node":"1","start":0,"end":9,"price":0},{"site":"a","node":"1","start":8,"end":10,"price":0}]}`, `slots[1]: it overlaps slots[0] on the node "1" of "a"`},
	{`{"now":0,` + sitesAB + `,"slots":[{"site":"c","node":"1","start":0,"end":9,"price":0}]}`, `slots[0]: its site "c" is none of the sites`},
	{`{"now":0,` + sitesAB + `,"slots":[{"site":"a","node":"1","start":0,"end":9,"price":-1}]}`, "slots[0]: its price is -1"},
	{`{"now":0,"sites":[{"name":"a","delivery_s":0,"speed":1,"nodes":[{"name":"1"}]}],"slots":[]}`, "sites[0].nodes[0]: it lacks cores"},
	{`{"now":0,"sites":[{"name":"a","delivery_s":0,"speed":1,"nodes":[{"name":"1","cores":1.5}]}],"slots":[]}`, "sites[0].nodes[0].cores: 1.5: a whole number from 0 up"},
	{`{"now":0,"sites":[{"name":"a","delivery_s":0,"speed":1,"nodes":[{"name":"1","cores":1,"resources":{"cores":1}}]}],"slots":[]}`, "sites[0].nodes[0].resources: the resource cores is counted by itself"},
	{`{"now":0,` + sitesAB + `,"slots":[{"site":"a","node":"1","start":0,"end":9,"price":0,"cores":2}]}`, `slots[0]: it has more than the node "1" of "a"`},
	{`{"now":0,` + sitesAB + `,"slots":[{"site":"a","node":7,"start":0,"end":9,"price":1}]}`, "slots[0].node: a name in quotes is expected, not 7"},
	{`{"now":0,` + sitesAB + `,"slots":[{"site":"a","node":"1","start":0,`, "slots[0]: the file ends here"},
}

func TestSelectNamesThePlace(t *testing.T) {
	t.Parallel()
	for _, c := range badSlots {
		code, out, errs := runGsim(t, c.file, "--slots FILE --processes 1 --walltime 1")
		if code != 1 || out != "" || !strings.HasPrefix(errs, "gsim: FILE: "+c.want) {
			t.Errorf("%s: exit code %d, %s%s\nwant 1 and %q", c.file, code, out, errs, c.want)
		}
	}
}

const wide = `<JobDefinition xmlns="http://schemas.ggf.org/jsdl/2005/11/jsdl"><JobDescription>
<Application><POSIXApplication xmlns="http://schemas.ggf.org/jsdl/2005/11/jsdl-posix"><Executable>/bin/true</Executable><WallTimeLimit>100</WallTimeLimit></POSIXApplication></Application>
<Resources><IndividualCPUCount><Exact>4</Exact></IndividualCPUCount><IndividualPhysicalMemory><LowerBoundedRange>1000</LowerBoundedRange></IndividualPhysicalMemory><TotalResourceCount><Exact>2</Exact></TotalResourceCount></Resources>
</JobDescription></JobDefinition>`

// A document's pieces of four cores, with memory, find their nodes among those described.
func TestSelectForADocument(t *testing.T) {
	t.Parallel()
	job := filepath.Join(t.TempDir(), "wide.jsdl")
	if err := os.WriteFile(job, []byte(wide), 0o600); err != nil {
		t.Fatal(err)
	}
	slots := `{"now":0,"sites":[{"name":"a","delivery_s":0,"speed":1,"nodes":[{"name":"1","cores":8,"memory":4000},{"name":"2","cores":8,"memory":4000,"resources":{"gpu":1}}]}],"slots":[
 {"site":"a","node":"1","start":0,"end":500,"price":1,"cores":3,"memory":4000},
 {"site":"a","node":"2","start":0,"end":50,"price":1,"cores":8,"memory":1500},
 {"site":"a","node":"2","start":50,"end":500,"price":1}]}`
	code, out, errs := runGsim(t, slots, "--slots FILE --job "+job)
	want := `{"start":50,"end":150,"slots":[{"site":"a","node":"2","start":50,"end":500,"price":1,"processes":8,"cores":8,"memory":2000}],"cost":0.2222222222222222}`
	if plain := strings.NewReplacer(" ", "", "\n", ""); code != 0 || errs != "" || plain.Replace(out) != want {
		t.Errorf("exit code %d, %s%s\nwant %s", code, out, errs, want)
	}
}

// The help holds an example file that works.
func TestSelectHelpTeaches(t *testing.T) {
	t.Parallel()
	_, example, _ := strings.Cut(selectHelp, "in seconds:")
	example, _, _ = strings.Cut(example, "A node is of one core")
	code, out, errs := runGsim(t, example, "--slots FILE --processes 2 --walltime 100")
	if code != 0 || !strings.Contains(out, `"start": 60`) {
		t.Errorf("the example: exit code %d, %s%s", code, out, errs)
	}
}

// No file makes it panic, and what it takes it can answer.
func FuzzSlotFile(f *testing.F) {
	f.Add([]byte(free))
	for _, c := range badSlots {
		f.Add([]byte(c.file))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		code, out, errs := runGsim(t, string(file), "--slots FILE --processes 2 --walltime 10 --max-sites 1 --margin 1")
		if code == 0 && !strings.Contains(out, `"cost"`) || code == 1 && out == "" && errs == "" || code > 1 {
			t.Errorf("exit code %d, %s%s", code, out, errs)
		}
	})
}
