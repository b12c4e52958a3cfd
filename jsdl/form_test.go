package jsdl

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"gbroker/grid"
)

// What is not as it should be, but certain in its meaning, is taken with a warning: the job is the
// same as of the right form.
func TestFormThatIsTolerated(t *testing.T) {
	t.Parallel()
	inNamespace := func(right, wrong, document string) string { return strings.ReplaceAll(document, right, wrong) }
	variation := func(base string) string {
		return describing("<Application><s:SPMDApplication><p:Executable>/a</p:Executable><s:SPMDVariation>" + base + "MPI</s:SPMDVariation></s:SPMDApplication></Application>")
	}
	for _, c := range []struct{ name, document, right, warning string }{
		{"order", running("<p:Output>o</p:Output>\n<p:Argument>b</p:Argument>"), running("<p:Argument>b</p:Argument>\n<p:Output>o</p:Output>"),
			"3:1: Argument stands behind Output: the schema has another order"},
		{"order of parts", describing("<Resources><ExclusiveExecution>true</ExclusiveExecution></Resources>\n" + date), describing(date + "<Resources><ExclusiveExecution>true</ExclusiveExecution></Resources>"),
			"3:1: Application stands behind Resources: the schema has another order"},
		{"order of staging", staging("<DataStaging><CreationFlag>overwrite</CreationFlag><FileName>a</FileName></DataStaging>"), staging(entry("a", "", "")),
			"2:52: FileName stands behind CreationFlag: the schema has another order"},
		{"no creation flag", staging("<DataStaging><FileName>a</FileName></DataStaging>"), staging(entry("a", "", "")), "2:1: DataStaging has no CreationFlag: taken for overwrite"},
		{"whole number as double", running("<p:WallTimeLimit>60.0</p:WallTimeLimit>"), running("<p:WallTimeLimit>60</p:WallTimeLimit>"), `2:1: WallTimeLimit is "60.0": taken for 60`},
		{"camels", spmd("<s:NumberOfProcesses actualTotalCPUCount='true'/>", exact("TotalCPUCount", "4")), spmd("<s:NumberOfProcesses xsi:nil='true'/>", exact("TotalCPUCount", "4")),
			"2:1: NumberOfProcesses has the attribute actualTotalCPUCount: taken for actualtotalcpucount"},
		{"camels of threads", spmd("<s:ThreadsPerProcess actualIndividualCPUCount='1'/>", exact("IndividualCPUCount", "4")), spmd("<s:ThreadsPerProcess>4</s:ThreadsPerProcess>", exact("IndividualCPUCount", "4")),
			"2:1: ThreadsPerProcess has the attribute actualIndividualCPUCount: taken for actualindividualcpucount"},
		{"typo in the variation", variation(variationTypos), variation(variationBase), `2:64: SPMDVariation is "http://www.ogf/org/jsdl/2007/02/jsdl-spmd/MPI": taken for ` + variationBase + "MPI"},
		{"namespace of POSIX", inNamespace(POSIX, "http://schemas.ogf.org/jsdl/2005/11/jsdl-posix", running("")), running(""),
			"1:290: POSIXApplication is in the namespace http://schemas.ogf.org/jsdl/2005/11/jsdl-posix: taken for " + POSIX},
		{"namespace of JSDL", inNamespace(`"`+Core+`"`, `"http://schemas.ogf.org/jsdl/2005/11/jsdl"`, running("")), running(""),
			"1:1: JobDefinition is in the namespace http://schemas.ogf.org/jsdl/2005/11/jsdl: taken for " + Core},
		{"system in other letters", needing("<OperatingSystem><OperatingSystemType><OperatingSystemName>Linux</OperatingSystemName></OperatingSystemType></OperatingSystem>"),
			needing("<OperatingSystem><OperatingSystemType><OperatingSystemName>LINUX</OperatingSystemName></OperatingSystemType></OperatingSystem>"), `2:39: OperatingSystemName is "Linux": taken for LINUX`},
		{"boolean in capitals", needing("<ExclusiveExecution>True</ExclusiveExecution>"), needing("<ExclusiveExecution>true</ExclusiveExecution>"), `2:1: ExclusiveExecution is "True": taken for true`},
		{"identifier", running("<p:Argument id='x'>a</p:Argument>"), running("<p:Argument>a</p:Argument>"), `2:1: Argument has the attribute id="x", which has no effect`},
		{"host twice", needing("<CandidateHosts><HostName>a</HostName><HostName>a</HostName></CandidateHosts>"), needing("<CandidateHosts><HostName>a</HostName></CandidateHosts>"), `2:39: HostName "a" is given twice`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := mustParse(t, c.document)
			if got := strings.ReplaceAll(d.Warnings.Error(), "job.jsdl:", ""); got != c.warning {
				t.Errorf("warned\n%s\nwant\n%s", got, c.warning)
			}
			right := mustParse(t, c.right)
			if len(right.Warnings) > 0 {
				t.Errorf("the right form is warned of: %v", right.Warnings)
			}
			if !reflect.DeepEqual(understoodOf(d), understoodOf(right)) {
				t.Errorf("%+v\nwant %+v", understoodOf(d), understoodOf(right))
			}
		})
	}
}

