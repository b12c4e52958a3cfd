package main

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"gbroker/jsdl"
)

// origin is a batch script of which a document was made: its user knows that, and not the document.
type origin struct {
	file string
	text []byte
}

var quotedWord = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// placed puts mistakes in the document to the lines of the script which name what they tell of; those that no line names to its first.
func (s *origin) placed(err error) error {
	var wrong jsdl.Errors
	if s == nil || !errors.As(err, &wrong) {
		return err
	}
	told := make(jsdl.Errors, len(wrong))
	for i, e := range wrong {
		e.File, e.Line, e.Col = s.file, 1, 1
		for _, q := range quotedWord.FindAllString(e.Message, -1) {
			word, bad := strconv.Unquote(q)
			if line, col := s.find(word); bad == nil && line > 0 {
				e.Line, e.Col = line, col
				break
			}
		}
		told[i] = e
	}
	return told
}

// find is the first place of a word in a directive; 0 where it is in none.
func (s *origin) find(word string) (line, col int) {
	for i, text := range strings.Split(string(s.text), "\n") {
		if at := strings.Index(text, word); at >= 0 && word != "" && strings.HasPrefix(text, "#") {
			return i + 1, utf8.RuneCountInString(text[:at]) + 1
		}
	}
	return 0, 0
}
