package torque

import (
	"bytes"
	"fmt"
	"strings"

	"gbroker/grid"
)

// markName is the environment variable that carries a job's mark, so that TORQUE gives it back.
const markName = "GBROKER_ATTEMPT"

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// checkMark says why a mark would not come back as it is: TORQUE mangles commas, quotes and newlines in
// the values of variables.
func checkMark(mark string) error {
	if mark == "" || len(mark) > 200 || strings.Trim(mark, letters+"./@#-_") != "" {
		return fmt.Errorf("the mark %.60q has other characters than letters, digits and . / @ # - _", mark)
	}
	return nil
}

// markOf finds the mark in a Variable_List, NAME=VALUE,NAME=VALUE.
func markOf(list []byte) string {
	prefix := []byte(markName + "=")
	for at := 0; ; {
		i := bytes.Index(list[at:], prefix)
		if i < 0 {
			return ""
		}
		at += i
		value := list[at+len(prefix):]
		if at > 0 && list[at-1] != ',' {
			at++
			continue
		}
		if end := bytes.IndexByte(value, ','); end >= 0 {
			value = value[:end]
		}
		if len(value) > 200 || checkMark(string(value)) != nil {
			return ""
		}
		return string(value)
	}
}

// markOfArgs finds the mark among the arguments with which a job was submitted: -v NAME=VALUE,....
func markOfArgs(args []byte) string {
	for rest := args; ; {
		_, after, is := bytes.Cut(rest, []byte("-v "))
		if !is {
			return ""
		}
		list, _, _ := bytes.Cut(after, []byte(" "))
		if mark := markOf(list); mark != "" {
			return mark
		}
		rest = after
	}
}

// checkID says why text is no job identifier, NUMBER.SERVER, NUMBER[].SERVER or NUMBER[INDEX].SERVER.
func checkID(text string) error {
	number, server, _ := strings.Cut(text, ".")
	number, index, array := strings.Cut(number, "[")
	index, closed := strings.CutSuffix(index, "]")
	if number == "" || len(text) > 300 || strings.Trim(number, "0123456789") != "" || strings.Trim(index, "0123456789") != "" || array != closed ||
		server == "" || strings.Trim(server, letters+".-_") != "" {
		return fmt.Errorf("%.60q is no job identifier of TORQUE: NUMBER.SERVER", text)
	}
	return nil
}

// checkWord says why text is no word of a command, such as the name of a queue, node or account.
func checkWord(text string) error {
	if text == "" || len(text) > 255 || strings.Trim(text, letters+"._-@") != "" || text[0] == '-' {
		return fmt.Errorf("%.60q is no name: use letters, digits and . _ - @", text)
	}
	return nil
}

// boundTo finds the reservation in the scheduler's extension of a job, such as FLAGS:ADVRES:id;QOS:hi.
func boundTo(extension string) string {
	_, rest, is := strings.Cut(extension, "ADVRES:")
	if !is {
		return ""
	}
	if end := strings.IndexAny(rest, ";,: "); end >= 0 {
		rest = rest[:end]
	}
	return rest
}

// short is an identifier as Maui has it: without the server.
func short(id grid.LocalID) string {
	text, _, _ := strings.Cut(string(id), ".")
	return text
}
