package jsdl

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gbroker/grid"
)

// understoodOf is a document without what only says where something stood in it.
func understoodOf(d *Document) Document {
	return Document{Job: d.Job, Staging: stagingOf(d)}
}

// drawn makes documents of parts that fit together.
type drawn struct{ *rapid.T }

func (d drawn) yes() bool { return rapid.Bool().Draw(d.T, "yes") }

func (d drawn) n(low, high int) int { return rapid.IntRange(low, high).Draw(d.T, "n") }

func (d drawn) word() string {
	return rapid.StringMatching(`[a-z][a-z0-9_-]{0,8}`).Draw(d.T, "word")
}

func (d drawn) text() string {
	s := rapid.StringOfN(rapid.RuneFrom([]rune("aé<>&\"' \t\n€𝄞]x")), 0, 12, -1).Draw(d.T, "text")
	return escape.Replace(s)
}

func (d drawn) maybe(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		if d.yes() {
			b.WriteString(p)
		}
	}
	return b.String()
}

func (d drawn) value() string {
	n := d.n(1, 40)
	return rapid.SampledFrom([]string{
		fmt.Sprintf("<Exact>%d</Exact>", n), fmt.Sprintf("<Exact epsilon='1.5'>%d.0</Exact>", n), fmt.Sprintf("<LowerBoundedRange>%d</LowerBoundedRange>", n),
		fmt.Sprintf("<LowerBoundedRange exclusiveBound='true'>%d</LowerBoundedRange>", n), fmt.Sprintf("<Range><LowerBound>%d</LowerBound><UpperBound exclusiveBound='1'>%d</UpperBound></Range>", n, n+3),
		fmt.Sprintf("<Exact>%d</Exact><Exact>%d</Exact>", n, 2*n), fmt.Sprintf("<Range><LowerBound>%d.5</LowerBound><UpperBound>INF</UpperBound></Range>", n),
	}).Draw(d.T, "value")
}

func (d drawn) ranges(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		if d.n(0, 3) == 0 {
			b.WriteString("<" + name + ">" + d.value() + "</" + name + ">")
		}
	}
	return b.String()
}