// What others add is ignored only on demand, and never in the namespaces of the standard.
func TestLenient(t *testing.T) {
	t.Parallel()
	document := needing(`<x:GPUs xmlns:x="urn:x" a="b">1<x:y/></x:GPUs>`) + "\n"
	d, err := Parse("job.jsdl", []byte(document), Lenient)
	if err != nil || d.Warnings.Error() != "job.jsdl:2:1: {urn:x}GPUs is not understood, and ignored" {
		t.Errorf("%v, %v", d, err)
	}
	d, err = Parse("job.jsdl", []byte(running(`<p:Argument xmlns:q="u" q:id="a">b</p:Argument>`)), Lenient)
	if err != nil || d.Warnings.Error() != "job.jsdl:2:1: Argument has the attribute {u}id, which is not understood, and ignored" {
		t.Errorf("%v, %v", d, err)
	}
	for _, bad := range []string{needing("<GPUCountPerNode>1</GPUCountPerNode>"), running("<p:X/>"), needing("<g:X/>"), needing("<X xmlns=''/>"), running("<p:Argument x='1'>a</p:Argument>"), needing("<OperatingSystem><OperatingSystemVersion>5</OperatingSystemVersion></OperatingSystem>")} {
		if d, err := Parse("job.jsdl", []byte(bad), Lenient); err == nil {
			t.Errorf("%s becomes %+v", bad, d)
		}
	}
}

