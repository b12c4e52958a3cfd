package slurm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// meta is what --json says of itself.
type meta struct {
	Slurm struct {
		Release string `json:"release"`
	} `json:"Slurm"`
}

// trouble is an entry of "errors". A command that could not reach the controller ends with
// 0 and an empty list; only here it says so.
type trouble struct {
	Description string `json:"description"`
	Error       string `json:"error"`
	Source      string `json:"source"`
}

// text is what it says; Slurm leaves some of its fields empty.
func (t trouble) text() string {
	s := fmt.Sprintf("%.200s", cmp.Or(t.Error, "an error without a word"))
	if t.Description != "" {
		s = fmt.Sprintf("%.200s: %s", t.Description, s)
	}
	if t.Source != "" {
		s += fmt.Sprintf(" (%.80s)", t.Source)
	}
	return s
}

// records reads the output of squeue or sinfo --json: one record of the list at a time.
// Nothing of the list may be used if there is an error.
func records[T any](text []byte, list string, limit int, each func(*T) error) (release string, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	if err := delim(dec, '{'); err != nil {
		return "", err
	}
	var head meta
	seen := map[string]bool{}
	var said []error
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return "", err
		}
		key, _ := token.(string)
		if seen[key] {
			return "", fmt.Errorf("%.40q comes twice", key)
		}
		seen[key] = true
		switch key {
		case "meta":
			err = dec.Decode(&head)
		case "errors":
			err = members(dec, 100, func(t *trouble) error {
				said = append(said, errors.New(t.text()))
				return nil
			})
		case list:
			err = members(dec, limit, each)
		default:
			err = fmt.Errorf("an unknown member %.40q", key)
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w", key, err)
		}
	}
	if err := delim(dec, '}'); err != nil {
		return "", err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return "", errors.New("there is more behind the end")
	}
	if err := errors.Join(said...); err != nil {
		return "", fmt.Errorf("it reports %w", err)
	}
	for _, key := range []string{"meta", "errors", list} {
		if !seen[key] {
			return "", fmt.Errorf("%s is missing", key)
		}
	}
	return head.Slurm.Release, nil
}

func delim(dec *json.Decoder, want json.Delim) error {
	token, err := dec.Token()
	if err != nil {
		return err
	}
	if token != want {
		return fmt.Errorf("%v where %v should be", token, want)
	}
	return nil
}

// members reads a list, one member at a time.
func members[T any](dec *json.Decoder, limit int, each func(*T) error) error {
	if err := delim(dec, '['); err != nil {
		return err
	}
	var one, none T
	for n := 0; dec.More(); n++ {
		if n == limit {
			return fmt.Errorf("%w: %d members", errTooMany, limit)
		}
		one = none
		if err := dec.Decode(&one); err != nil {
			return fmt.Errorf("[%d]: %w", n, err)
		}
		if err := each(&one); err != nil {
			return fmt.Errorf("[%d]: %w", n, err)
		}
	}
	return delim(dec, ']')
}

// room is for how many records a list is made: for as many as there are of the key that each
// has, but no more than can be. A list that grew would take five times its size.
func room(text []byte, key string, least int) int {
	return min(bytes.Count(text, []byte(key)), len(text)/least+1)
}

// amount is a number that may be missing; null is missing too.
type amount struct {
	n     int64
	there bool
}

// UnmarshalJSON reads an integer or null.
func (a *amount) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	*a = amount{n, true}
	return err
}

// cores counts the cores of a job's sockets on a node: {"0":{"cores":{"0":"allocated"}}}.
type cores struct {
	n     int
	there bool
}

// UnmarshalJSON counts the words, without making maps of them.
func (c *cores) UnmarshalJSON(text []byte) error {
	c.there = true
	for i := 0; i < len(text); i++ {
		if text[i] != '"' {
			continue
		}
		end := bytes.IndexByte(text[i+1:], '"')
		if end < 0 {
			return errors.New("sockets: a word without end")
		}
		word := text[i+1 : i+1+end]
		i += end + 1
		if next := bytes.TrimLeft(text[i+1:], " \t\r\n"); len(next) > 0 && next[0] == ':' {
			continue // a key
		}
		switch string(word) {
		case "allocated", "allocated_and_in_use":
			c.n++
		case "unassigned":
		default:
			return fmt.Errorf("sockets: %.40q is no state of a core", word)
		}
	}
	return nil
}