func (d drawn) document() string {
	path := func() string { return d.word() + "/" + d.word() + "x%20y" }
	plain := func() string { return d.word() + "/" + d.word() }
	program := "<p:Executable>/bin/" + d.word() + "</p:Executable><p:Argument>" + d.text() + "</p:Argument>" +
		d.maybe("<p:Input>"+plain()+"i</p:Input>", "<p:WorkingDirectory>w/"+d.word()+"</p:WorkingDirectory>", "<p:Environment name='A'>"+d.text()+"</p:Environment>")
	limits := d.maybe("<p:WallTimeLimit>600</p:WallTimeLimit>", "<p:CoreDumpLimit>0</p:CoreDumpLimit>", "<p:MemoryLimit>4096</p:MemoryLimit>", "<p:ThreadCountLimit>7</p:ThreadCountLimit>", "<p:StackSizeLimit>1</p:StackSizeLimit>")
	application := "<p:POSIXApplication>" + program + limits + "</p:POSIXApplication>"
	if d.yes() {
		application = "<s:SPMDApplication>" + program + d.maybe(fmt.Sprintf("<s:NumberOfProcesses>%d</s:NumberOfProcesses>", d.n(1, 40))) +
			d.maybe(fmt.Sprintf("<s:ProcessesPerHost>%d</s:ProcessesPerHost>", d.n(1, 8)), fmt.Sprintf("<s:ThreadsPerProcess>%d</s:ThreadsPerProcess>", d.n(1, 4))) + mpi + limits + "</s:SPMDApplication>"
	}
	own := d.maybe("<g:Deadline>2031-01-02T03:04:05.678+01:00</g:Deadline>", "<g:NotBefore>2030-01-02T03:04:05Z</g:NotBefore>", "<g:Fee>3</g:Fee>", "<g:Account>a.b</g:Account>",
		"<g:Rerunnable>1</g:Rerunnable>", "<g:Hold>true</g:Hold>", "<g:Priority>-7</g:Priority>", "<g:Sites><g:Only>a</g:Only><g:Not>b</g:Not><g:Prefer>a</g:Prefer></g:Sites>", "<g:Queue>q</g:Queue>",
		"<g:DistinctNodes>true</g:DistinctNodes>", "<g:Property>ib</g:Property>", "<g:After kind='singleton'/>", "<g:Notify>https://h/x</g:Notify>", "<g:Signal before='7' leader='true'>41</g:Signal>", "<g:Dialect>torque</g:Dialect>", "<g:Coallocation sites='2' processes='4' early='true' survive='1' reach='true'/>", "<g:Bring> out/*.d </g:Bring><g:Bring bytes='7'>**</g:Bring>", "<g:Resource name='gpu'>2</g:Resource>")
	resources := "<Resources>" + d.maybe("<CandidateHosts><HostName>n1</HostName><HostName>n2.x</HostName></CandidateHosts>", "<FileSystem name='S'><DiskSpace>"+d.value()+"</DiskSpace></FileSystem>", "<ExclusiveExecution>true</ExclusiveExecution>",
		"<CPUArchitecture><CPUArchitectureName>arm</CPUArchitectureName></CPUArchitecture>") +
		d.ranges("IndividualCPUSpeed", "IndividualCPUTime", "IndividualCPUCount", "IndividualNetworkBandwidth", "IndividualPhysicalMemory", "IndividualDiskSpace", "TotalCPUCount", "TotalPhysicalMemory", "TotalResourceCount")
	if d.n(0, 4) == 0 {
		own += "<g:Piece count='2' processes='3' cores='5'><g:Resource name='fpga'>1</g:Resource></g:Piece><g:Piece memory='7'/>"
	}
	onDisk := "<DataStaging><FileName>" + plain() + "9</FileName><FilesystemName>S</FilesystemName><CreationFlag>overwrite</CreationFlag><Target><URI>on/s</URI></Target></DataStaging>"
	if !strings.Contains(resources, "name='S'") {
		onDisk = ""
	}
	staged := d.maybe(onDisk, entry(plain()+"1", path(), ""), entry(plain()+"2", "", path()+"2"), entry(plain()+"3", "https://h/a?b=c", "sftp://u@h/x"), "<DataStaging><FileName>"+plain()+"4</FileName><DeleteOnTermination>true</DeleteOnTermination></DataStaging>",
		"<DataStaging><FileName>z5</FileName><CreationFlag>append</CreationFlag><Target><URI>s3://b/k</URI></Target></DataStaging>")
	about := d.maybe("<JobName>"+d.word()+"</JobName>", "<Description>"+d.text()+"</Description>", "<JobAnnotation>"+d.text()+"</JobAnnotation>", "<JobProject>p</JobProject>")
	return open + "<JobDescription><JobIdentification>" + about + "</JobIdentification><Application>" + d.maybe("<ApplicationName>n</ApplicationName>") + application + "</Application>" + resources + own + "</Resources>" + staged + "</JobDescription>" + close
}

// What is printed means the job that was read, and is printed the same again.
func TestPrintIsReadAgain(t *testing.T) {
	t.Parallel()
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		document := drawn{t}.document()
		d, err := Parse("job.jsdl", []byte(document))
		if err != nil {
			return // the parts contradict each other
		}
		accepted++
		checkPrint(t, d)
	})
	if accepted < 10 {
		t.Errorf("only %d documents were accepted", accepted)
	}
}

func checkPrint(t interface{ Fatalf(string, ...any) }, d *Document) {
	printed := Print(&d.Job, d.Staging)
	again, err := Parse("printed.jsdl", printed)
	if err != nil {
		t.Fatalf("what is printed is refused:\n%v\n%s", err, printed)
	}
	if len(again.Warnings) > 0 {
		t.Fatalf("what is printed is warned of:\n%v\n%s", again.Warnings, printed)
	}
	if !reflect.DeepEqual(understoodOf(again), understoodOf(d)) {
		t.Fatalf("%+v\nis printed as\n%s\nand read as\n%+v", understoodOf(d), printed, understoodOf(again))
	}
	if twice := Print(&again.Job, again.Staging); string(twice) != string(printed) {
		t.Fatalf("printed again as\n%s\nnot\n%s", twice, printed)
	}
}

