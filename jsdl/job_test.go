package jsdl

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"gbroker/grid"
)

func TestStructureThatIsRefused(t *testing.T) {
	t.Parallel()
	checkRefusals(t, []refusal{
		{"no description", open + "\n" + close, "1:1: JobDefinition has no JobDescription: it describes the job"},
		{"two descriptions", open + "<JobDescription>" + date + "</JobDescription>\n<JobDescription>" + date + "</JobDescription>" + close,
			"2:1: JobDescription is given twice (first in line 1): once only"},
		{"no application", open + "\n<JobDescription/>" + close, "2:1: JobDescription has no Application: " + nothing},
		{"empty application", describing("<Application/>"), "2:1: Application holds neither a POSIXApplication (in the namespace " + POSIX +
			") nor an HPCProfileApplication (" + HPCProfile + ") nor an SPMDApplication (" + SPMD + "): " + nothing},
		{"empty program", describing("<Application><p:POSIXApplication/></Application>"), "2:14: POSIXApplication has no Executable: " + nothing},
		{"two programs", describing("<Application><p:POSIXApplication><p:Executable>/a</p:Executable></p:POSIXApplication>\n<p:POSIXApplication/></Application>"),
			"3:1: POSIXApplication is given twice (first in line 2): once only"},
		{"two kinds of program", describing("<Application>\n<s:SPMDApplication/><p:POSIXApplication/></Application>"),
			"3:1: Application holds POSIXApplication (line 3) and SPMDApplication: one of them only\n3:21: POSIXApplication has no Executable: " + nothing},
		{"text between elements", describing(date + " \n  and then"), `3:3: the text "and then" does not belong here: JobDescription holds elements only`},
		{"element inside text", running("<p:Argument>a<p:Input>b</p:Input></p:Argument>"), "2:14: Input does not belong in Argument, which holds text only"},
		{"executable twice", running("<p:Executable>/bin/date</p:Executable>"), "2:1: Executable is given twice (first in line 1): once only"},
		{"element of nobody", running("<p:Queue>a</p:Queue>"), "2:1: Queue does not belong in POSIXApplication, which holds " + order(placeOf["POSIXApplication"])},
		{"attribute", running(`<p:Argument class="a">b</p:Argument>`), `2:1: Argument has the attribute class="a", which is not supported: remove it`},
		{"attribute of a structure", describing(`<Application x="1">` + date[len("<Application>"):]), `2:1: Application has the attribute x="1", which is not supported: remove it`},
		{"attribute of another namespace", running(`<p:Argument xmlns:q="u" q:id="a">b</p:Argument>`), `2:1: Argument has the attribute {u}id="a", which is not supported: remove it`},
		{"xsi:type", running(`<p:Argument xsi:type="a">b</p:Argument>`), `2:1: Argument has the attribute xsi:type="a", which is not supported: remove it`},
		{"xml:base", staging(`<DataStaging xml:base="/etc"><FileName>a</FileName><CreationFlag>overwrite</CreationFlag></DataStaging>`),
			`2:1: DataStaging has the attribute xml:base="/etc", which is not supported: remove it`},
		{"file system attribute", running(`<p:Argument filesystemName="TMP">b</p:Argument>`),
			`2:1: filesystemName of Argument is "TMP": Resources declares no FileSystem of that name; write <FileSystem name="SCRATCH"/> there, or leave filesystemName of Argument out`},
		{"file system of a variable", running(`<p:Environment name="A" filesystemName="TMP">b</p:Environment>`),
			`2:1: Environment has filesystemName="TMP": where a job's sandbox lies is not known before it runs; let the program take a path relative to its working directory`},
		{"long job name", describing("<JobIdentification><JobName>" + strings.Repeat("n", 256) + "</JobName></JobIdentification>" + date),
			"2:20: JobName has 256 bytes: at most 255"},
		{"element in a job name", describing("<JobIdentification><JobName><JobName/></JobName></JobIdentification>" + date),
			"2:29: JobName does not belong in JobName, which holds text only"},
		{"element in an annotation", describing("<JobIdentification><JobAnnotation><JobName/></JobAnnotation></JobIdentification>" + date),
			"2:35: JobName does not belong in JobAnnotation, which holds text only"},
		{"element in a description", describing("<Application><Description><JobName/></Description>" + date[len("<Application>"):]),
			"2:27: JobName does not belong in Description, which holds text only"},
		{"several at once", running("<p:Argument>a</p:Argument><p:Queue/>\n<p:WallTimeLimit>0</p:WallTimeLimit>\n<p:MemoryLimit>x</p:MemoryLimit>"),
			"2:27: Queue does not belong in POSIXApplication, which holds " + order(placeOf["POSIXApplication"]) +
				"\n3:1: WallTimeLimit is \"0\": give seconds from 1 to 31622400\n4:1: MemoryLimit is \"x\": give bytes from 1 to 1125899906842624"},
	})
}

