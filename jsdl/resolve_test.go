package jsdl

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"gbroker/grid"
)

// folder is what stands beside a document: sizes by path, all with mode 0755.
type folder map[string]int64

func (f folder) beside(path string) (int64, uint32, error) {
	size, ok := f[path]
	if !ok {
		return 0, 0, grid.ErrNotFound
	}
	return size, 0o755, nil
}

// program is a document with the given children of POSIXApplication and DataStaging entries from line 3 on.
func program(body string, entries ...string) string {
	return open + "<JobDescription><Application><p:POSIXApplication>\n" + body +
		"</p:POSIXApplication></Application>\n" + strings.Join(entries, "\n") + "</JobDescription>" + close
}

func executable(path string) string { return "<p:Executable>" + path + "</p:Executable>" }

func TestStagingThatIsRefused(t *testing.T) {
	t.Parallel()
	uri := func(s string) string { return staging(entry("a", s, "")) }
	const at, known = "2:82: the URI of Source is refused: ", ": of URIs they know file, http, https, s3, sftp"
	long := strings.Repeat("a/", 300)
	checkRefusals(t, []refusal{
		{"another scheme", uri("ftp://user:secret@h/a"), at + "sites do not know the scheme ftp" + known},
		{"password is not shown", uri("https://user:secret@h/a"), at + "the URI holds a password, which others may see: take it out, and give it by 'gclient submit --credentials FILE'"},
		{"characters of no URI", uri("https://h/a b"), at + "the URI has characters that no URI has: encode them with %"},
		{"one place for two files", staging(entry("a", "", "https://h/x") + "\n" + entry("b", "", "https://h/x")),
			`3:1: two files would go to "https://h/x" (the other: line 2): give each a Target of its own`},
		{"scheme of a long name", uri(strings.Repeat("s", 40) + ":x"), at + "sites do not know the scheme ssssssssssssssssssss…" + known},
		{"scheme with signs", uri("svn+ssh://h/a"), at + "sites do not know the scheme svn+ssh" + known},
		{"host", uri("//user:secret@h/a"), at + "it has a host but no scheme: write https: before it"},
		{"empty", staging("<DataStaging><FileName>a</FileName><CreationFlag>overwrite</CreationFlag><Source><URI> </URI></Source></DataStaging>"),
			"2:82: the URI of Source is refused: the URI is empty: give a path relative to the document"},
		{"no URI", staging("<DataStaging><FileName>a</FileName><CreationFlag>overwrite</CreationFlag><Target/></DataStaging>"),
			"2:74: Target has no URI: write <URI>NAME</URI>, a path relative to the output folder"},
		{"query", uri("a?b"), at + "the URI has a query or fragment: in a file's name write ? as %3F and # as %23"},
		{"fragment", uri("a#b"), at + "the URI has a query or fragment: in a file's name write ? as %3F and # as %23"},
		{"absolute", uri("/etc/passwd"), at + `"/etc/passwd": the path must be relative`},
		{"upwards", uri("../a"), at + `"../a": the path must not have ..`},
		{"upwards inside", uri("a/../b"), at + `"a/../b": the path must not have ..`},
		{"upwards, escaped", uri("%2e%2E%2Fa"), at + `"%2e%2E%2Fa": the path must not have ..`},
		{"absolute, escaped", uri("%2Fa"), at + `"%2Fa": the path must be relative`},
		{"NUL, escaped", uri("a%00b"), at + `"a%00b": control characters are not allowed in a path`},
		{"backslash, escaped", uri("a%5Cb"), at + `"a%5Cb": backslashes are not allowed in a path, separate folders by /`},
		{"bad escape", uri("100%"), at + `"100%" is no URI: after % come two hexadecimal digits of UTF-8 (write %25 for % itself)`},
		{"bad digits", uri("%zz"), at + `"%zz" is no URI: after % come two hexadecimal digits of UTF-8 (write %25 for % itself)`},
		{"bad high digit", uri("%g2"), at + `"%g2" is no URI: after % come two hexadecimal digits of UTF-8 (write %25 for % itself)`},
		{"cut escape", uri("a%2"), at + `"a%2" is no URI: after % come two hexadecimal digits of UTF-8 (write %25 for % itself)`},
		{"scheme of the last letters", uri("azAZ:x"), at + "sites do not know the scheme azAZ" + known},
		{"bad low digit", uri("%2g"), at + `"%2g" is no URI: after % come two hexadecimal digits of UTF-8 (write %25 for % itself)`},
		{"escapes that are no UTF-8", uri("%ff"), at + `"%ff" is no URI: after % come two hexadecimal digits of UTF-8 (write %25 for % itself)`},
		{"folder as source", uri("data/"), at + `"data/": name a file, not a folder`},
		{"target upwards", staging(entry("a", "", "../../b")), `2:82: the URI of Target is refused: "../../b": the path must not have ..`},
		{"no file name", staging("<DataStaging><CreationFlag>overwrite</CreationFlag></DataStaging>"), "2:1: DataStaging has no FileName: write <FileName>NAME</FileName>"},
		{"absolute name", staging(entry("/etc/passwd", "a", "")), `2:14: FileName is "/etc/passwd": the path must be relative`},
		{"name upwards", staging(entry("../a", "a", "")), `2:14: FileName is "../a": the path must not have ..`},
		{"empty name", staging(entry("", "a", "")), `2:14: FileName is "": name a file`},
		{"name long with the folder", program(executable("/a")+"<p:WorkingDirectory>"+long+"</p:WorkingDirectory>", entry(long+"b", "", "")),
			`3:14: FileName is "a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/"…: with the working directory the path has 1201 bytes, at most 1024 are allowed`},
		{"unknown creation flag", staging("<DataStaging><FileName>a</FileName><CreationFlag>replace</CreationFlag></DataStaging>"), `2:36: CreationFlag is "replace": write overwrite`},
		{"appended to a target", staging("<DataStaging><FileName>a</FileName><CreationFlag>append</CreationFlag><Target><URI>a</URI></Target></DataStaging>"),
			`2:36: CreationFlag is "append": what comes back goes into a new folder, so write overwrite`},
		{"both ways, not overwritten", staging("<DataStaging><FileName>a</FileName><CreationFlag>dontOverwrite</CreationFlag><Source><URI>a</URI></Source><Target><URI>a</URI></Target></DataStaging>"),
			`2:36: CreationFlag is "dontOverwrite": what comes back goes into a new folder, so write overwrite`},
		{"named alone, appended", staging("<DataStaging><FileName>a</FileName><CreationFlag>append</CreationFlag></DataStaging>"),
			`2:36: CreationFlag is "append": what comes back goes into a new folder, so write overwrite`},
		{"deleted maybe", staging("<DataStaging><FileName>a</FileName><CreationFlag>overwrite</CreationFlag><DeleteOnTermination>yes</DeleteOnTermination></DataStaging>"),
			`2:74: DeleteOnTermination is "yes": give true or false`},
		{"many", staging(strings.Repeat(entry("a", "", ""), grid.MaxFiles+1)), "2:870001: there are more than 10000 DataStaging"},
	})
}