// Pieces that no words of the standard make are written as such.
func TestPrintOfPieces(t *testing.T) {
	t.Parallel()
	for name, chunks := range map[string][]grid.Chunk{
		"two kinds":         {{Count: 2, Processes: 4, Cores: 4, Memory: 1 << 30}, {Count: 1, Processes: 1, Cores: 8, Resources: []grid.Resource{{Name: "gpu", Amount: 1}}}},
		"cores and threads": {{Count: 2, Processes: 1, Cores: 8}},
		"three kinds":       {{Count: 1, Processes: 1, Cores: 1}, {Count: 1, Processes: 2, Cores: 2}, {Count: 1, Processes: 3, Cores: 3}},
		"no cores":          {{Count: 1, Processes: 1}},
	} {
		job := grid.Job{Program: grid.Program{Executable: "/bin/true"}, Demand: grid.Demand{Chunks: chunks}}
		printed := Print(&job, nil)
		d, err := Parse(name, printed)
		if err != nil || !reflect.DeepEqual(d.Job.Demand, job.Demand) || !strings.Contains(string(printed), "gb:Piece") {
			t.Errorf("%s: %v\n%s\n%+v", name, err, printed, d)
		}
	}
}

// schemas are the official ones, which are not part of this repository.
const schemas = "../../shared/jsdl/xsd"

// agree asks xmllint whether a document fits a schema.
func agree(t *testing.T, schema string, document []byte) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "document.xml")
	if err := os.WriteFile(name, document, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("xmllint", "--nonet", "--noout", "--schema", schema, name).CombinedOutput(); err != nil {
		t.Errorf("xmllint: %v\n%s\n%s", err, out, document)
	}
}

// The schema of our elements takes what we print of them, and refuses what the parser refuses; the
// official schemas take every document that we print.
func TestSchemasAgree(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("xmllint"); err != nil {
		t.Skip("there is no xmllint: what is printed is not compared with the schemas (Debian: libxml2-utils)")
	}
	ours, err := filepath.Abs("gbroker.xsd")
	if err != nil {
		t.Fatal(err)
	}
	driver := filepath.Join(t.TempDir(), "all.xsd")
	official := ""
	if at, err := filepath.Abs(schemas); err == nil {
		if _, err := os.Stat(filepath.Join(at, "driver.xsd")); err == nil {
			official = at
		}
	}
	if official == "" {
		t.Log("the official schemas are not here: only our own is tried")
	}
	text := `<xsd:schema xmlns:xsd="http://www.w3.org/2001/XMLSchema"><xsd:import namespace="` + Own + `" schemaLocation="` + ours + `"/>`
	for space, file := range map[string]string{Core: "jsdl.xsd", POSIX: "jsdl-posix.xsd", HPCProfile: "jsdl-hpcpa.xsd", SPMD: "jsdl-spmd.xsd"} {
		if official != "" {
			text += `<xsd:import namespace="` + space + `" schemaLocation="` + filepath.Join(official, file) + `"/>`
		}
	}
	if err := os.WriteFile(driver, []byte(text+"</xsd:schema>"), 0o600); err != nil {
		t.Fatal(err)
	}
	tried := 0
	rapidly := rapid.Custom(func(t *rapid.T) string { return drawn{t}.document() })
	for seed := 0; tried < 25 && seed < 400; seed++ {
		d, err := Parse("job.jsdl", []byte(rapidly.Example(seed)))
		if err != nil {
			continue
		}
		tried++
		if official != "" {
			agree(t, driver, Print(&d.Job, d.Staging))
		}
	}
	if tried < 25 {
		t.Errorf("only %d documents were tried", tried)
	}
	for _, r := range table {
		if r.space == Own && r.in == "Resources" && r.effect != refused {
			agree(t, ours, []byte(strings.Replace(sampleOf(r), "<g:"+r.local, `<g:`+r.local+` xmlns:g="`+Own+`"`, 1)))
		}
	}
	for _, bad := range []string{"<WallTime>0</WallTime>", "<Deadline>2030-01-01T00:00:00</Deadline>", "<Priority>1001</Priority>", "<Signal>USR1</Signal>", `<Notify when="never">mailto:a@b</Notify>`, "<Sites><Anywhere/></Sites>", "<Moon/>"} {
		name := filepath.Join(t.TempDir(), "bad.xml")
		if err := os.WriteFile(name, []byte(strings.Replace(bad, ">", ` xmlns="`+Own+`">`, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if exec.Command("xmllint", "--nonet", "--noout", "--schema", ours, name).Run() == nil {
			t.Errorf("the schema takes %s", bad)
		}
		if _, err := Parse("job.jsdl", []byte(needing(strings.ReplaceAll(strings.ReplaceAll(bad, "<", "<g:"), "<g:/", "</g:")))); err == nil {
			t.Errorf("the parser takes %s", bad)
		}
	}
}
