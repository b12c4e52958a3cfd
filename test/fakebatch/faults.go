package fakebatch

import (
	"time"

	"gbroker/test/fakebatch/batch"
	"gbroker/test/fakebatch/serve"
)

// Set puts faults in place of those before; Healthy takes all away.
func (s *Server) Set(f batch.Faults) { s.tb.Helper(); s.control(serve.Control{Faults: &f}) }

// Healthy takes all faults away.
func (s *Server) Healthy() { s.tb.Helper(); s.Set(batch.Faults{}) }

// Down stops the server for its commands; jobs go on.
func (s *Server) Down() { s.tb.Helper(); s.Set(batch.Faults{Down: true}) }

// Up is the end of Down, and of all other faults.
func (s *Server) Up() { s.tb.Helper(); s.Healthy() }

// Stall lets all calls wait until Healthy, and then act, also those whose client was killed meanwhile.
func (s *Server) Stall() { s.tb.Helper(); s.Set(batch.Faults{Stalled: true}) }

// Deafen lets all calls act, and their answers wait until Healthy.
func (s *Server) Deafen() { s.tb.Helper(); s.Set(batch.Faults{Deaf: true}) }

// Hang lets calls of a command ("" is all) wait before they act; those whose client is killed meanwhile do nothing.
// times is how many; 0 is all that come.
func (s *Server) Hang(command string, d time.Duration, times int) {
	s.tb.Helper()
	s.control(serve.Control{Add: &batch.Fault{Command: command, Wait: d, Times: times, When: batch.Asking}})
}

// Late lets calls of a command take effect after a time, also where their client was killed meanwhile.
func (s *Server) Late(command string, d time.Duration, times int) {
	s.tb.Helper()
	s.control(serve.Control{Add: &batch.Fault{Command: command, Wait: d, Times: times, When: batch.Late}})
}

// Mute lets calls of a command act at once and answer after a time.
func (s *Server) Mute(command string, d time.Duration, times int) {
	s.tb.Helper()
	s.control(serve.Control{Add: &batch.Fault{Command: command, Wait: d, Times: times, When: batch.Answering}})
}

// Refuse lets calls of a command fail and do nothing.
func (s *Server) Refuse(command string, exit int, stderr string, times int) {
	s.tb.Helper()
	s.control(serve.Control{Add: &batch.Fault{Command: command, Times: times, Refuse: true, Exit: exit, Stderr: stderr}})
}

// Lose forgets a job, by its full identifier, while its processes go on.
func (s *Server) Lose(id string) { s.tb.Helper(); s.control(serve.Control{Lose: id}) }

// Crash takes a node away, with what runs there, until Node says that it is up.
func (s *Server) Crash(node string) { s.tb.Helper(); s.control(serve.Control{Crash: node}) }

// Node sets the state of a node: Offline, Down, Unlisted and Note.
func (s *Server) Node(n batch.Node) { s.tb.Helper(); s.control(serve.Control{Node: &n}) }

// Jobs is what the server holds, whatever its commands would say.
func (s *Server) Jobs() []batch.Job { s.tb.Helper(); return s.control(serve.Control{}).Jobs }

// Calls is how many commands were answered.
func (s *Server) Calls() int { s.tb.Helper(); return s.control(serve.Control{}).Used }

// Job is one job by its full identifier; false where the server does not know it.
func (s *Server) Job(id string) (batch.Job, bool) {
	s.tb.Helper()
	for _, j := range s.Jobs() {
		if j.ID == id {
			return j, true
		}
	}
	return batch.Job{}, false
}

// Await polls until a job is as wanted, and fails the test where it never is.
func (s *Server) Await(id string, want func(batch.Job) bool) batch.Job {
	s.tb.Helper()
	end := time.NewTimer(patience)
	defer end.Stop()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		j, ok := s.Job(id)
		if ok && want(j) {
			return j
		}
		select {
		case <-end.C:
			s.tb.Fatalf("job %s is not as it should be after %v: %+v", id, patience, j)
		case <-again.C:
		}
	}
}
