package api

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// who connects in these tests: by uid, and as their name is.
const (
	aUser  = 900001
	aChief = 900002
	aHook  = 900003
)

// nobodyServes are services of which every call panics: it was reached.
type nobodyServes struct {
	UserService
	AdminService
	HookService
}

func doorServer(t *testing.T) *Server {
	t.Helper()
	var n nobodyServes
	s, err := New(Config{
		Users: n, Admin: n, Hook: n, SocketPath: filepath.Join(t.TempDir(), "s"),
		Administrators: []string{fmt.Sprint("u", aChief)}, Hooks: []string{fmt.Sprint("u", aHook)},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.names = &names{lookup: func(uid string) (*user.User, error) { return &user.User{Username: "u" + uid}, nil }, now: time.Now, known: map[uint32]knownName{}}
	return s
}

// reaches tells whether a request of somebody gets to a service, or is let in without one.
func reaches(s *Server, from caller, pattern string) (reached bool, code int) {
	defer func() {
		if recover() != nil {
			reached = true
		}
	}()
	method, path, _ := strings.Cut(pattern, " ")
	path = strings.NewReplacer("{id}", "a.00000000000000000000000001", "{name}", "b", "{path...}", "f").Replace(path)
	r := httptest.NewRequest(method, path, strings.NewReader(`{"as":"dead","site":"b"}`))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, from)))
	return w.Code != http.StatusForbidden && w.Code != http.StatusUnauthorized, w.Code
}

// What one may not do is not reachable: no route of administrators or of the hook gets a user to a service.
func TestTables(t *testing.T) {
	t.Parallel()
	s := doorServer(t)
	for name, k := range map[string]struct {
		table table
		by    map[uint32]bool
	}{
		"users":          {s.userTable(), map[uint32]bool{0: true, aUser: true, aChief: true, aHook: true}},
		"administrators": {administration{Server: s}.table(), map[uint32]bool{0: true, aUser: false, aChief: true, aHook: false}},
		"hook":           {hook{Server: s}.table(), map[uint32]bool{0: true, aUser: false, aChief: true, aHook: true}},
	} {
		if len(k.table) == 0 {
			t.Errorf("%s: no routes", name)
		}
		for pattern := range k.table {
			for uid, want := range k.by {
				if got, code := reaches(s, caller{uid: uid}, pattern); got != want {
					t.Errorf("%s of %s by uid %d: %v (%d)", pattern, name, uid, got, code)
				}
			}
			if got, code := reaches(s, caller{tcp: true}, pattern); got {
				t.Errorf("%s over TCP without a proof: %d", pattern, code)
			}
		}
	}
}
