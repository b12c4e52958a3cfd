package broker

import "time"

func G() time.Time { return time.Now() } // the shell may