func TestProgramThatIsRefused(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a/", grid.MaxPath/2) + "b"
	name := strings.Repeat("n", 256)
	executable := func(s string) string { return posix("<p:Executable>" + s + "</p:Executable>") }
	text := strings.Repeat("x", grid.MaxText)
	checkRefusals(t, []refusal{
		{"empty executable", executable(" "), `2:1: Executable is "": name a file`},
		{"root as executable", executable("/"), `2:1: Executable is "/": name a file`},
		{"folder as executable", executable("/bin/"), `2:1: Executable is "/bin/": name a file, not a folder`},
		{"upwards", executable("../a"), `2:1: Executable is "../a": the path must not have ..`},
		{"upwards, absolute", executable("/usr/../bin/a"), `2:1: Executable is "/usr/../bin/a": the path must not have ..`},
		{"shell, at once", executable("$HOME/a"), `2:1: Executable is "$HOME/a": '$' is for a shell, but none is started; give the path of one program, and Arguments`},
		{"shell", executable("/bin/cat $A; rm"), `2:1: Executable is "/bin/cat $A; rm": '$' is for a shell, but none is started; give the path of one program, and Arguments`},
		{"backslash", executable(`C:\a.exe`), `2:1: Executable is "C:\\a.exe": backslashes are not allowed in a path, separate folders by /`},
		{"line end", executable("/bin/a\nb"), `2:1: Executable is "/bin/a\nb": control characters are not allowed in a path`},
		{"line separator", executable("/bin/a\u2028b"), `2:1: Executable is "/bin/a\u2028b": control characters are not allowed in a path`},
		{"delete", executable("/bin/a\u007f"), `2:1: Executable is "/bin/a\x7f": control characters are not allowed in a path`},
		{"long path", executable(long), `2:1: Executable is "a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/"…: the path has 1025 bytes, at most 1024 are allowed`},
		{"long name", executable(name), `2:1: Executable is "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"…: a name in the path has 256 bytes, at most 255 are allowed`},
		{"long with the folder", posix("<p:Executable>" + long[:600] + "b</p:Executable><p:WorkingDirectory>" + long[:600] + "</p:WorkingDirectory>"),
			`2:1: Executable is "a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/"…: with the working directory the path has 1201 bytes, at most 1024 are allowed`},
		{"absolute folder", running("<p:WorkingDirectory>/tmp</p:WorkingDirectory>"), `2:1: WorkingDirectory is "/tmp": a job runs in a sandbox of its own, give a path relative to that`},
		{"root as folder", running("<p:WorkingDirectory>/</p:WorkingDirectory>"), `2:1: WorkingDirectory is "/": a job runs in a sandbox of its own, give a path relative to that`},
		{"folder upwards", running("<p:WorkingDirectory>a/..</p:WorkingDirectory>"), `2:1: WorkingDirectory is "a/..": the path must not have ..`},
		{"empty folder", running("<p:WorkingDirectory/>"), `2:1: WorkingDirectory is empty: leave it out to work at the top of the sandbox`},
		{"absolute input", running("<p:Input>/etc/passwd</p:Input>"), `2:1: Input is "/etc/passwd": the path must be relative`},
		{"empty output", running("<p:Output/>"), `2:1: Output is "": name a file`},
		{"error upwards", running("<p:Error>../../e</p:Error>"), `2:1: Error is "../../e": the path must not have ..`},
		{"output as folder", running("<p:Output>a/.</p:Output>"), `2:1: Output is "a/.": name a file, not a folder`},
		{"output long with the folder", running("<p:Output>" + long[:600] + "b</p:Output><p:WorkingDirectory>" + long[:600] + "</p:WorkingDirectory>"),
			`2:1: Output is "a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/"…: with the working directory the path has 1201 bytes, at most 1024 are allowed`},
		{"long argument", running("<p:Argument>" + text + "</p:Argument>"), "2:1: Argument has 131072 bytes: at most 131071"},
		{"many arguments", running(strings.Repeat("<p:Argument/>", grid.MaxArguments+1)), "2:53249: there are more than 4096 Argument"},
		{"variable without name", running("<p:Environment>a</p:Environment>"), `2:1: Environment has no name: write <Environment name="NAME">`},
		{"variable of no name", running("<p:Environment name=''>a</p:Environment>"), `2:1: Environment is named "": use letters, digits and _, first no digit`},
		{"variable with a digit first", running("<p:Environment name='1A'>a</p:Environment>"), `2:1: Environment is named "1A": use letters, digits and _, first no digit`},
		{"variable with =", running("<p:Environment name='A=B'>a</p:Environment>"), `2:1: Environment is named "A=B": use letters, digits and _, first no digit`},
		{"variable with a dot", running("<p:Environment name='a.b'>a</p:Environment>"), `2:1: Environment is named "a.b": use letters, digits and _, first no digit`},
		{"variable of the broker", running("<p:Environment name='GBROKER_HOSTFILE'>a</p:Environment>"), `2:1: Environment is named "GBROKER_HOSTFILE": names that start with GBROKER_ are the broker's`},
		{"variable twice", running("<p:Environment name='A'>a</p:Environment>\n<p:Environment name='A'>a</p:Environment>"), `3:1: Environment "A" is given twice (first in line 2): once only`},
		{"variable without name, with an unknown attribute", running("<p:Environment nome='A'>a</p:Environment>"),
			"2:1: Environment has the attribute nome=\"A\", which is not supported: remove it\n2:1: Environment has no name: write <Environment name=\"NAME\">"},
		{"long variable", running("<p:Environment name='A'>" + text[2:] + "</p:Environment>"), `2:1: Environment "A" has 131072 bytes: at most 131071 with its name`},
		{"many variables", running(strings.Repeat("<p:Environment name='A'/>", grid.MaxArguments+1)), "2:102401: there are more than 4096 Environment"},
		{"negative wall time", running("<p:WallTimeLimit>-5</p:WallTimeLimit>"), `2:1: WallTimeLimit is "-5": give seconds from 1 to 31622400`},
		{"no wall time", running("<p:WallTimeLimit>0</p:WallTimeLimit>"), `2:1: WallTimeLimit is "0": give seconds from 1 to 31622400`},
		{"minus zero", running("<p:WallTimeLimit>-0</p:WallTimeLimit>"), `2:1: WallTimeLimit is "-0": give seconds from 1 to 31622400`},
		{"long wall time", running("<p:WallTimeLimit>31622401</p:WallTimeLimit>"), `2:1: WallTimeLimit is "31622401": give seconds from 1 to 31622400`},
		{"endless wall time", running("<p:WallTimeLimit>99999999999999999999999</p:WallTimeLimit>"), `2:1: WallTimeLimit is "99999999999999999999999": give seconds from 1 to 31622400`},
		{"endlessly negative", running("<p:WallTimeLimit>-99999999999999999999999</p:WallTimeLimit>"), `2:1: WallTimeLimit is "-99999999999999999999999": give seconds from 1 to 31622400`},
		{"wall time of words", running("<p:WallTimeLimit>1h</p:WallTimeLimit>"), `2:1: WallTimeLimit is "1h": give seconds from 1 to 31622400`},
		{"wall time with two signs", running("<p:WallTimeLimit>+-60</p:WallTimeLimit>"), `2:1: WallTimeLimit is "+-60": give seconds from 1 to 31622400`},
		{"empty wall time", running("<p:WallTimeLimit/>"), `2:1: WallTimeLimit is "": give seconds from 1 to 31622400`},
		{"no memory", running("<p:MemoryLimit>0</p:MemoryLimit>"), `2:1: MemoryLimit is "0": give bytes from 1 to 1125899906842624`},
		{"memory with a unit", running("<p:MemoryLimit>1G</p:MemoryLimit>"), `2:1: MemoryLimit is "1G": give bytes from 1 to 1125899906842624`},
	})
}