func TestFilesInEachOthersWay(t *testing.T) {
	t.Parallel()
	checkRefusals(t, []refusal{
		{"two sources", staging(entry("a", "b", "") + entry("./a", "c", "")), `2:117: FileName "a" has a second Source (first in line 2): one only`},
		{"named for nothing", staging(entry("a", "b", "") + "\n" + entry("a", "", "")), `3:1: FileName "a" is named twice (first in line 2), once without Source or Target: remove that one`},
		{"named for nothing before", staging(entry("a", "", "") + "\n" + entry("a", "", "b")), `3:1: FileName "a" is named twice (first in line 2), once without Source or Target: remove that one`},
		{"one target", staging(entry("a", "", "c") + "\n" + entry("b", "", "./c")), `3:1: two files would go to "c" (the other: line 2): give each a Target of its own`},
		{"target of standard output", staging(entry("a", "", "stdout")), `2:1: two files would go to "stdout" (the other: line 1): give each a Target of its own`},
		{"target below a target", staging(entry("a", "", "c/d") + "\n" + entry("b", "", "c")), `2:1: "c/d" comes back into a folder "c", but a file comes back under that name (line 3)`},
		{"target below standard error", staging(entry("a", "", "stderr/a")), `2:1: "stderr/a" comes back into a folder "stderr", but a file comes back under that name (line 1)`},
		{"file below a file", staging(entry("a", "x", "") + "\n" + entry("a-b", "y", "") + "\n" + entry("a/b", "z", "")),
			`4:1: FileName "a/b" needs a folder "a", but that is a file (FileName, line 2)`},
		{"file below standard output", staging(entry("stdout/a", "x", "")), `2:1: FileName "stdout/a" needs a folder "stdout", but that is a file (standard output, line 1)`},
		{"folder of the program below a file", program(executable("/a") + "<p:WorkingDirectory>stderr/w</p:WorkingDirectory>"),
			`2:32: WorkingDirectory "stderr/w" needs a folder "stderr", but that is a file (standard error, line 2)`},
		{"folder of the program is a file", program(executable("/a") + "<p:WorkingDirectory>stdout</p:WorkingDirectory>"),
			`2:32: WorkingDirectory "stdout" needs a folder "stdout", but that is a file (standard output, line 2)`},
		{"input below the executable", program(executable("a") + "\n<p:Input>a/b</p:Input>"), `3:1: Input "a/b" needs a folder "a", but that is a file (Executable, line 2)`},
		{"output is standard error", running("<p:Output>stderr</p:Output>"), `1:310: Output and standard error are both "stderr": give each a file of its own, or name both`},
		{"input is output", running("<p:Input>o</p:Input><p:Output>o</p:Output>"), `2:1: Input is "o", which Output would overwrite`},
		{"input is standard output", running("<p:Input>stdout</p:Input>"), `2:1: Input is "stdout", which standard output would overwrite`},
		{"executable is error", posix("<p:Executable>o</p:Executable><p:Error>o</p:Error>"), `2:1: Executable is "o", which Error would overwrite`},
		{"source of the output", program(executable("/a")+"<p:Output>o</p:Output>", entry("o", "x", "")), `3:1: FileName "o" is brought by a Source, but Output would overwrite it`},
		{"source of standard error", program(executable("/a"), entry("stderr", "x", "")), `3:1: FileName "stderr" is brought by a Source, but standard error would overwrite it`},
	})
}

