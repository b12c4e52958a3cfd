package jsdl

import (
	"strings"
	"testing"
)

// With filesystemName a path is relative to the top of the sandbox, which stands in for the file systems that the document declares; it is
// printed as what it comes to.
func TestPathsOnAFileSystem(t *testing.T) {
	t.Parallel()
	const resources = `<Resources><FileSystem name="SCRATCH"/></Resources>`
	document := func(directory string, program ...string) string {
		if directory != "" {
			program = append(program, `<p:WorkingDirectory>`+directory+`</p:WorkingDirectory>`)
		}
		return describing(`<Application><p:POSIXApplication>` + strings.Join(program, "") + `</p:POSIXApplication></Application>` + resources)
	}
	on := func(local, text string) string {
		return `<p:` + local + ` filesystemName="SCRATCH">` + text + `</p:` + local + `>`
	}
	for _, c := range []struct {
		directory, argument, output string
		wantArgument, wantOutput    string
	}{
		{"", "data/a", "b", "data/a", "b"},
		{"", "", "b", ".", "b"},
		{"deep/down", "data/a", "deep/down/b", "../../data/a", "b"},
		{"deep/down", "deep/down/a", "deep/down/b/c", "a", "b/c"},
		{"deep", "", "deep/b", "../.", "b"},
	} {
		d, err := Parse("x", []byte(document(c.directory, `<p:Executable>/bin/cat</p:Executable>`, on("Argument", c.argument), on("Output", c.output))))
		if err != nil {
			t.Error(err)
			continue
		}
		if p := d.Job.Program; p.Arguments[0] != c.wantArgument || p.Output != c.wantOutput {
			t.Errorf("in %q: %q and %q are %q and %q", c.directory, c.argument, c.output, p.Arguments, p.Output)
		}
	}
	for text, want := range map[string]string{
		document("deep", `<p:Executable>/bin/cat</p:Executable>`, on("Output", "b")):         `Output is "b" on "SCRATCH", whose place is the top of the sandbox, outside of the working directory "deep"`,
		document("", `<p:Executable>/bin/cat</p:Executable>`, on("Argument", "/b")):          `Argument is "/b": with filesystemName="SCRATCH" it is a path relative to that`,
		document("", on("Executable", "/bin/cat")):                                           `Executable is "/bin/cat": with filesystemName="SCRATCH" it is a path relative to that`,
		strings.ReplaceAll(document("", on("Executable", "a")), `="SCRATCH">a`, `="HOME">a`): `filesystemName of Executable is HOME: a job has a sandbox only`,
	} {
		if _, err := Parse("x", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("it is refused by %v, not %s", err, want)
		}
	}
}
