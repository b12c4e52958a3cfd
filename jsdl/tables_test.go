package jsdl

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"gbroker/grid"
)

const (
	tablesBegin = "<!-- The tables up to the next such line are made of jsdl/table.go: go test ./jsdl -run TestTablesOfThePage -update -->\n"
	tablesEnd   = "<!-- End of the tables. -->\n"
)

// prefixes are those of the page.
var prefixes = map[string]string{
	Core: "", POSIX: "posix:", HPCProfile: "hpcpa:", SPMD: "spmd:", Own: "gb:", Genesis: "genii:", ARC: "arc:", Credentials: "ac:",
}

// tables are the rules as the page has them: a table for each place.
func tables() string {
	var b strings.Builder
	var places []string
	for _, r := range table {
		if len(places) == 0 || places[len(places)-1] != r.in {
			places = append(places, r.in)
		}
	}
	done := map[string]bool{}
	for _, place := range places {
		if done[place] {
			continue
		}
		done[place] = true
		fmt.Fprintf(&b, "In %s:\n\n| element | how often | value | what it does |\n| --- | --- | --- | --- |\n", place)
		for _, r := range placeOf[place] {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", title(r), often(r), r.holds, does(r))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func title(r rule) string {
	s := "`" + prefixes[r.space] + r.local
	for _, a := range r.attributes {
		s += " " + a + "=\"…\""
	}
	return s + "`"
}

func often(r rule) string {
	switch {
	case r.needed != "" && r.most == 1:
		return "1"
	case r.needed != "":
		return fmt.Sprintf("1 to %d", r.most)
	case r.most == 1:
		return "0 or 1"
	}
	return fmt.Sprintf("up to %d", r.most)
}

func does(r rule) string {
	switch r.effect {
	case refused:
		return strings.TrimSuffix("**refused**: "+r.says, ": ")
	case describes:
		return strings.TrimSuffix("no effect: it is kept and shown; "+r.says, "; ")
	}
	return r.says
}

// The page's tables are those of the code.
func TestTablesOfThePage(t *testing.T) {
	t.Parallel()
	const name = "../docs/jobs.md"
	page, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := bytes.Cut(page, []byte(tablesBegin))
	old, after, ended := bytes.Cut(rest, []byte(tablesEnd))
	if !found || !ended {
		t.Fatalf("%s has no place for the tables", name)
	}
	made := []byte("\n" + tables())
	if *update {
		whole := bytes.Join([][]byte{before, []byte(tablesBegin), made, []byte(tablesEnd), after}, nil)
		if err := os.WriteFile(name, whole, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(old, made) {
		t.Errorf("the tables of %s are not those of the code: go test ./jsdl -run TestTablesOfThePage -update", name)
	}
}

// samples are elements that do something, each with a value, by place and name. Of those that
// hold others the sample is what it holds.
var samples = map[string]string{
	"IndividualCPUSpeed": "<Exact>2e9</Exact>", "IndividualCPUTime": "<Exact>60</Exact>", "IndividualCPUCount": "<Exact>2</Exact>", "IndividualNetworkBandwidth": "<LowerBoundedRange>1e9</LowerBoundedRange>",
	"IndividualPhysicalMemory": "<Exact>1024</Exact>", "IndividualDiskSpace": "<Exact>1024</Exact>", "TotalCPUTime": "<Exact>60</Exact>", "TotalCPUCount": "<Exact>2</Exact>",
	"TotalPhysicalMemory": "<Exact>1024</Exact>", "TotalResourceCount": "<Exact>2</Exact>", "DiskSpace": "<Exact>4096</Exact>", "ExclusiveExecution": "true", "CandidateHosts": "<HostName>n1</HostName>",
	"FileSystem": "<DiskSpace><Exact>1024</Exact></DiskSpace>", "FileSystemType": "spool", "OperatingSystem": "<OperatingSystemType><OperatingSystemName>LINUX</OperatingSystemName></OperatingSystemType>",
	"CPUArchitecture": "<CPUArchitectureName>arm</CPUArchitectureName>", "HostName": "n2", "OperatingSystemName": "AIX", "CPUArchitectureName": "mips",
	"WallclockTime": "<Exact>60</Exact>", "IndividualWallTime": "<a:Max>60</a:Max>", "TotalWallTime": "<a:Max>60</a:Max>", "Max": "7", "Min": "1",
	"gb:WallTime": "60", "gb:NotBefore": "2030-01-01T00:00:00Z", "gb:Deadline": "2030-01-01T00:00:00+01:00", "gb:Fee": "7", "gb:Account": "physics", "gb:Rerunnable": "true", "gb:Hold": "1", "gb:Priority": "-5",
	"gb:Sites": "<g:Only>alpha</g:Only>", "gb:Only": "alpha", "gb:Not": "beta", "gb:Prefer": "gamma", "gb:Queue": "long", "gb:DistinctNodes": "true", "gb:Property": "ib", "gb:Resource name": "2", "gb:Piece": "", "gb:Coallocation": "",
	"gb:After": "xeon16.01ARZ3NDEKTSV4RRFFQ69G5FAV", "gb:Notify": "mailto:a@b.org", "gb:Signal": "USR1", "gb:Dialect": "slurm",
	"FileName": "f", "FilesystemName": "D", "IndividualVirtualMemory": "<Exact>2048</Exact>", "TotalVirtualMemory": "<Exact>2048</Exact>", "TotalDiskSpace": "<Exact>2048</Exact>", "CreationFlag": "append", "DeleteOnTermination": "true", "Source": "<URI>https://h/a</URI>", "Target": "<URI>https://h/b</URI>", "URI": "https://h/c",
	"Executable": "/bin/true", "Argument": "a", "Input": "i", "Output": "o", "Error": "e", "WorkingDirectory": "w", "Environment": "v", "WallTimeLimit": "60",
	"NumberOfProcesses": "4", "ProcessesPerHost": "2", "OperatingSystemType": "<OperatingSystemName>LINUX</OperatingSystemName>", "ThreadsPerProcess": "2", "SPMDVariation": variationBase + "OpenMPI",
}

// attributesOfSamples are those without which a sample is none.
var attributesOfSamples = map[string]string{
	"FileSystem": ` name="X"`, "Environment": ` name="V"`, "gb:Resource": ` name="gpu"`, "gb:Piece": ` count="3" processes="2"`, "gb:After": ` kind="afterany"`, "gb:Signal": ` before="60"`, "gb:Coallocation": ` sites="3" processes="2" early="true"`,
}

// sampleOf is an element of a rule as it may stand in a document.
func sampleOf(r rule) string {
	prefix := map[string]string{Core: "", POSIX: "p:", HPCProfile: "h:", SPMD: "s:", Own: "g:", Genesis: "gen:", ARC: "a:", Credentials: "c:"}[r.space]
	name := r.local
	if r.space == Own {
		name = "gb:" + name
	}
	value, known := samples[name]
	if !known {
		if value, known = samples[name+" name"]; !known {
			value = "7"
		}
	}
	return "<" + prefix + r.local + attributesOfSamples[name] + ">" + value + "</" + prefix + r.local + ">"
}

// around is a document with something at a place, and the same without it.
func around(place, inside string) (with, without string) {
	const head = `<JobDefinition xmlns="` + Core + `" xmlns:p="` + POSIX + `" xmlns:h="` + HPCProfile + `" xmlns:s="` + SPMD + `" xmlns:g="` + Own + `" xmlns:gen="` + Genesis + `" xmlns:a="` + ARC + `" xmlns:c="` + Credentials + `"><JobDescription>`
	const tail = `</JobDescription></JobDefinition>`
	document := func(before, open, close, after string) (string, string) {
		return head + before + open + inside + close + after + tail, head + before + open + close + after + tail
	}
	resources := func(open, close string) (string, string) {
		return document(date+"<Resources>", open, close, "</Resources>")
	}
	switch place {
	case "JobIdentification":
		return document("", "<JobIdentification>", "</JobIdentification>", date)
	case "Application":
		return document("", "<Application>", date[len("<Application>"):], "")
	case "POSIXApplication":
		return document("<Application>", "<p:POSIXApplication><p:Executable>/bin/date</p:Executable>", "</p:POSIXApplication>", "</Application>")
	case "HPCProfileApplication":
		return document("<Application>", "<h:HPCProfileApplication><h:Executable>/bin/date</h:Executable>", "</h:HPCProfileApplication>", "</Application>")
	case "SPMDApplication":
		return document("<Application>", "<s:SPMDApplication><p:Executable>/bin/date</p:Executable><s:NumberOfProcesses>2</s:NumberOfProcesses>", mpi+"</s:SPMDApplication>", "</Application>")
	case "Resources":
		return resources("", "")
	case "DataStaging":
		return document(date+`<Resources><FileSystem name="D"/></Resources>`, "<DataStaging><FileName>x</FileName><Source><URI>x</URI></Source>", "</DataStaging>", "")
	case "FileSystem":
		return resources(`<FileSystem name="X">`, "</FileSystem>")
	case "OperatingSystem", "CandidateHosts":
		return resources("<"+place+">", "</"+place+">")
	case "Sites":
		return resources("<g:Sites>", "</g:Sites>")
	case "Piece":
		return resources("<g:Piece>", "</g:Piece>")
	}
	return "", ""
}

// Every element of the table does what the table says: what is used changes the job, what only
// describes changes nothing else, and what is refused is refused by its name, with what would be needed.
func TestEveryElementDoesWhatTheTableSays(t *testing.T) {
	t.Parallel()
	tried := 0
	for _, r := range table {
		with, without := around(r.in, sampleOf(r))
		// What the sample of its place holds already is tried by changing it there.
		if with == "" || strings.HasSuffix(r.local, "Application") || strings.Contains(without, "<p:"+r.local+">") || strings.Contains(without, "<h:"+r.local+">") || strings.Contains(without, "<"+r.local+">") || strings.Contains(without, "<s:"+r.local+">") {
			continue
		}
		tried++
		d, err := Parse("job.jsdl", []byte(with))
		if r.effect == refused {
			if err == nil || !strings.Contains(err.Error(), r.local+" is not supported: "+r.says) {
				t.Errorf("%s in %s: %v", r.local, r.in, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s in %s is refused:\n%v\n%s", r.local, r.in, err, with)
			continue
		}
		was, err := Parse("job.jsdl", []byte(without))
		if err != nil {
			was = &Document{}
		}
		before, after := was.Job, d.Job
		before.About, after.About = grid.About{}, grid.About{}
		if r.local == "JobName" {
			before.Name = after.Name
		}
		changed := fmt.Sprint(before) != fmt.Sprint(after) || fmt.Sprint(stagingOf(was)) != fmt.Sprint(stagingOf(d))
		if changed != (r.effect == used) {
			t.Errorf("%s in %s changes the job: %v\n%+v\n%+v", r.local, r.in, changed, before, after)
		}
	}
	if tried < 80 {
		t.Errorf("only %d elements of %d were tried", tried, len(table))
	}
}

// stagingOf is what a document stages, without places.
func stagingOf(d *Document) []Staging {
	var list []Staging
	for _, s := range d.Staging {
		s.Line, s.Col = 0, 0
		list = append(list, s)
	}
	return list
}