// What names the wall time is asked in order.
func TestWallTimeInOrder(t *testing.T) {
	t.Parallel()
	const genesis = "<x:WallclockTime xmlns:x='" + Genesis + "'><Exact>300</Exact></x:WallclockTime>"
	const arc = "<x:TotalWallTime xmlns:x='" + ARC + "'><x:Max>400</x:Max></x:TotalWallTime>"
	cpu, total := exact("IndividualCPUTime", "500"), exact("TotalCPUTime", "1201")
	four := exact("TotalCPUCount", "4")
	document := func(limit, resources string) string {
		return open + "<JobDescription><Application><p:POSIXApplication><p:Executable>/a</p:Executable>" + limit + "</p:POSIXApplication></Application><Resources>" + resources + "</Resources></JobDescription>" + close
	}
	const limit = "<p:WallTimeLimit>200</p:WallTimeLimit>"
	for _, c := range []struct {
		document string
		seconds  grid.Tick
		warnings int
	}{
		{document(limit, cpu+genesis+arc+"<g:WallTime>100</g:WallTime>"), 100, 4},
		{document(limit, cpu+genesis+arc), 200, 3},
		{document("", cpu+genesis+arc), 300, 2},
		{document("", cpu+arc), 400, 1},
		{document("", cpu), 500, 1},
		{document("", "<IndividualCPUTime><UpperBoundedRange>60</UpperBoundedRange></IndividualCPUTime>"), 60, 1},
		{document("", "<IndividualCPUTime><LowerBoundedRange>60</LowerBoundedRange></IndividualCPUTime>"), 60, 1},
		{document("", "<IndividualCPUTime><Range><LowerBound>60</LowerBound><UpperBound>90</UpperBound></Range></IndividualCPUTime>"), 90, 1},
		{document("", total+four), 301, 1},
		{document("", "<TotalCPUTime><Exact>1200</Exact></TotalCPUTime>"+four+"<g:WallTime>300</g:WallTime>"), 300, 0},
		{document("", ""), 0, 0},
	} {
		d := mustParse(t, c.document)
		if d.Job.Walltime != c.seconds*grid.Second || len(d.Warnings) != c.warnings {
			t.Errorf("%s\n%v s, %v", c.document, d.Job.Walltime.Seconds(), d.Warnings)
		}
	}
	_, err := Parse("job.jsdl", []byte(document("<p:WallTimeLimit>300</p:WallTimeLimit>", "\n"+total+four)))
	checkMistakes(t, err, "2:1: TotalCPUTime is 1201, but 4 cores in the 300 s of line 1 make 1200")
}

// Bounds may be left out, and values lie around another.
func TestMeasures(t *testing.T) {
	t.Parallel()
	speed := func(terms string) string {
		return needing("<IndividualCPUSpeed>" + terms + "</IndividualCPUSpeed>")
	}
	for terms, want := range map[string][]grid.Interval{
		"<Exact>2e9</Exact>":                          {{Low: 2e9, High: 2e9}},
		"<Exact epsilon='1e8'>2e9</Exact>":            {{Low: 1.9e9, High: 2.1e9}},
		"<UpperBoundedRange>3e9</UpperBoundedRange>":  {{High: 3e9}},
		"<LowerBoundedRange>1e9</LowerBoundedRange>":  {{Low: 1e9}},
		"<LowerBoundedRange>-INF</LowerBoundedRange>": {{}},
		"<UpperBoundedRange exclusiveBound='true'>1</UpperBoundedRange><LowerBoundedRange exclusiveBound='true'>2</LowerBoundedRange>": {{High: 1, HighOpen: true}, {Low: 2, LowOpen: true}},
		"<Range><LowerBound>1.5</LowerBound><UpperBound>INF</UpperBound></Range>":                                                      {{Low: 1.5}},
	} {
		if got := mustParse(t, speed(terms)).Job.Demand.Measures; len(got) != 1 || !reflect.DeepEqual(got[0].Within, want) {
			t.Errorf("%s is %+v", terms, got)
		}
	}
	checkRefusals(t, []refusal{
		{"no speed", speed("<Exact>0</Exact>"), `2:21: Exact is "0": give a number of hertz`},
		{"negative speed", speed("<Exact>-1</Exact>"), `2:21: Exact is "-1": give a number of hertz`},
		{"from infinity", speed("<LowerBoundedRange>INF</LowerBoundedRange>"), `2:21: LowerBoundedRange is "INF": give a number of hertz`},
		{"overlapping bounds", speed("<UpperBoundedRange>2</UpperBoundedRange>\n<LowerBoundedRange>1</LowerBoundedRange>"),
			"3:1: LowerBoundedRange, with the UpperBoundedRange in line 2, allows every value, as either may hold: write a Range"},
		{"disk from above", needing("<IndividualDiskSpace><UpperBoundedRange>5</UpperBoundedRange></IndividualDiskSpace>"),
			"2:1: IndividualDiskSpace has no lower bound: write a LowerBoundedRange with the bytes that are needed"},
		{"memory in all and each", needing(exact("IndividualPhysicalMemory", "10") + exact("TotalCPUCount", "3") + "\n" + exact("TotalPhysicalMemory", "31")),
			"3:1: TotalPhysicalMemory is 31, but 3 pieces with the IndividualPhysicalMemory of line 2 make 30"},
	})
	if m := mustParse(t, needing(exact("TotalCPUCount", "3")+exact("TotalPhysicalMemory", "31"))).Job.Demand.Chunks[0].Memory; m != 11 {
		t.Errorf("31 bytes over 3 pieces are %d each", m)
	}
	d := mustParse(t, needing("<FileSystem name='A'><DiskSpace><Exact>5</Exact></DiskSpace></FileSystem><FileSystem name='B'><DiskSpace><Exact>6</Exact></DiskSpace></FileSystem>")).Job.Demand.Disk
	if d != 11 {
		t.Errorf("two file systems take %d bytes", d)
	}
}