func TestProgramThatIsAccepted(t *testing.T) {
	t.Parallel()
	variable := func(name, value string) grid.Variable { return grid.Variable{Name: name, Value: value} }
	for _, c := range []struct {
		name, document string
		want           grid.Program
	}{
		{"white space", posix("<p:Executable>\n\t /bin/date \r\n</p:Executable><p:Argument> a\tb\nc </p:Argument><p:Argument/><p:Argument>$HOME `x`</p:Argument><p:Environment name=' A '> \tb\n </p:Environment>"),
			grid.Program{Executable: "/bin/date", Arguments: []string{" a b c ", "", "$HOME `x`"}, Environment: []grid.Variable{variable("A", " \tb\n ")}}},
		{"clean paths", posix("<p:Executable>./a//b/./c</p:Executable><p:Input>./i</p:Input><p:Output>o//p</p:Output><p:Error>...</p:Error><p:WorkingDirectory>./w/</p:WorkingDirectory>"),
			grid.Program{Executable: "a/b/c", Input: "i", Output: "o/p", Error: "...", Directory: "w"}},
		{"several slashes", posix("<p:Executable>//bin//date</p:Executable><p:WorkingDirectory>./</p:WorkingDirectory>"), grid.Program{Executable: "/bin/date"}},
		{"space in the executable", posix("<p:Executable>/opt/My App/run</p:Executable>"), grid.Program{Executable: "/opt/My App/run"}},
		{"largest text", running("<p:Argument>" + strings.Repeat("x", grid.MaxText-1) + "</p:Argument>"),
			grid.Program{Executable: "/bin/date", Arguments: []string{strings.Repeat("x", grid.MaxText-1)}}},
		{"names of variables", running("<p:Environment name='azAZ_09'>v</p:Environment>"),
			grid.Program{Executable: "/bin/date", Environment: []grid.Variable{variable("azAZ_09", "v")}}},
		{"longest paths", posix("<p:Executable>" + strings.Repeat("n", 255) + "</p:Executable><p:Output>" + strings.Repeat("a/", 255) + "bb</p:Output><p:WorkingDirectory>" + strings.Repeat("c/", 255) + "c</p:WorkingDirectory>"),
			grid.Program{Executable: strings.Repeat("n", 255), Output: strings.Repeat("a/", 255) + "bb", Directory: strings.Repeat("c/", 255) + "c"}},
		{"largest variable", running("<p:Environment name='A'>" + strings.Repeat("x", grid.MaxText-3) + "</p:Environment>"),
			grid.Program{Executable: "/bin/date", Environment: []grid.Variable{variable("A", strings.Repeat("x", grid.MaxText-3))}}},
		{"memory", running("<p:MemoryLimit> +007 </p:MemoryLimit>"), grid.Program{Executable: "/bin/date", Limits: []grid.Limit{{Name: grid.LimitMemory, Value: 7}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := mustParse(t, c.document).Job.Program; !reflect.DeepEqual(got, c.want) {
				t.Errorf("%+v\nwant %+v", got, c.want)
			}
		})
	}
}

func TestWallTime(t *testing.T) {
	t.Parallel()
	for document, want := range map[string]grid.Tick{
		running(""): 0,
		running("<p:WallTimeLimit>1</p:WallTimeLimit>"):          grid.Second,
		running("<p:WallTimeLimit> 31622400 </p:WallTimeLimit>"): grid.MaxWalltime,
	} {
		if got := mustParse(t, document).Job.Walltime; got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

func TestSPMDThatIsRefused(t *testing.T) {
	t.Parallel()
	variation := func(uri string) string {
		return describing("<Application><s:SPMDApplication><p:Executable>/a</p:Executable>\n<s:SPMDVariation>" + uri + "</s:SPMDVariation></s:SPMDApplication></Application>")
	}
	all := ": write http://www.ogf.org/jsdl/2007/02/jsdl-spmd/ and one of MPI, GridMPI, IntelMPI, LAM-MPI, MPICH1, MPICH2, MPICH-GM, MPICH-MX, MVAPICH, MVAPICH2, OpenMPI, POE, PVM"
	checkRefusals(t, []refusal{
		{"no variation", describing("<Application>\n<s:SPMDApplication><p:Executable>/a</p:Executable></s:SPMDApplication></Application>"),
			"3:1: SPMDApplication has no SPMDVariation: write <SPMDVariation>" + variationBase + "MPI</SPMDVariation> in the namespace " + SPMD},
		{"unknown variation", variation(variationBase + "OpenMP"), `3:1: SPMDVariation is "http://www.ogf.org/jsdl/2007/02/jsdl-spmd/OpenMP"` + all},
		{"short variation", variation("MPI"), `3:1: SPMDVariation is "MPI"` + all},
		{"no processes", spmd("<s:NumberOfProcesses>0</s:NumberOfProcesses>", ""), `2:1: NumberOfProcesses is "0": give a whole number from 1 to 1048576`},
		{"negative processes", spmd("<s:NumberOfProcesses>-4</s:NumberOfProcesses>", ""), `2:1: NumberOfProcesses is "-4": give a whole number from 1 to 1048576`},
		{"many processes", spmd("<s:NumberOfProcesses>1048577</s:NumberOfProcesses>", ""), `2:1: NumberOfProcesses is "1048577": give a whole number from 1 to 1048576`},
		{"empty processes", spmd("<s:NumberOfProcesses/>", ""), `2:1: NumberOfProcesses is "": give a whole number from 1 to 1048576`},
		{"nil and a number", spmd("<s:NumberOfProcesses xsi:nil='true'>4</s:NumberOfProcesses>", ""), `2:1: NumberOfProcesses has both a number and actualtotalcpucount or nil: one of them only`},
		{"nil of nothing", spmd("<s:NumberOfProcesses nil='true'/>", ""),
			"2:1: NumberOfProcesses has the attribute nil=\"true\", which is not supported: remove it\n2:1: NumberOfProcesses is \"\": give a whole number from 1 to 1048576"},
		{"nil that is no boolean", spmd("<s:NumberOfProcesses xsi:nil='yes'>4</s:NumberOfProcesses>", ""), `2:1: nil of NumberOfProcesses is "yes": give true or false`},
		{"nil with another attribute", spmd("<s:NumberOfProcesses xsi:nil='true' a='b'/>", ""), `2:1: NumberOfProcesses has the attribute a="b", which is not supported: remove it`},
		{"no processes on a host", spmd("<s:ProcessesPerHost>0</s:ProcessesPerHost>", ""), `2:1: ProcessesPerHost is "0": give a whole number from 1 to 1048576`},
		{"no threads", spmd("<s:ThreadsPerProcess>0</s:ThreadsPerProcess>", ""), `2:1: ThreadsPerProcess is "0": give a whole number from 1 to 1048576`},
		{"nil threads", spmd("<s:ThreadsPerProcess xsi:nil='true'/>", ""),
			"2:1: ThreadsPerProcess is nil, as many as a node has: give IndividualCPUCount"},
	})
}

func TestSPMDVariations(t *testing.T) {
	t.Parallel()
	for _, v := range variations {
		document := describing("<Application><s:SPMDApplication><p:Executable>/a</p:Executable><s:SPMDVariation> " + variationBase + v +
			"\n</s:SPMDVariation><p:MemoryLimit>4096</p:MemoryLimit><p:WallTimeLimit>60</p:WallTimeLimit></s:SPMDApplication></Application>")
		job := mustParse(t, document).Job
		if job.Program.Parallel != v || job.Walltime != grid.Minute || !reflect.DeepEqual(job.Program.Limits, []grid.Limit{{Name: grid.LimitMemory, Value: 4096}}) {
			t.Errorf("%s: %+v", v, job)
		}
	}
}

func TestIdentification(t *testing.T) {
	t.Parallel()
	job := mustParse(t, describing("<JobIdentification><JobName>\n two  words </JobName><Description>d</Description><JobAnnotation>a</JobAnnotation><JobAnnotation/><JobProject>p</JobProject></JobIdentification>"+
		"<Application><Description>e</Description>"+date[len("<Application>"):])).Job
	if job.Name != "two words" {
		t.Errorf("Name is %q", job.Name)
	}
}

// The mistakes of a document are told in order, and not without end.
func TestMistakesAreCapped(t *testing.T) {
	t.Parallel()
	_, err := Parse("job.jsdl", []byte(running(strings.Repeat("<p:X/>\n", 300))))
	list, ok := err.(Errors)
	if !ok || len(list) != MaxErrors+1 {
		t.Fatalf("%T of %d", err, len(list))
	}
	for i, e := range list[:MaxErrors] {
		if e.Line != i+2 || e.File != "job.jsdl" {
			t.Errorf("mistake %d is %v", i, e)
		}
	}
	if want := "job.jsdl:22:1: there are more than 20 mistakes: this one and those after it are not told"; list[MaxErrors].Error() != want {
		t.Errorf("%v, want %s", list[MaxErrors], want)
	}
}

func TestLongNamesAreCut(t *testing.T) {
	t.Parallel()
	_, err := Parse("job.jsdl", []byte(running("<p:"+strings.Repeat("ü", 1000)+"/>")))
	if got := err.Error(); len(got) > 530 || !strings.HasSuffix(got, "ü…") || strings.ContainsRune(got, '\uFFFD') {
		t.Errorf("told %s", got)
	}
	if got := quote(strings.Repeat("ü", 31)); got != fmt.Sprintf("%q…", strings.Repeat("ü", 30)) {
		t.Errorf("quoted %s", got)
	}
}

// At the limits a document is still accepted.
func TestLimitsAreInclusive(t *testing.T) {
	t.Parallel()
	job := mustParse(t, running(strings.Repeat("<p:Argument/>", grid.MaxArguments))).Job
	if len(job.Program.Arguments) != grid.MaxArguments {
		t.Errorf("%d Arguments", len(job.Program.Arguments))
	}
	var variables strings.Builder
	for i := range grid.MaxArguments {
		fmt.Fprintf(&variables, "<p:Environment name='V%d'/>", i)
	}
	if job := mustParse(t, running(variables.String())).Job; len(job.Program.Environment) != grid.MaxArguments {
		t.Errorf("%d Environments", len(job.Program.Environment))
	}
	name := strings.Repeat("n", maxJobName)
	if job := mustParse(t, describing("<JobIdentification><JobName>"+name+"</JobName></JobIdentification>"+date)).Job; job.Name != name {
		t.Errorf("a name of %d bytes", len(job.Name))
	}
	namespaces := ""
	for i := range MaxAttributes {
		namespaces += fmt.Sprintf(" xmlns:a%d='u'", i)
	}
	mustParse(t, describing("<JobIdentification"+namespaces+"/>"+date))
	document := describing(date)
	mustParse(t, document+strings.Repeat("\n", MaxDocument-len(document)))
	mustParse(t, running("<p:Argument>\uD7FF\uE000\uFFFD\U00010000</p:Argument>"))
}
