package jsdl

import (
	"strings"
	"testing"
)

// large is a document of almost a mebibyte: with is what fills it.
func large(fill string) []byte {
	head, tail, _ := strings.Cut(string(fullDocument), "@")
	n := (MaxDocument - len(head) - len(tail)) / len(fill)
	return []byte(head + strings.Repeat(fill, n) + tail)
}

const fullDocument = `<?xml version="1.0" encoding="UTF-8"?>
<JobDefinition xmlns="http://schemas.ggf.org/jsdl/2005/11/jsdl" xmlns:p="http://schemas.ggf.org/jsdl/2005/11/jsdl-posix">
  <JobDescription>
    <Application>
      <p:POSIXApplication>
        <p:Executable>/bin/echo</p:Executable>
@
      </p:POSIXApplication>
    </Application>
  </JobDescription>
</JobDefinition>
`

// A document of 1 MiB is read in less than 20 ms: of few large elements, and of as many small ones
// as fit.
func BenchmarkParse(b *testing.B) {
	for name, fill := range map[string]string{
		"large": "        <p:Argument>" + strings.Repeat("word &amp; word ", 30) + "</p:Argument>\n",
		"small": "        <p:Argument>" + strings.Repeat("x", 232) + "</p:Argument>\n",
	} {
		document := large(fill)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(document)))
			for b.Loop() {
				if _, err := Parse("bench.jsdl", document); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
