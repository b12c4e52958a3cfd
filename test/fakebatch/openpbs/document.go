package openpbs

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gbroker/test/fakebatch/batch"
)

// attr is one attribute; one with parts has no value. list is an array of texts.
type attr struct {
	name, value string
	guess       bool // its type is guessed from its text
	parts       []attr
	list        []string
}

func text(name, format string, args ...any) attr {
	return attr{name: name, value: fmt.Sprintf(format, args...)}
}

func number(name string, n int) attr { return attr{name: name, value: strconv.Itoa(n), guess: true} }

func group(name string, parts ...attr) attr {
	if parts == nil {
		parts = []attr{}
	}
	return attr{name: name, parts: parts}
}

// document is the JSON of a command: a member with entries, or none of it.
func document(s *batch.System, c *batch.Call, member string, entries []attr) string {
	now := c.Now
	if now.IsZero() {
		now = time.Now()
	}
	stamp := number("timestamp", int(now.Unix()))
	if now.Unix()%256 == 0 { // the bytes of the number are looked at as a text, which is empty
		stamp = text("timestamp", "")
	}
	top := []attr{stamp, text("pbs_version", "23.06.06"), text("pbs_server", "%s", s.Host)}
	if len(entries) > 0 {
		top = append(top, attr{name: member, parts: entries})
	}
	var b strings.Builder
	b.WriteString("{\n")
	writeJSON(&b, top, "\t")
	b.WriteString("}\n")
	return b.String()
}

func writeJSON(b *strings.Builder, list []attr, indent string) {
	for i, a := range list {
		b.WriteString(indent + quote(a.name) + ":\t")
		switch {
		case a.list != nil:
			quoted := make([]string, len(a.list))
			for k, v := range a.list {
				quoted[k] = quote(v)
			}
			b.WriteString("[" + strings.Join(quoted, ", ") + "]")
		case a.parts != nil:
			b.WriteString("{\n")
			writeJSON(b, a.parts, indent+"\t")
			b.WriteString(indent + "}")
		case a.guess:
			b.WriteString(guessed(a.value))
		default:
			b.WriteString(quote(a.value))
		}
		if i < len(list)-1 {
			b.WriteString(",")
		}
		b.WriteString("\n")
	}
}

// guessed writes a value as what it looks like: the trap of this JSON.
func guessed(v string) string {
	if strings.Trim(v, "0123456789+-.eE") == "" {
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			return strconv.FormatInt(n, 10) // 007 becomes 7
		}
		if f, err := strconv.ParseFloat(v, 64); err == nil {
			return strconv.FormatFloat(f, 'g', -1, 64)
		}
	}
	switch {
	case v == "true" || v == "false":
		return v
	case strings.HasPrefix(v, "{") && json.Valid([]byte(v)):
		return v
	}
	return quote(v)
}

var escaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\r", `\r`, "\b", `\b`, "\f", `\f`)

// quote leaves all bytes as they are that need no escape, as the real one does.
func quote(v string) string { return `"` + escaper.Replace(v) + `"` }

// lines are an attribute's parts with their whole names.
func lines(a attr) []attr {
	if a.parts == nil {
		return []attr{a}
	}
	out := make([]attr, len(a.parts))
	for i, p := range a.parts {
		out[i] = attr{name: a.name + "." + p.name, value: p.value}
	}
	return out
}

// folded breaks a value after commas.
func folded(head, value string) string {
	line, out := head, ""
	for _, word := range strings.SplitAfter(value, ",") {
		if len(line)+len(word) > 79 && line != head && line != "\t" {
			out, line = out+line+"\n", "\t"
		}
		line += word
	}
	return out + line + "\n"
}
