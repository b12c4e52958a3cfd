package man

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// foreign are options that the documents name and that are other programs'. (Those of the directives in jobs.md are not
// asked after: its tables are made from the code.)
var foreign = strings.Fields(`--test-only --exclude`)

// unlisted are commands that have no page: they are not for people, or every program has them.
var unlisted = []string{"gbroker sandbox", "gclient completion", "gclient man"}

// programs are the options of each command, by the words that call it: "gclient list".
type programs map[string][]string

var option = regexp.MustCompile(`(?m)^\.TP\n\.B (?:-\w, )?(--[a-z][a-z-]*)`)

func (p programs) read(t *testing.T, page string) {
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(b), `\-`, "-")
	_, synopsis, _ := strings.Cut(text, ".SH SYNOPSIS\n.B ")
	name := strings.TrimSuffix(filepath.Base(page), ".1")
	var words []string
	for w := range strings.FieldsSeq(synopsis) {
		if words = append(words, w); strings.Join(words, "-") == name {
			break
		}
	}
	call := strings.Join(words, " ")
	p[call] = []string{"--help", "--version"}
	for _, m := range option.FindAllStringSubmatch(text, -1) {
		p[call] = append(p[call], m[1])
	}
}

func (p programs) has(call string) bool {
	_, ok := p[call]
	return ok
}

// holds tells that a command has others.
func (p programs) holds(call string) bool {
	for other := range p {
		if strings.HasPrefix(other, call+" ") {
			return true
		}
	}
	return false
}

// known tells that one of the commands has the option.
func (p programs) known(option string) bool {
	for _, all := range p {
		if slices.Contains(all, option) {
			return true
		}
	}
	return slices.Contains(foreign, option)
}

var (
	word    = regexp.MustCompile(`^[a-z][a-z-]*$`)
	called  = regexp.MustCompile(`(?:^|sudo -u \w+ |[(|"]|bin/|&& ?)(gclient|gbroker-agent|gbroker|gsim) ([^|;#&)]*)`)
	alone   = regexp.MustCompile(`^--[a-z][a-z-]*$`)
	endings = "=,.:]"
)

// wrong is what a piece of code in a document says of our commands that is not so.
func (p programs) wrong(code string) (faults []string) {
	if alone.MatchString(code) && !p.known(code) {
		faults = append(faults, "no command has the option "+code)
	}
	for _, m := range called.FindAllStringSubmatch(code, -1) {
		call, words := m[1], strings.Fields(m[2])
		for len(words) > 0 && p.has(call+" "+words[0]) {
			call, words = call+" "+words[0], words[1:]
		}
		if len(words) > 0 && p.holds(call) && word.MatchString(words[0]) {
			faults = append(faults, "there is no command "+call+" "+words[0])
		}
		for _, w := range words {
			if w == "--" { // what follows is another program's
				break
			}
			w, _, _ = strings.Cut(strings.TrimLeft(w, "["), "=")
			if w = strings.TrimRight(w, endings); alone.MatchString(w) && !slices.Contains(p[call], w) {
				faults = append(faults, call+" has no option "+w)
			}
		}
	}
	return faults
}

var span = regexp.MustCompile("`([^`]+)`")

// pieces visits the pieces of code of a document, each with its line: fenced lines, and spans.
func pieces(text string, each func(line int, code string)) {
	fenced := false
	for i, l := range strings.Split(text, "\n") {
		switch {
		case strings.HasPrefix(l, "```"):
			fenced = !fenced
		case fenced:
			each(i+1, strings.TrimSpace(l))
		default:
			for _, m := range span.FindAllStringSubmatch(l, -1) {
				each(i+1, m[1])
			}
		}
	}
}

var (
	link   = regexp.MustCompile(`\]\(([^)#: ]+)(?:#[^)]*)?\)`)
	source = regexp.MustCompile(`^(?:[a-z0-9-]+/)+[a-z0-9_.-]+\.(?:go|md|sh|jsdl|yaml|svg)$`)
	target = regexp.MustCompile(`^make ([a-z-]+)`)
)

// absent says which file of ours, or target of make, a piece of code names and there is not.
func absent(code, makefile string) string {
	if source.MatchString(code) {
		if _, err := os.Stat(filepath.Join("../..", code)); err != nil {
			return "there is no file " + code
		}
	}
	if m := target.FindStringSubmatch(code); m != nil && !strings.Contains(makefile, "\n"+m[1]+":") {
		return "there is no target " + m[1]
	}
	return ""
}

func TestDocumentsNameWhatThereIs(t *testing.T) {
	t.Parallel()
	sources(t)
	p := programs{}
	for _, call := range unlisted {
		p[call] = nil
	}
	for program := range least {
		for _, page := range manual(t, program) {
			p.read(t, page)
		}
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	documents, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(documents) < 10 {
		t.Fatal(documents, err)
	}
	named := 0
	for _, file := range append(documents, "../../README.md", "../../CONTRIBUTING.md") {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		pieces(string(b), func(line int, code string) {
			if called.MatchString(code) {
				named++
			}
			if strings.Contains(code, `\n`) { // what is hashed, or sent
				return
			}
			faults := p.wrong(code)
			if filepath.Base(file) == "jobs.md" && alone.MatchString(code) {
				faults = nil
			}
			for _, f := range append(faults, absent(code, string(makefile))) {
				if f != "" {
					t.Errorf("%s:%d: %s: %s", filepath.Base(file), line, f, code)
				}
			}
		})
		for _, m := range link.FindAllStringSubmatch(string(b), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), m[1])); err != nil {
				t.Errorf("%s links to %s, which there is not", filepath.Base(file), m[1])
			}
		}
	}
	if named < 100 {
		t.Errorf("only %d commands were found in the documents: they are not read", named)
	}
}

// What the check is for is found, and nothing else.
func TestWrongWordsAreFound(t *testing.T) {
	t.Parallel()
	p := programs{"gclient": nil, "gclient list": {"--limit"}, "gclient run": nil, "gbroker": nil, "gbroker neighbour": nil, "gbroker neighbour add": {"--config"}}
	for code, faults := range map[string]int{
		"gclient list --limit=3 --limt 4":         1,
		"gclient lsit":                            1,
		"gclient ID":                              0,
		"gclient run -- ./program --verbose":      0,
		"gbroker neighbour add --config FILE | x": 0,
		"gbroker neighbour drop --config FILE":    2,
		"--limit":                                 0,
		"--size":                                  1,
	} {
		if got := p.wrong(code); len(got) != faults {
			t.Errorf("%s: %q, not %d", code, got, faults)
		}
	}
	if got := absent("make sandwiches", "\nbuild:\n"); got == "" {
		t.Error("a target that there is not was not found")
	}
	if got := absent("docs/none.md", ""); got == "" {
		t.Error("a file that there is not was not found")
	}
}
