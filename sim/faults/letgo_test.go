package faults

import (
	"testing"
)

// The end of a start was told, and its site let go of it; both have lost that since. Only so much is nobody's fault.
func TestAnEndThatBothHaveLetGo(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		but      func(x *scene)
		violated bool
	}{
		"as it is": {func(*scene) {}, false},
		"the file beside the home's journal is there": {func(x *scene) { x.a.lapses[0].words = false }, true},
		"the home has lost what came after that":      {func(x *scene) { x.a.lapses[0].since = at(420) }, true},
		"the home is put back after this start":       {func(x *scene) { x.a.lapses[0].at = at(950) }, true},
		"its site has not lost it":                    {func(x *scene) { x.b.lapses = nil }, true},
		"its site has lost what came after the end":   {func(x *scene) { x.b.lapses[0].since = at(350) }, true},
		"its site has all that it had of it":          {func(x *scene) { delete(x.f.erased, x.b) }, true},
		"its site dropped it before it was told":      {func(x *scene) { x.f.erased[x.b] = at(390) }, true},
		"no end was told":                             {func(x *scene) { x.f.toldAt = 0 }, true},
		"it has not ended":                            {func(x *scene) { x.f.starts[0].ended = 0 }, true},
		"may run once, and its home knows that it began": {func(x *scene) {
			x.f.rerun = false
		}, true},
		"may run once, and both have lost that it began": {func(x *scene) {
			x.f.rerun, x.a.lapses[0].since, x.b.lapses[0].since = false, at(90), at(90)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newScene(t)
			first := began(100, x.b, 1)
			first.ended = at(300)
			x.f.rerun, x.f.toldAt, x.f.starts = true, at(400), []start{first}
			x.f.erased[x.b] = at(410)
			x.a.lapses = []lapse{{since: at(200), at: at(500), files: true, words: true}}
			x.b.lapses = []lapse{{since: at(150), at: at(600)}}
			k.but(x)
			x.f.mayStart(x.w, began(900, x.c, 1))
			if v := x.w.result.Violation; (v != nil) != k.violated {
				t.Errorf("the violation is %+v", v)
			}
		})
	}
}
