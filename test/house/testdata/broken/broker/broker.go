// Package broker runs what core decides.
package broker

import (
	"time"

	"broken/broker/core"
)

func G() time.Time { return core.F(nil) } // it may look at the clock
