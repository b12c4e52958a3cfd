package pbstest

import (
	"flag"
	"strconv"
)

// SideBySide lets n tests of a binary run at a time, if its flags do not say otherwise: tests
// of batch systems wait more than they work. It is for TestMain.
func SideBySide(n int) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		if err := f.Value.Set(strconv.Itoa(n)); err != nil {
			panic(err)
		}
	}
}
