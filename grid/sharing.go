package grid

import "fmt"

// MaxGrants bounds those that travel with one job.
const MaxGrants = 64

// Sharing is what a job has to do with the files of others of its user. It is help alone: without it the job runs as well, and all of its
// inputs come from who offers it.
type Sharing struct {
	Keep   bool    // its outputs stay in the cache of the site where it runs, as its inputs do
	Grants []Grant // of inputs that other sites may still have
}

// Grant lets its bearer read one content, of files of the job's user, from the cache of a site. The user's home signs it.
type Grant struct {
	Holder    PeerID // the site that has it
	Content   Hash   // of size, mode and ranges
	Until     Tick   // by the wall clock of the holder
	Signature []byte // of the home, over GrantText
}

// Text is what the signature of a grant covers.
func (g *Grant) Text(user User) []byte {
	return fmt.Appendf(nil, "gbroker grant 1\n%s\n%q\n%s\n%x\n%d\n", user.Home, user.Name, g.Holder, g.Content, g.Until)
}

// Check says why a sharing cannot be.
func (s *Sharing) Check() error {
	if len(s.Grants) > MaxGrants {
		return fmt.Errorf("%d grants: at most %d", len(s.Grants), MaxGrants)
	}
	for i := range s.Grants {
		if g := &s.Grants[i]; len(g.Signature) == 0 || len(g.Signature) > maxSignature || g.Until < 0 {
			return fmt.Errorf("grant %d has a signature of %d bytes and ends at %d", i+1, len(g.Signature), g.Until)
		}
	}
	return nil
}

const maxSignature = 128

func (s *Sharing) size() int64 { return int64(len(s.Grants)) * (2*entryBytes + maxSignature) }
