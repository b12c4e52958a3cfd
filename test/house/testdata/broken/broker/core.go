// Package broker decides.
package broker

import "sync"
import "time"

func F(m *sync.Mutex) time.Time {
	t := time.Now()
	go m.Lock()
	return t.Add(time.Second)
}