// What was refused must not be followed by conflicts that are none.
func TestNoConflictsOnTopOfWhatWasRefused(t *testing.T) {
	t.Parallel()
	checkRefusals(t, []refusal{
		{"output", program(executable("/a")+"<p:Output>/o</p:Output>", entry("stdout", "x", "")), `2:32: Output is "/o": the path must be relative`},
		{"file name", program(executable("/a"), entry("/o", "x", ""), entry("stdout", "y", "")), `3:14: FileName is "/o": the path must be relative`},
	})
}

func TestResolve(t *testing.T) {
	t.Parallel()
	up := func(path, from string, size int64) Upload { return Upload{path, from, size, 0o755} }
	out := func(path, target string) grid.Output { return grid.Output{Path: path, Target: target} }
	target := func(path, target string) grid.Output {
		return grid.Output{Path: path, Target: target, Required: true}
	}
	standard := []grid.Output{out("stdout", "stdout"), out("stderr", "stderr")}
	type uploads = []Upload
	type outputs = []grid.Output
	for _, c := range []struct {
		name, document string
		beside         folder
		uploads        uploads
		outputs        outputs
	}{
		{"nothing", running(""), nil, nil, standard},
		{"executable and input beside", program(executable("./run.sh") + "<p:Input>in/a</p:Input>"), folder{"run.sh": 3, "in/a": 4},
			uploads{up("run.sh", "run.sh", 3), up("in/a", "in/a", 4)}, standard},
		{"in a folder", program(executable("run.sh")+"<p:Input>in</p:Input><p:Output>out</p:Output><p:WorkingDirectory>w/d</p:WorkingDirectory>", entry("x", "", ""), entry("y", "", ""), entry("z", "q/z", "r/z")),
			folder{"run.sh": 3, "in": 4, "x": 5, "q/z": 6},
			uploads{up("w/d/x", "x", 5), up("w/d/z", "q/z", 6), up("w/d/run.sh", "run.sh", 3), up("w/d/in", "in", 4)},
			outputs{out("w/d/out", "out"), out("stderr", "stderr"), target("w/d/y", "y"), target("w/d/z", "r/z")}},
		{"executable and input by sources", program(executable("run")+"<p:Input>in</p:Input>", entry("run", "bin/my%20prog%C3%A9", ""), entry("in", "./data//x", "")),
			folder{"bin/my progé": 1, "data/x": 2, "run": 9, "in": 9}, uploads{up("run", "bin/my progé", 1), up("in", "data/x", 2)}, standard},
		{"executable and input named alone", program(executable("run")+"<p:Input>in</p:Input>", entry("run", "", ""), entry("in", "", "")),
			folder{"run": 1, "in": 2}, uploads{up("run", "run", 1), up("in", "in", 2)}, standard},
		{"empty and huge files", program(executable("/a"), entry("x", "s", ""), entry("y", "t%2e%2F%7e", "")), folder{"s": 0, "t./~": math.MaxInt64},
			uploads{up("x", "s", 0), up("y", "t./~", math.MaxInt64)}, standard},
		{"one file twice", program(executable("/a"), entry("x", "s", ""), entry("y", "s", "")), folder{"s": 1}, uploads{up("x", "s", 1), up("y", "s", 1)}, standard},
		{"there and back", program(executable("/a"), entry("x", "s", "t"), entry("y", "s", ""), entry("y", "", "u"), entry("y", "", "v/w")), folder{"s": 1},
			uploads{up("x", "s", 1), up("y", "s", 1)}, append(standard[:2:2], target("x", "t"), target("y", "u"), target("y", "v/w"))},
		{"a target is not uploaded", program(executable("/a"), entry("x", "", "x")), folder{"x": 1}, nil, append(standard[:2:2], target("x", "x"))},
		{"streams with targets", program(executable("/a")+"<p:Output>o</p:Output>", entry("o", "", "results/o"), entry("stderr", "", "results/e"), entry("o", "", "again")), nil, nil,
			outputs{target("o", "results/o"), target("stderr", "results/e"), target("o", "again")}},
		{"streams named alone are not uploaded", program(executable("/a")+"<p:Output>o</p:Output>", entry("o", "", ""), entry("stderr", "", "")), folder{"o": 1, "stderr": 2}, nil,
			outputs{out("o", "o"), out("stderr", "stderr")}},
		{"flags on a source", staging("<DataStaging name='n'><FileName>a</FileName><CreationFlag>append</CreationFlag><DeleteOnTermination>1</DeleteOnTermination><Source><URI>a</URI></Source></DataStaging>"),
			folder{"a": 1}, uploads{up("a", "a", 1)}, standard},
		{"both streams in one file", program(executable("/a") + "<p:Output>o</p:Output><p:Error>./o</p:Error>"), nil, nil, outputs{out("o", "o")}},
		{"colon after a slash", staging(entry("a:b", "./a:b", "")), folder{"a:b": 1}, uploads{up("a:b", "a:b", 1)}, standard},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			gotUploads, gotOutputs, err := mustParse(t, c.document).Resolve(c.beside.beside)
			if err != nil {
				t.Fatalf("refused:\n%v", err)
			}
			if !reflect.DeepEqual(gotUploads, c.uploads) {
				t.Errorf("uploads %+v\nwant %+v", gotUploads, c.uploads)
			}
			if !reflect.DeepEqual(gotOutputs, c.outputs) {
				t.Errorf("outputs %+v\nwant %+v", gotOutputs, c.outputs)
			}
		})
	}
}

