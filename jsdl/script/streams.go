package script

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"gbroker/grid"
)

// stream is a standard file as a script names it.
type stream struct {
	value
	set bool
}

// streams are standard output and error, and how they are joined.
type streams struct {
	output, errors stream
	join           string // of qsub: oe, eo or n
}

func setStream(to func(*streams) *stream) func(*reading, value) error {
	return func(j *reading, v value) error {
		if v.text == "" {
			return errNoValue
		}
		*to(&j.streams) = stream{v, true}
		return nil
	}
}

// index stands for the index of a job of an array in the names of its files.
const index = "%a"

// The number of a job is known when it is made: its home puts it into these names, see grid.JobID.Numbered. In them
// a % itself is doubled.
const (
	jobNumber   = grid.NumberOfJob
	arrayNumber = grid.NumberOfGroup
)

// indexAt is where the index stands in a name; -1 if it does not.
func indexAt(name string) int {
	for i := 0; i+1 < len(name); i++ {
		if name[i] != '%' {
			continue
		}
		if name[i:i+2] == index {
			return i
		}
		i++ // of %% and the like
	}
	return -1
}

// files names standard output and error.
func (j *reading) files() {
	p, s := &j.job.Program, &j.streams
	switch j.dialect {
	case "":
		return
	case slurm:
		usual := "slurm-" + jobNumber + ".out"
		if j.array != nil {
			usual = "slurm-" + arrayNumber + "_" + index + ".out"
		}
		p.Output = j.stream(s.output, usual)
		p.Error = j.stream(s.errors, p.Output)
	default:
		name := j.nameInFiles()
		p.Output = j.stream(s.output, name+".o")
		p.Error = j.stream(s.errors, name+".e")
		switch s.join {
		case "oe":
			p.Error = p.Output
		case "eo":
			p.Output = p.Error
		}
	}
}

// stream is the path of a standard file in the sandbox.
func (j *reading) stream(s stream, usual string) string {
	if !s.set {
		return usual
	}
	text := s.text
	if j.dialect != slurm {
		text = j.pbsPath(s.value, usual)
	}
	name, err := j.expanded(text)
	if err != nil {
		j.wrong(s.word, "%v", err)
		return usual
	}
	if name == "/dev/null" {
		j.warn(s.word, "comes back as %s: leave it alone there", short(usual))
		return usual
	}
	clean := path.Clean(name)
	if path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../") || strings.HasPrefix(clean, "~") {
		j.warn(s.word, "lies outside of the sandbox of the job: it comes back to you as %s", short(path.Base(clean)))
		clean = path.Base(clean)
	}
	switch {
	case clean == "." || clean == "/" || clean == "..":
		j.wrong(s.word, "is the name of no file")
		return usual
	case !grid.FitsNumbered(clean) || strings.ContainsAny(clean, "\\\x7f") || strings.IndexFunc(clean, func(r rune) bool { return r < ' ' }) >= 0:
		j.wrong(s.word, "has a backslash or a control character, or with the number of the job more than %d bytes, or 255 between slashes", grid.MaxPath)
		return usual
	case indexAt(clean) >= 0 && indexAt(clean[indexAt(clean)+len(index):]) >= 0:
		j.wrong(s.word, "has the index more than once: once will do")
		return usual
	}
	return clean
}

// pbsPath takes the host from a path of qsub, completes a folder, and writes its variables as Slurm's.
func (j *reading) pbsPath(v value, usual string) string {
	text := v.text
	if host, rest, is := strings.Cut(text, ":"); is && !strings.Contains(host, "/") {
		text = rest
	}
	if strings.HasSuffix(text, "/") {
		text += usual
	}
	text = strings.ReplaceAll(text, "%", "%%")
	for _, v := range pbsNames {
		text = strings.NewReplacer("${"+v.name+"}", v.is, "$"+v.name, v.is, "^array_index^", index).Replace(text)
	}
	return text
}

// pbsNames are the variables in paths of qsub, longer names first.
var pbsNames = []struct{ name, is string }{
	{"PBS_JOBNAME", "%x"}, {"PBS_JOBID", "%j"}, {"PBS_ARRAY_INDEX", index}, {"PBS_ARRAYID", index},
	{"PBS_O_WORKDIR/", ""}, {"PBS_O_HOME", "~"}, {"HOME", "~"},
}

// expanded replaces %x and the like.
func (j *reading) expanded(text string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '%' {
			b.WriteByte(text[i])
			continue
		}
		width := len(text[i+1:]) - len(strings.TrimLeft(text[i+1:], "0123456789"))
		i += width + 1
		if i >= len(text) {
			return "", errors.New("it ends in a %")
		}
		if width > 0 && text[i] == 'a' && j.array != nil {
			return "", errors.New("an index is not filled up with zeros: write %a")
		}
		word, err := j.pattern(text[i])
		if err != nil {
			return "", err
		}
		b.WriteString(word)
	}
	if strings.ContainsRune(b.String(), '$') {
		return "", errors.New("it has a $, which no shell replaces: variables of the environment are not known when a job is handed in")
	}
	return b.String(), nil
}

// nameInFiles is the job's name as a part of the names of files.
func (j *reading) nameInFiles() string { return doubled(strings.ReplaceAll(j.job.Name, "/", "_")) }

// doubled is a text in which no % means anything.
func doubled(s string) string { return strings.ReplaceAll(s, "%", "%%") }

func (j *reading) pattern(c byte) (string, error) {
	switch c {
	case '%':
		return "%%", nil
	case 'x':
		return j.nameInFiles(), nil
	case 'j', 'J':
		return jobNumber, nil
	case 'A':
		return arrayNumber, nil
	case 'a':
		if j.array == nil {
			return "0", nil
		}
		return index, nil
	case 'u':
		if j.options.User == "" {
			return "user", nil
		}
		return doubled(j.options.User), nil
	case 'N':
		return "", errors.New("%N, the node, is not known when a job is handed in, and by its file you would not find it: write %j, and in the script hostname")
	case 's', 't', 'n':
		return "0", nil
	case 'b':
		return "", errors.New("%b is not carried over: write %a")
	}
	return "", fmt.Errorf("%%%c is not known when a job is handed in: %%x, %%j, %%A, %%a and %%u are", c)
}

func setInput(j *reading, v value) error {
	if strings.ContainsRune(v.text, '%') {
		return errors.New("it has a %, which is replaced in the names of output alone")
	}
	if v.text == "/dev/null" {
		return nil
	}
	clean, err := inside(v.text)
	j.job.Program.Input = clean
	return err
}

func setFolder(j *reading, v value) error {
	clean, err := inside(v.text)
	if clean != "." {
		j.job.Program.Directory = clean
	}
	return err
}

// inside is a path in the sandbox, clean.
func inside(s string) (string, error) {
	clean := path.Clean(s)
	switch {
	case s == "":
		return "", errNoValue
	case path.IsAbs(clean) || strings.HasPrefix(clean, "~") || strings.HasPrefix(clean, "$"):
		return "", errors.New("it lies outside of the sandbox, in which a job works: leave it out, or write a path relative to that")
	case clean == ".." || strings.HasPrefix(clean, "../"):
		return "", errors.New("it leads out of the sandbox, in which a job works")
	case len(clean) > grid.MaxPath || strings.ContainsAny(clean, "\\\x7f") || strings.IndexFunc(clean, func(r rune) bool { return r < ' ' }) >= 0:
		return "", fmt.Errorf("it has a backslash or a control character, or more than %d bytes", grid.MaxPath)
	}
	return clean, nil
}
