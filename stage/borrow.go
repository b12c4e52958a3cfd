package stage

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"time"

	"go.uber.org/zap"

	"gbroker/grid"
)

// A site lends what its cache has of a user's files to who shows a grant of the user's home: a task of a workflow takes from the
// site where an earlier one ran what that left, and not from the home. A request for something lent has, in place of a path, a
// token: base64url, without padding, of a JSON object {"home","user","content","until","signature"}. Whoever shows it is a member,
// or it could not ask; what it gets it checks by the ranges of the manifest, as from anybody. What is not lent, for whatever
// reason, comes from who offers the job.

// token is a grant as it travels in a request.
type token struct {
	Home      grid.PeerID `json:"home"`
	User      string      `json:"user"`
	Content   []byte      `json:"content"`
	Until     grid.Tick   `json:"until"`
	Signature []byte      `json:"signature"`
}

func tokenOf(g grid.Grant, user grid.User) string {
	text, _ := json.Marshal(token{user.Home, user.Name, g.Content[:], g.Until, g.Signature}) // texts and a number alone
	return base64.RawURLEncoding.EncodeToString(text)
}

// granted reads a token and checks it; the error says why nothing is lent for it.
func (s *Stager) granted(text string) (user grid.User, content grid.Hash, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return user, content, fmt.Errorf("%w: a grant: %w", grid.ErrInvalid, err)
	}
	var t token
	if err := json.Unmarshal(raw, &t); err != nil {
		return user, content, fmt.Errorf("%w: a grant: %w", grid.ErrInvalid, err)
	}
	if len(t.Content) != len(content) {
		return user, content, fmt.Errorf("%w: a grant for a content of %d bytes", grid.ErrInvalid, len(t.Content))
	}
	user = grid.User{Home: t.Home, Name: t.User}
	g := grid.Grant{Holder: s.cfg.Self, Until: t.Until, Content: grid.Hash(t.Content)}
	switch {
	case s.cfg.Verify == nil || !s.cfg.Verify(t.Home, g.Text(user), t.Signature):
		return user, content, fmt.Errorf("%w: the grant is not signed by the user's home for this site", grid.ErrForbidden)
	case grid.InstantOf(time.Now()) > t.Until:
		return user, content, fmt.Errorf("%w: the grant has run out", grid.ErrForbidden)
	}
	return user, g.Content, nil
}

// lend answers a request for something of the cache.
func (v *server) lend(q request, buf []byte, pace *pacer) error {
	f, err := v.s.openLent(q)
	if err != nil {
		return pace.write(refusal(err))
	}
	defer f.Close()
	return v.send(f, q, q.length, buf, pace)
}

func (s *Stager) openLent(q request) (*os.File, error) {
	if q.kind != kindRead {
		return nil, fmt.Errorf("%w: what is lent is read alone", grid.ErrInvalid)
	}
	user, content, err := s.granted(q.path)
	if err != nil {
		return nil, err
	}
	name := contentName(user, content)
	s.cache.mu.Lock()
	e := s.cache.entries[name]
	if e != nil {
		s.touch(name, e)
	}
	s.cache.mu.Unlock()
	if e == nil {
		return nil, fmt.Errorf("%w: it is not in the cache here any more", grid.ErrNotFound)
	}
	if q.offset+q.length > e.size {
		return nil, fmt.Errorf("%w: it has %d bytes", grid.ErrInvalid, e.size)
	}
	f, info, err := openRegular(s.root, path.Join(cacheDir, name))
	if err != nil {
		return nil, kindOf(fmt.Errorf("open what is lent: %w", err))
	}
	if info.Size() != e.size {
		f.Close()
		return nil, fmt.Errorf("%w: it has %d bytes here instead of %d", grid.ErrNotFound, info.Size(), e.size)
	}
	return f, nil
}

// Borrow pulls the inputs of a job for which there are grants from who has them. What it does not get [Stager.Fetch] brings.
func (s *Stager) Borrow(ctx context.Context, job grid.JobID, m grid.Manifest, user grid.User, grants []grid.Grant) {
	if len(grants) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, patience(m))
	defer cancel()
	if err := s.borrow(ctx, job, m, user, grants); err != nil {
		s.log.Info("not all could be borrowed: it is fetched from who offers the job", zap.String("job", string(job)), zap.Error(err))
	}
}

// patience is how long files are waited for that who offers the job has too: for 10 MB in a second, and never longer than a
// candidate may take. What came until then is kept.
func patience(m grid.Manifest) time.Duration {
	bytes := int64(0)
	for _, f := range m {
		bytes += f.Size
	}
	return min(30*time.Second+time.Duration(bytes/10e6)*time.Second, 5*time.Minute)
}

func (s *Stager) borrow(ctx context.Context, job grid.JobID, m grid.Manifest, user grid.User, grants []grid.Grant) error {
	if err := checkManifest(m, s.cfg.MaxBytes); err != nil {
		return err
	}
	ctx, root, end, err := s.beginIn(ctx, job)
	if err != nil {
		return err
	}
	defer end()
	if done, err := arrange(root, Inputs, m); err != nil || done {
		return err
	}
	came, err := s.aloneWith(ctx, user, m)
	if err != nil {
		return err
	}
	defer came()
	if err := s.recall(root, job, user, m); err != nil {
		return err
	}
	b := &borrower{s: s, root: root, job: job, user: user, deaf: map[grid.PeerID]bool{}}
	var failed error
	for _, f := range m {
		failed = errors.Join(failed, b.file(ctx, f, grants))
	}
	s.log.Info("borrowed from where it was made", zap.String("job", string(job)), zap.Int64("bytes", b.bytes))
	return failed
}

// borrower is one Borrow under way.
type borrower struct {
	s     *Stager
	root  *os.Root
	job   grid.JobID
	user  grid.User
	deaf  map[grid.PeerID]bool // who does not answer is not asked again
	bytes int64
}

// file pulls one from the first that gives it.
func (b *borrower) file(ctx context.Context, f grid.File, grants []grid.Grant) (failed error) {
	of := Content(f)
	for _, g := range grants {
		if g.Content != of || g.Holder == b.s.cfg.Self || b.deaf[g.Holder] {
			continue
		}
		err := b.pull(ctx, f, g)
		if err == nil {
			return nil
		}
		b.deaf[g.Holder] = !errors.Is(err, grid.ErrNotFound)
		failed = errors.Join(failed, fmt.Errorf("%q from %s: %w", f.Path, g.Holder, err))
	}
	return failed
}

// pull brings one file, unless it is here; what came of it before it broke counts for Fetch.
func (b *borrower) pull(ctx context.Context, f grid.File, g grid.Grant) error {
	text := tokenOf(g, b.user)
	if len(text) > grid.MaxPath {
		return fmt.Errorf("%w: a grant of %d bytes", grid.ErrInvalid, len(text))
	}
	p := &pull{s: b.s, root: b.root, from: g.Holder, job: b.job, set: Inputs, token: text}
	defer p.close()
	if err := p.survey(ctx, grid.Manifest{f}); err != nil {
		return err
	}
	var err error
	if p.space, err = b.s.claim(p.missing); err != nil {
		return err
	}
	defer p.space.release()
	b.bytes += p.missing
	return p.whole(ctx)
}