func TestTermsThatAreRefused(t *testing.T) {
	t.Parallel()
	var table []refusal
	for body, want := range map[string]string{
		"<g:Deadline>2030-01-01T00:00:00</g:Deadline>":          `Deadline is "2030-01-01T00:00:00", which has no zone: write 2030-01-01T00:00:00Z for UTC, or its offset as in 2030-01-01T00:00:00+01:00`,
		"<g:Deadline>tomorrow</g:Deadline>":                     `Deadline is "tomorrow": write it as 2026-11-30T18:00:00+01:00`,
		"<g:NotBefore>1960-01-01T00:00:00Z</g:NotBefore>":       `NotBefore is "1960-01-01T00:00:00Z": that is before 1970`,
		"<g:Priority>1001</g:Priority>":                         `Priority is "1001": give a whole number from -1000 to 1000`,
		"<g:Account>-A x</g:Account>":                           `Account is "-A x": give letters, digits and . _ @ + -`,
		"<g:Sites><g:Only>a</g:Only><g:Not>a</g:Not></g:Sites>": "Sites: site a is excluded, and asked for too: name it once",
		"<g:Sites><g:Only>A</g:Only></g:Sites>":                 `Only: the name "A" has 'A' at position 1: use a-z 0-9 - _, first a letter or digit`,
		"<g:After kind='soon'>x</g:After>":                      `After: "soon" is no kind of dependency: use one of [after afterok afternotok afterany aftercorr singleton]`,
		"<g:Notify>alice</g:Notify>":                            "Notify: a notice goes to mailto:NAME@HOST or https://HOST/PATH",
		"<g:Notify>https://a:secret@h/</g:Notify>":              "Notify: the URI holds a password, which others may see: take it out",
		"<g:Signal before='60'>KILLED</g:Signal>":               `Signal is "KILLED": give a number from 1 to 64, or a name such as USR1`,
		"<g:Coallocation/>":                                     "Coallocation has no sites: write over how many at most the job may lie, as in <Coallocation sites=\"2\"/>",
		"<g:Coallocation sites='17'/>":                          "sites of Coallocation is \"17\": give a whole number from 1 to 16",
		"<g:Coallocation sites='2' processes='0'/>":             "processes of Coallocation is \"0\": give a whole number from 1 to 1048576",
		"<g:Coallocation sites='2' early='perhaps'/>":           "early of Coallocation is \"perhaps\": give true or false",
		"<g:Piece count='0'/>":                                  `count of Piece is "0": give a whole number from 1 to 1048576`,
	} {
		at := "2:1: "
		if strings.HasPrefix(want, "Only") {
			at = "2:10: "
		}
		table = append(table, refusal{want, needing(body), at + want})
	}
	checkRefusals(t, append(table,
		refusal{"deadline before the start", needing("<g:NotBefore>2030-01-02T00:00:00Z</g:NotBefore>\n<g:Deadline>2030-01-02T00:00:00Z</g:Deadline>"),
			"3:1: Deadline is not after the NotBefore of line 2"},
		refusal{"patterns", needing("<g:Bring>/etc/*</g:Bring>\n<g:Bring bytes='0'>a</g:Bring>\n<g:Bring>a/[</g:Bring>"),
			"2:1: Bring: the pattern \"/etc/*\" is absolute: write one relative to the working directory\n3:1: Bring: bytes is \"0\": write a whole number from 1 on\n4:1: Bring: the pattern \"a/[\" has a [ that is not closed well"},
		refusal{"pieces and counts", needing(exact("TotalCPUCount", "2") + "\n<g:Piece/>"), "3:1: Piece says how many: leave out TotalCPUCount in line 2"},
	))
}

