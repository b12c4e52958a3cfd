package form_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/internal/form"
)

type span time.Duration

func (s *span) UnmarshalText(text []byte) error {
	d, err := grid.ParseSpan(string(text))
	*s = span(d)
	return err
}

type entry struct {
	Name    string   `yaml:"name"`
	Command []string `yaml:"command"`
	Limit   span     `yaml:"limit"`
}

type file struct {
	Title  string           `yaml:"title"`
	Count  int              `yaml:"count"`
	Seed   uint64           `yaml:"seed"`
	Speed  float64          `yaml:"speed"`
	Again  bool             `yaml:"again"`
	Deep   *entry           `yaml:"deep"`
	Amount map[string]int64 `yaml:"amount"`
	Tasks  []entry          `yaml:"tasks"`
}

func read(text string) (f file, err error) {
	root, wrong := form.Parse("f", []byte(text), 0)
	if wrong != nil {
		return f, wrong
	}
	return f, form.Decode("f", root, &f).OrNil()
}

// What is wrong is told with its place, in words of the file; all of it at once.
func TestMistakes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"titel: a":                          `f:1:1: unknown field "titel": did you mean "title"?`,
		"tasks:\n  - {name: a, zebra: 1}":   `f:2:15: unknown field "zebra": the fields here are name, command, limit`,
		"count: two":                        `f:1:8: count is the text "two": write a whole number, as 4`,
		"count: 1.5":                        `f:1:8: count is the number 1.5: write a whole number`,
		"count: 99999999999999999999":       `f:1:8: count is 99999999999999999999, which is too large`,
		"count: 9999999999999999999":        `f:1:8: count is 9999999999999999999, which is too large`,
		"seed: -1":                          `f:1:7: seed is the number -1: write a number that is not below 0`,
		"speed: fast":                       `f:1:8: speed is the text "fast": write a number, as 1.5`,
		"again: maybe":                      `f:1:8: again is the text "maybe": write true or false`,
		"title: [a]":                        `f:1:8: title is a list: write a text`,
		"title: {a: 1}":                     `f:1:9: title is a mapping: write a text, between quotes if it holds a colon`,
		"title:":                            `f:1:8: title is empty: write a value, or remove the line`,
		"tasks: yes":                        `f:1:8: tasks is the text "yes": write a list, one per line with a dash, or [a, b]`,
		"tasks: [a]":                        `f:1:9: an entry of tasks is the text "a": write fields, as name: …`,
		"tasks:\n- {name: a, command: ./x}": `f:2:22: command is the text "./x": write a list, one per line with a dash, or [a, b]`,
		"tasks:\n- {name: a, limit: 5}":     `f:2:20: limit: "5" has no unit: write 5s for seconds`,
		"amount: gpu":                       `f:1:9: amount is the text "gpu": write a mapping, as {name: value}`,
		"amount: {gpu: one}":                `f:1:15: gpu is the text "one": write a whole number`,
		"title: a\ntitle: b":                `f:2:1: the field title is here for the second time: remove one`,
		"title: *x":                         `f:1:8: *x: no &x stands above`,
		"tasks: [{<<: 3}]":                  `f:1:14: << is the number 3: write an alias, as *name`,
		"title: !!str a":                    `f:1:8: tags (!!str) are not used here`,
		"- a":                               `f:1:1: the file is a list: write fields, as title: …`,
		"title: a\n---\ntitle: b":           `f:3:1: a second document begins here`,
		"title: a\n  count: 1":              `f:1:8: this is no YAML: this does not fit to the lines above`,
		"tasks:\n\t- name: a":               `f:2:1: this is no YAML: a tab stands here: indent with spaces`,
		"tasks: [":                          `f:1:8: this is no YAML: the list that begins here with [ has no ]`,
		"count: two\nagain: 1\ntasks: 4":    "f:1:8: count is the text \"two\": write a whole number, as 4\nf:2:8: again is the number 1: write true or false\nf:3:8: tasks",
		"deep: {name: a, comand: [x]}":      `did you mean "command"?`,
		"tasks: [{name: &n a}, {name: *n, x: y}]": `unknown field "x"`,
	} {
		f, err := read(text)
		if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("%q: %+v, %v, not %q", text, f, err, want)
		}
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	f, err := read(`
title: 007
count: 1_000
seed: 18446744073709551615
speed: 2
again: true
amount: {gpu: 2}
tasks:
  - &first {name: a, command: [sh, -c, true], limit: 1d}
  - <<: *first
    name: b
    command:
      - |
        two
        lines
  - *first
`)
	a := entry{"a", []string{"sh", "-c", "true"}, span(24 * time.Hour)}
	b := a
	b.Name, b.Command = "b", []string{"two\nlines\n"}
	want := file{Title: "007", Count: 1000, Seed: 1<<64 - 1, Speed: 2, Again: true, Amount: map[string]int64{"gpu": 2}, Tasks: []entry{a, b, a}}
	if err != nil || !reflect.DeepEqual(f, want) {
		t.Errorf("%+v, %v, not %+v", f, err, want)
	}
	if f, err := read("tasks:\nspeed: 1e3\ncount: 1e3"); err != nil || f.Speed != 1000 || f.Count != 1000 || f.Tasks != nil {
		t.Errorf("%+v, %v", f, err)
	}
}

// A file that stands for more than a machine holds is refused.
func TestManyAliases(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("*x,", 10_000)
	text := "tasks: [&x {command: &c [" + strings.Repeat("a,", 10_000) + "a]}, " + many + "*x]"
	if _, err := read(text); err == nil || !strings.Contains(err.Error(), "stand for more than") {
		t.Errorf("it is taken: %v", err)
	}
}

func TestAt(t *testing.T) {
	t.Parallel()
	root, wrong := form.Parse("f", []byte("tasks:\n  - name: a\n    command: [x, y]\n"), 0)
	if wrong != nil {
		t.Fatal(wrong)
	}
	for path, want := range map[string]string{"tasks.0.name": "f:2:11", "tasks.0": "f:2:5", "tasks.0.command.1": "f:3:18", "tasks.7.name": "f:2:3", "tasks.0.limit": "f:2:5", "": "f:1:1"} {
		if got := form.MistakeAt("f", form.At(root, path), "x").String(); got != want+": x" {
			t.Errorf("%q is at %s, not %s", path, got, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("tasks: [&a {name: x, <<: *a}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, err := read(string(text)); err != nil && (!errors.Is(err, grid.ErrInvalid) || strings.Contains(err.Error(), "reflect")) {
			t.Error(err)
		}
	})
}
