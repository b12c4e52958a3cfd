package external

import "time"

const (
	firstBackOff = time.Second
	mostBackOff  = time.Minute
)

// pace makes what fails wait, the longer the more often it has failed.
type pace struct {
	err      error // of the last time, nil if that was well
	failures int
	next     time.Time // not before
}

func (p *pace) failed(err error) {
	p.err = err
	p.next = time.Now().Add(jitter(min(firstBackOff<<min(p.failures, 10), mostBackOff)))
	p.failures++
}

// early is the last error while it is too early to try again.
func (p *pace) early() error {
	if p.err != nil && time.Now().Before(p.next) {
		return p.err
	}
	return nil
}
