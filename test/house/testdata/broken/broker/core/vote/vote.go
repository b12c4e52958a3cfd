// Package vote lies below a pure one, and is pure too.
package vote

import (
	"os"
	_ "unsafe"
)

func Pid() int { return os.Getpid() }
