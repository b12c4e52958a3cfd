package script

import (
	"strings"
	"unicode/utf8"
)

// place is a place in the script, both from 1; line 0 is what was given beside it.
type place struct{ line, col int }

// word is one word of a directive.
type word struct {
	text string
	at   place
}

// line is one directive: the words behind its prefix.
type line struct {
	words []word
	at    place // of the prefix
}

const (
	slurmPrefix = "#SBATCH"
	pbsPrefix   = "#PBS"
)

// slurmLines are the directives of sbatch.
func slurmLines(text string, r *reporter) []line {
	var out []line
	for i, s := range strings.Split(text, "\n") {
		rest, is := strings.CutPrefix(s, slurmPrefix)
		if !is {
			if blank := strings.TrimLeft(s, white); blank != "" && blank[0] != '#' {
				break
			}
			continue
		}
		l := line{at: place{i + 1, 1}}
		l.words = split(rest, at(s, i+1, len(slurmPrefix)), true, r)
		out = append(out, l)
	}
	return out
}

// pbsLines are the directives of qsub.
func pbsLines(text, prefix string, r *reporter) []line {
	if prefix == "" {
		return nil
	}
	var out []line
	all := strings.Split(text, "\n")
	for i := 0; i < len(all); i++ {
		s, n := all[i], i+1
		blank := strings.TrimLeft(s, white)
		if rest, is := strings.CutPrefix(blank, prefix); is {
			l := line{at: at(s, n, len(s)-len(blank))}
			if strings.HasSuffix(rest, `\`) { // qsub joins the lines in its copy; here the script travels as it is
				r.wrong(word{blank, l.at}, "goes on in the next line, which the shell that runs the script would take for a command: write %s before each line", prefix)
			}
			for strings.HasSuffix(rest, `\`) && i+1 < len(all) {
				i++
				rest = rest[:len(rest)-1] + all[i]
			}
			l.words = split(rest, place{n, l.at.col + utf8.RuneCountInString(prefix)}, false, r)
			out = append(out, l)
			continue
		}
		if blank != "" && blank[0] != '#' && s[0] != ':' {
			break
		}
	}
	return out
}

// white is what isspace(3) takes for white space in a line.
const white = " \t\v\f\r"

// at is the place of a byte of a line.
func at(s string, n, offset int) place {
	return place{n, utf8.RuneCountInString(s[:offset]) + 1}
}

// split cuts a directive into words. Columns count from that of the first character.
func split(s string, from place, comments bool, r *reporter) []word {
	var words []word
	var b strings.Builder
	open, begun, quote := from, false, rune(0)
	end := func() {
		if begun {
			words = append(words, word{b.String(), open})
		}
		b.Reset()
		begun = false
	}
	escaped := false
	here := from
	for _, c := range s {
		if !begun {
			open = here
		}
		switch {
		case escaped:
			b.WriteRune(c)
			escaped, begun = false, true
		case c == '\\' && (quote == 0 || comments):
			escaped, begun = true, true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			b.WriteRune(c)
		case c == '"' || c == '\'':
			quote, begun = c, true
		case comments && c == '#':
			end()
			return words
		case strings.ContainsRune(white, c):
			end()
		default:
			b.WriteRune(c)
			begun = true
		}
		here.col++
	}
	if quote != 0 {
		r.wrong(word{s, open}, "the quote %c is not closed", quote)
	}
	end()
	return words
}