func TestResolveThatIsRefused(t *testing.T) {
	t.Parallel()
	noExecutable := ` is brought by no DataStaging and does not stand beside the document: give an absolute path such as /bin/date, or put the file beside the document`
	for _, c := range []struct {
		name, document string
		beside         Beside
		want           string
	}{
		{"no executable", program("\n " + executable("run.sh")), folder{}.beside, `3:2: Executable "run.sh"` + noExecutable},
		{"executable is where it runs only", program(executable("run.sh") + "<p:WorkingDirectory>w</p:WorkingDirectory>"), folder{"w/run.sh": 1}.beside, `2:1: Executable "run.sh"` + noExecutable},
		{"executable comes back only", program(executable("run.sh"), entry("run.sh", "", "")), folder{}.beside, `2:1: Executable "run.sh"` + noExecutable},
		{"no source, no input, told together", program(executable("run")+"<p:Input>in</p:Input>", entry("run", "x", ""), entry("b", "y", "")), folder{}.beside,
			"2:33: Input \"in\" is brought by no DataStaging and does not stand beside the document: put the file there\n" +
				"3:1: Source \"x\" does not stand beside the document: put it there or correct the URI\n" +
				"4:1: Source \"y\" does not stand beside the document: put it there or correct the URI"},
		{"no source of the input", program(executable("/a")+"<p:Input>in</p:Input>", entry("in", "x", "")), folder{"in": 1}.beside,
			"3:1: Source \"x\" does not stand beside the document: put it there or correct the URI"},
		{"not executable", program(executable("run.sh")), func(string) (int64, uint32, error) { return 1, 0o100644, nil },
			`2:1: Executable "run.sh" may not be executed (mode 0644): chmod +x it`},
		{"source not executable", program(executable("run.sh"), entry("run.sh", "r.sh", "")), func(string) (int64, uint32, error) { return 1, 0o600, nil },
			`2:1: Executable "r.sh" may not be executed (mode 0600): chmod +x it`},
		{"negative size", staging(entry("a", "a", "")), folder{"a": -1}.beside, `2:1: the size of "a" is -1 bytes, which cannot be`},
		{"not to be sent", staging(entry("a", "a", "")), func(string) (int64, uint32, error) { return 0, 0, errors.New("a is a folder") },
			"2:1: a is a folder"},
		{"sizes beyond counting", staging(entry("a", "a", "") + "\n" + entry("b", "b", "")), folder{"a": 1, "b": math.MaxInt64}.beside,
			`3:1: the size of "b" is 9223372036854775807 bytes, which cannot be`},
		{"named alone, on a target", staging(entry("a", "", "b") + "\n" + entry("b", "", "")), folder{}.beside,
			`3:1: two files would go to "b" (the other: line 2): give each a Target of its own`},
		{"named alone, below a target", staging(entry("a", "", "b") + "\n" + entry("b/c", "", "")), folder{}.beside,
			`3:1: "b/c" comes back into a folder "b", but a file comes back under that name (line 2)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			uploads, outputs, err := mustParse(t, c.document).Resolve(c.beside)
			if err == nil {
				t.Fatalf("accepted: %+v %+v", uploads, outputs)
			}
			checkMistakes(t, err, c.want)
		})
	}
}

func TestResolveOfVeryManyFiles(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range grid.MaxFiles {
		b.WriteString(entry(strings.Repeat("x", i%5)+string(rune('a'+i%26))+string(rune('a'+i/26%26))+string(rune('a'+i/676)), "", ""))
	}
	d := mustParse(t, staging(b.String()))
	if _, _, err := d.Resolve(folder{}.beside); err == nil || !strings.Contains(err.Error(), "the job brings 0 files and leaves 10002: at most 10000 each") {
		t.Errorf("told %v", err)
	}
	all := func(string) (int64, uint32, error) { return 1, 0o7777, nil }
	uploads, _, err := d.Resolve(all)
	if err != nil || len(uploads) != grid.MaxFiles || uploads[0].Mode != 0o777 {
		t.Errorf("%d uploads, %v", len(uploads), err)
	}
}

// The lists of the submitter and of the broker, which hears of the uploads only, are equal.
func TestResolveAgainFromItsUploads(t *testing.T) {
	t.Parallel()
	d := mustParse(t, program(executable("run")+"<p:Input>in</p:Input>", entry("x", "", ""), entry("y", "", ""), entry("z", "s", "")))
	uploads, outputs, err := d.Resolve(folder{"run": 1, "in": 2, "x": 3, "s": 4, "unrelated": 5}.beside)
	if err != nil {
		t.Fatal(err)
	}
	sent := map[string]Upload{}
	for _, u := range uploads {
		sent[u.From] = u
	}
	uploads2, outputs2, err := d.Resolve(func(path string) (int64, uint32, error) {
		if u, ok := sent[path]; ok {
			return u.Size, u.Mode, nil
		}
		return 0, 0, grid.ErrNotFound
	})
	if err != nil || !reflect.DeepEqual(uploads, uploads2) || !reflect.DeepEqual(outputs, outputs2) {
		t.Errorf("%+v %+v %v\nwant %+v %+v", uploads2, outputs2, err, uploads, outputs)
	}
}
