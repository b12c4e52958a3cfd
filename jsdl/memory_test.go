package jsdl

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"gbroker/grid"
)

// Who keeps a part of a job does not keep its document. It is alone in its process when it measures: not parallel.
func TestAJobDoesNotKeepItsDocument(t *testing.T) {
	read := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	document := large(`        <p:Argument>` + strings.Repeat("x", 64<<10) + "</p:Argument>\n")
	document = bytes.Replace(document, []byte("      </p:POSIX"), []byte("        <p:Environment name=\"A\">b</p:Environment>\n      </p:POSIX"), 1)
	before := read()
	var kept []grid.Program
	for range 8 {
		d, err := Parse("long.jsdl", document)
		if err != nil {
			t.Fatal(err)
		}
		p := d.Job.Program
		p.Arguments = nil
		kept = append(kept, p)
	}
	if took := (read() - before) / 8; took > 64<<10 {
		t.Errorf("a program without its arguments keeps %d bytes of a document of %d", took, len(document))
	}
	runtime.KeepAlive(kept)
	runtime.KeepAlive(document)
}
