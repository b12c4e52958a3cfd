// Package core decides.
package core

import "sync"
import "time"

func F(m *sync.Mutex) time.Time {
	t := time.Now()
	go m.Lock()
	return t.Add(time.Second)
}
