// Package stage imports code of tests, and sideways.
package stage

import (
	_ "broken/store"
	_ "broken/store/storetest"
)