func TestTerms(t *testing.T) {
	t.Parallel()
	const id = "xeon16.01ARZ3NDEKTSV4RRFFQ69G5FAV"
	job := mustParse(t, needing("<g:NotBefore>2030-01-01T01:00:00+01:00</g:NotBefore><g:Deadline>2030-01-01T00:00:00.5Z</g:Deadline><g:After>"+id+".all</g:After><g:After kind='singleton'/>"+
		"<g:Notify> mailto:a@b </g:Notify><g:Signal before='90'>SIGUSR2</g:Signal><g:Hold>1</g:Hold><g:Fee>0</g:Fee>")).Job
	const start = 1893456000000
	want := grid.Terms{
		NotBefore: start, Deadline: start + 500, Held: true,
		After: []grid.Dependency{{Kind: grid.AfterOK, On: id + ".all"}, {Kind: grid.Singleton}}, Notify: []grid.Notice{{When: grid.OnEnd, To: "mailto:a@b"}},
	}
	if !reflect.DeepEqual(job.Terms, want) || job.Warning != (grid.Warning{Signal: 12, Before: 90 * grid.Second}) {
		t.Errorf("%+v %+v", job.Terms, job.Warning)
	}
}

// Virtual memory is asked for as physical, and the greater one holds; the disk of the whole job is asked of each node;
// files on a declared file system lie at the top of the sandbox.
func TestWhatTheSandboxStandsInFor(t *testing.T) {
	t.Parallel()
	for body, want := range map[string][2]int64{
		"<IndividualVirtualMemory><LowerBoundedRange>2048</LowerBoundedRange></IndividualVirtualMemory>":                                                                {2048, 0},
		"<IndividualPhysicalMemory><Exact>4096</Exact></IndividualPhysicalMemory><IndividualVirtualMemory><Exact>2048</Exact></IndividualVirtualMemory>":                {4096, 0},
		"<IndividualPhysicalMemory><Exact>1024</Exact></IndividualPhysicalMemory><IndividualVirtualMemory><Exact>2048</Exact></IndividualVirtualMemory>":                {2048, 0},
		"<TotalCPUCount><Exact>2</Exact></TotalCPUCount><TotalVirtualMemory><Exact>4096</Exact></TotalVirtualMemory><TotalDiskSpace><Exact>10</Exact></TotalDiskSpace>": {2048, 10},
		"<IndividualDiskSpace><Exact>20</Exact></IndividualDiskSpace><TotalDiskSpace><Exact>10</Exact></TotalDiskSpace>":                                                {0, 20},
	} {
		d := mustParse(t, needing(body)).Job.Demand
		if d.Chunks[0].Memory != want[0] || d.Disk != want[1] {
			t.Errorf("%s: %d bytes of memory, %d of disk", body, d.Chunks[0].Memory, d.Disk)
		}
	}
	on := func(name, declared string) string {
		return open + "<JobDescription><Application><p:POSIXApplication><p:Executable>/bin/date</p:Executable><p:WorkingDirectory>w</p:WorkingDirectory></p:POSIXApplication></Application><Resources><FileSystem name='" + declared + "'/></Resources>\n" +
			"<DataStaging><FileName>a</FileName><FilesystemName>" + name + "</FilesystemName><CreationFlag>overwrite</CreationFlag><Source><URI>https://h/a</URI></Source></DataStaging></JobDescription>" + close
	}
	if d := mustParse(t, on("SCRATCH", "SCRATCH")); d.Job.Sources[0].Path != "a" {
		t.Errorf("it lies at %q", d.Job.Sources[0].Path)
	}
	for _, c := range [][3]string{{"SCRATCH", "TMP", "declares no FileSystem of that name"}, {"HOME", "HOME", "a job has a sandbox only"}} {
		if _, err := Parse("job.jsdl", []byte(on(c[0], c[1]))); err == nil || !strings.Contains(err.Error(), "2:36: FilesystemName is") || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%v: %v", c, err)
		}
	}
}

