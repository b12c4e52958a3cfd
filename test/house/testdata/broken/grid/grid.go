// Package grid is impure.
package grid

import "crypto/rand"
import . "math/rand/v2"
import "os"

var _ = rand.Text() + os.Args[0]
var _ = IntN(3)
