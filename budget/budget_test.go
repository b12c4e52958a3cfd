package budget

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"gbroker/grid"
)

// ledger is the twin: all that ever happened, summed up anew each time.
type ledger struct {
	granted map[string]grid.Amount
	spent   map[string]grid.Amount
	holds   map[string]map[grid.JobID]grid.BudgetHold
}

func (l *ledger) held(user string) (sum grid.Amount) {
	for _, h := range l.holds[user] {
		if !h.Back {
			sum += h.Amount
		}
	}
	return sum
}

// Whatever happens, in whatever order, and however often the book is made anew from what was last saved: granted is free, held
// and spent; nothing is held beyond what is granted; each hold is charged once, for no more than it was.
func TestBudgetsAreExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		book := New(nil)
		disk := map[string]grid.Budget{}
		twin := ledger{map[string]grid.Amount{}, map[string]grid.Amount{}, map[string]map[grid.JobID]grid.BudgetHold{}}
		saved := func() {
			changed, gone := book.Changed()
			for _, is := range changed {
				disk[is.User] = is
			}
			for _, user := range gone {
				delete(disk, user)
			}
		}
		user := func() string { return rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "user") }
		job := func() grid.JobID { return grid.JobID(fmt.Sprint("j", rapid.IntRange(0, 3).Draw(t, "job"))) }
		hours := func(what string) grid.Tick { return grid.Tick(rapid.IntRange(0, 4).Draw(t, what)) * grid.Hour / 2 }
		t.Repeat(map[string]func(*rapid.T){
			"grant": func(t *rapid.T) {
				for _, u := range []string{"ann", "bob"} {
					if n := rapid.IntRange(-1, 30).Draw(t, "units"); n < 0 {
						delete(twin.granted, u) // what was spent and is held is remembered
					} else {
						twin.granted[u] = grid.Amount(n) * 1e6
					}
				}
				book.Grant(twin.granted)
				saved()
			},
			"hold": func(t *rapid.T) {
				u, j, rate, cores, span := user(), job(), float64(rapid.IntRange(0, 4).Draw(t, "rate"))/2, rapid.IntRange(1, 4).Draw(t, "cores"), hours("limit")
				why := book.Hold(u, j, rate, cores, span)
				saved()
				granted, has := twin.granted[u]
				cost := grid.Amount(rate * float64(cores) * span.Seconds() / 3600 * 1e6)
				free := granted - twin.spent[u] - twin.held(u)
				if before := twin.holds[u][j]; !before.Back {
					free += before.Amount
				}
				if refused := has && cost > max(free, 0); refused != (why != nil) {
					t.Fatalf("%s holds %v of %v: %v", u, cost, free, why)
				}
				if !has || why != nil {
					return
				}
				if twin.holds[u] == nil {
					twin.holds[u] = map[grid.JobID]grid.BudgetHold{}
				}
				if delete(twin.holds[u], j); cost > 0 {
					twin.holds[u][j] = grid.BudgetHold{Job: j, Amount: cost, Rate: rate, Cores: cores}
				}
			},
			"settle": func(t *rapid.T) {
				u, j, ran := user(), job(), hours("ran")
				book.Settle(u, j, ran)
				saved()
				if h, is := twin.holds[u][j]; is {
					twin.spent[u] += min(h.Amount, grid.Amount(h.Rate*float64(h.Cores)*ran.Seconds()/3600*1e6))
					delete(twin.holds[u], j)
				}
			},
			"lost": func(*rapid.T) {
				u, j := user(), job()
				book.GiveBack(u, j)
				saved()
				if h, is := twin.holds[u][j]; is {
					h.Back = true
					twin.holds[u][j] = h
				}
			},
			"crash": func(*rapid.T) {
				var list []grid.Budget
				for _, is := range disk {
					list = append(list, is)
				}
				book = New(list)
			},
			"": func(t *rapid.T) {
				if err := book.Check(); err != nil {
					t.Fatal(err)
				}
				for _, u := range []string{"ann", "bob"} {
					is, known := book.Get(u)
					granted, has := twin.granted[u]
					if book.Limited(u) != has || known != (has || twin.spent[u] > 0 || len(twin.holds[u]) > 0) {
						t.Fatalf("%s: limited %v, known %v", u, book.Limited(u), known)
					}
					if is.Granted != granted || is.Spent != twin.spent[u] || is.Held() != twin.held(u) || is.Free() != granted-twin.spent[u]-twin.held(u) {
						t.Fatalf("%+v, not %v granted, %v spent, %v held", is, granted, twin.spent[u], twin.held(u))
					}
				}
			},
		})
	})
}

// A lost job for which something is held again takes no room from others: what was given back makes room as before.
func TestFoundAgainMakesRoom(t *testing.T) {
	t.Parallel()
	book := New(nil)
	book.Grant(map[string]grid.Amount{"ann": 1e12})
	hold := func(n int) {
		if no := book.Hold("ann", grid.JobID(fmt.Sprint(n)), 1, 1, grid.Hour); no != nil {
			t.Fatalf("for job %d: %v", n, no)
		}
	}
	for n := range maxHolds {
		hold(n)
		book.GiveBack("ann", grid.JobID(fmt.Sprint(n)))
	}
	hold(0)
	hold(maxHolds)
	if is, _ := book.Get("ann"); len(is.Holds) != maxHolds || is.Holds[0].Job != "2" || is.Held() != 2e6 {
		t.Errorf("%d, the first for %s, %v held", len(is.Holds), is.Holds[0].Job, is.Held())
	}
}

// Of jobs that are lost no more is remembered than fits: the oldest make room.
func TestLostJobsMakeRoom(t *testing.T) {
	t.Parallel()
	book := New(nil)
	book.Grant(map[string]grid.Amount{"ann": 1e12})
	for n := range maxHolds + 2 {
		id := grid.JobID(fmt.Sprint(n))
		if no := book.Hold("ann", id, 1, 1, grid.Hour); no != nil {
			t.Fatal(no)
		}
		book.GiveBack("ann", id)
	}
	is, _ := book.Get("ann")
	if len(is.Holds) != maxHolds || is.Holds[0].Job != "2" || is.Held() != 0 {
		t.Errorf("%d, the first for %s, %v held", len(is.Holds), is.Holds[0].Job, is.Held())
	}
}