// The profile of HPC has a namespace of its own, and its arguments keep their line ends.
func TestProfileOfHPC(t *testing.T) {
	t.Parallel()
	document := func(space string) string {
		return describing("<Application><ApplicationName>n</ApplicationName><h:HPCProfileApplication xmlns:h='" + space + "'><h:Executable>/a</h:Executable><h:Argument>x\n y</h:Argument>" +
			"<h:Environment name='A'>b</h:Environment></h:HPCProfileApplication></Application>")
	}
	for _, space := range []string{HPCProfile, "http://schemas.ogf.org/jsdl/2006/07/jsdl-hpcpa", "http://schemas.ogf.org/jsdl/2006/07/jsdl-hpcp"} {
		p := mustParse(t, document(space)).Job.Program
		if want := (grid.Program{Executable: "/a", Arguments: []string{"x\n y"}, Environment: []grid.Variable{{Name: "A", Value: "b"}}}); !reflect.DeepEqual(p, want) {
			t.Errorf("%s: %+v", space, p)
		}
	}
}

// Passwords are in no word about a document.
func TestPasswordsAreNotTold(t *testing.T) {
	t.Parallel()
	for _, uri := range []string{"ftp://u:secret@h/x", "https://u:secret@h/x", "https://u:secret@h/x y", "//u:secret@h/x", "HTTPS://:secret@h", "sftp://u:sec@secret@h/x"} {
		for _, e := range []string{entry("a", uri, ""), entry("a", "", uri)} {
			_, err := Parse("job.jsdl", []byte(staging(e)))
			if err == nil || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: %v", uri, err)
			}
		}
	}
	credential := `<DataStaging><FileName>a</FileName><CreationFlag>overwrite</CreationFlag><Source><URI>https://h/a</URI></Source><c:Credential xmlns:c="` + Credentials + `"><c:Password>secret</c:Password></c:Credential></DataStaging>`
	_, err := Parse("job.jsdl", []byte(staging(credential)))
	if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "Credential is not supported") {
		t.Error(err)
	}
}

// Limits of one kind that stand twice: the lower one holds.
func TestLimitsOfProcesses(t *testing.T) {
	t.Parallel()
	job := mustParse(t, running("<p:CoreDumpLimit>0</p:CoreDumpLimit><p:ProcessCountLimit>+9</p:ProcessCountLimit><p:ThreadCountLimit>4</p:ThreadCountLimit>")).Job
	if want := []grid.Limit{{Name: grid.LimitCore}, {Name: grid.LimitThreads, Value: 4}}; fmt.Sprint(job.Program.Limits) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", job.Program.Limits, want)
	}
	checkRefusals(t, []refusal{
		{"pipes", running("<p:PipeSizeLimit>1</p:PipeSizeLimit>"), "2:1: PipeSizeLimit is not supported: Linux has no such limit, so no site can keep it: leave it out"},
		{"beyond counting", running("<p:StackSizeLimit>99999999999999999999</p:StackSizeLimit>"), `2:1: StackSizeLimit is "99999999999999999999": give bytes from 0 to 1152921504606846976`},
	})
}
