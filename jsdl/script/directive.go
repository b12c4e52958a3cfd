package script

import (
	"fmt"
	"slices"
	"strings"

	"gbroker/grid"
	"gbroker/internal/near"
)

// directive is an entry of a table of directives: all that is known of it.
type directive struct {
	names []string // as written: --nodes, -N; of a resource or an attribute its name alone
	form  string   // of its value; "" takes none
	lacks bool     // the value may be left out
	does  string   // what it does here
	// key is what it says of the job, where other directives say the same; "" is its first name.
	key  string
	many bool         // each of several counts; else the last holds
	only grid.Dialect // of TORQUE or of OpenPBS alone; "" is both
	// idle is why the job runs the same without it: it has a warning.
	idle string
	// refused is why it is refused, and what to write instead.
	refused string
	set     func(j *reading, v value) error
}

// value is a directive as it is used.
type value struct {
	word        // its text, as a message shows it
	text string // of its value
}

func (d *directive) subject() string {
	if d.key != "" {
		return d.key
	}
	return d.names[0]
}

func (d *directive) takesValue() bool { return d.form != "" }

// setting is a use of a directive.
type setting struct {
	directive *directive
	value     value
}

// use notes a directive; of those that say the same the last holds.
func (j *reading) use(d *directive, v value) {
	if d.refused != "" {
		j.wrong(v.word, "%s", d.refused)
		return
	}
	if !d.many {
		i := slices.IndexFunc(j.settings, func(s setting) bool { return s.directive.subject() == d.subject() })
		if i >= 0 {
			if was := j.settings[i].value; was.text != v.text {
				j.warn(was.word, "has no effect: %s %s", short(v.word.text), otherwise(v.word))
			}
			j.settings = slices.Delete(j.settings, i, i+1)
		}
	}
	j.settings = append(j.settings, setting{d, v})
}

// otherwise says why a word counts in place of an earlier one.
func otherwise(w word) string {
	if w.at.line == 0 {
		return "on the command line counts before it"
	}
	return "says otherwise later"
}

// apply lets each setting do what it does.
func (j *reading) apply() {
	for _, s := range j.settings {
		d := s.directive
		switch {
		case d.only != "" && d.only != j.dialect:
			j.wrong(s.value.word, "belongs to %s, but other lines make this a script of %s: write it in one of the two", programs[d.only], programs[j.dialect])
		case d.idle != "":
			j.warn(s.value.word, "has no effect: %s", d.idle)
		default:
			if err := d.set(j, s.value); err != nil {
				j.wrong(s.value.word, "%v", err)
			}
		}
	}
}

// find is the directive of a name, in a table.
func find(table []directive, name string) *directive {
	i := slices.IndexFunc(table, func(d directive) bool { return slices.Contains(d.names, name) })
	if i < 0 {
		return nil
	}
	return &table[i]
}

// long is the directive of a name that may be cut short while it is one alone, as getopt_long(3) takes it.
func long(table []directive, name string) (*directive, error) {
	if d := find(table, name); d != nil {
		return d, nil
	}
	var found *directive
	for i := range table {
		for _, n := range table[i].names {
			if strings.HasPrefix(n, "--") && strings.HasPrefix(n, name) && len(name) > 2 {
				if found != nil && found != &table[i] {
					return nil, fmt.Errorf("may be cut short from %s or %s: write it whole", found.names[0], table[i].names[0])
				}
				found = &table[i]
			}
		}
	}
	return found, nil
}

// nearest is the option that somebody may have meant.
func nearest(table []directive, name string) string {
	var names []string
	for _, d := range table {
		for _, n := range d.names {
			if word, is := strings.CutPrefix(n, "--"); is {
				names = append(names, word)
			}
		}
	}
	if meant := near.Word(strings.TrimPrefix(name, "--"), names...); meant != "" {
		return fmt.Sprintf("; did you mean --%s?", meant)
	}
	return ""
}

// getopt reads words as getopt(3) does: -n4, -n 4, --nodes=2, --nodes 2, flags together; after is told of what
// is no option.
func (j *reading) getopt(table []directive, words []word, program string) {
	for i := 0; i < len(words); i++ {
		w := words[i]
		name, given, has := strings.Cut(w.text, "=")
		if strings.HasPrefix(w.text, "--") && len(w.text) > 2 {
			d, err := long(table, name)
			switch {
			case err != nil:
				j.wrong(w, "%v", err)
			case d == nil:
				j.wrong(w, "%s has no such option%s", program, nearest(table, name))
			case !d.takesValue() && has:
				j.wrong(w, "%s takes no value", d.names[0])
			case !d.takesValue() || has || d.lacks:
				j.take(d, value{w, given})
			default:
				i = j.next(d, words, i)
			}
			continue
		}
		if !strings.HasPrefix(w.text, "-") || len(w.text) < 2 {
			j.wrong(w, "is no option: %s", stray(w.text, program))
			return // what follows is none either
		}
		i = j.flags(table, words, i, program)
	}
}

// flags reads one word of short options, from -H to -HN4, and gives the last word that it took.
func (j *reading) flags(table []directive, words []word, i int, program string) int {
	w := words[i]
	for at := 1; at < len(w.text); at++ {
		d := find(table, "-"+w.text[at:at+1])
		rest := w.text[at+1:]
		switch {
		case d == nil:
			j.wrong(w, "%s has no option -%s", program, short(w.text[at:at+1]))
			return i
		case !d.takesValue():
			j.take(d, value{w, ""})
		case rest != "" || d.lacks:
			j.take(d, value{w, rest})
			return i
		default:
			return j.next(d, words, i)
		}
	}
	return i
}

// next takes the word behind an option as its value.
func (j *reading) next(d *directive, words []word, i int) int {
	if i+1 == len(words) {
		j.wrong(words[i], "lacks its value %s", d.form)
		return i
	}
	text := words[i].text + " " + words[i+1].text
	j.take(d, value{word{text, words[i].at}, words[i+1].text})
	return i + 1
}

// stray says what to do with a word that belongs to no option.
func stray(text, program string) string {
	if strings.HasPrefix(text, "#") {
		return "qsub knows no comments behind a directive: put it on a line of its own"
	}
	return fmt.Sprintf("%s would not take it: write --name=value, or put a # before a comment", program)
}

// take uses an option, or what its value holds.
func (j *reading) take(d *directive, v value) {
	switch {
	case d.refused == "" && d.names[0] == "-l":
		j.list(resources, v, "-l ")
	case d.refused == "" && d.names[0] == "-W":
		j.list(attributes, v, "-W ")
	default:
		j.use(d, v)
	}
}

// list reads NAME=VALUE,NAME=VALUE: what has no = goes on with the value before it.
func (j *reading) list(table []directive, v value, option string) {
	var parts []string
	for _, part := range strings.Split(v.text, ",") {
		if !strings.Contains(part, "=") && len(parts) > 0 {
			parts[len(parts)-1] += "," + part
		} else {
			parts = append(parts, part)
		}
	}
	for _, part := range parts {
		name, text, _ := strings.Cut(part, "=")
		w := word{option + part, v.at}
		d := find(table, strings.TrimSpace(name))
		if d == nil {
			d = unknown(table)
		}
		j.use(d, value{w, strings.TrimSpace(text)})
	}
}

// unknown is the entry for what a table does not name.
func unknown(table []directive) *directive { return &table[len(table)-1] }
