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
	liens   map[string]map[grid.JobID]grid.Lien
}

func (l *ledger) inLiens(user string) (sum grid.Amount) {
	for _, l := range l.liens[user] {
		if !l.Back {
			sum += l.Amount
		}
	}
	return sum
}

// Whatever happens, in whatever order, and however often the book is made anew from what was last saved: granted is free, in liens
// and spent; no lien goes beyond what is granted; each is charged once, for no more than it was.
func TestBudgetsAreExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		book := New(nil)
		disk := map[string]grid.Budget{}
		twin := ledger{map[string]grid.Amount{}, map[string]grid.Amount{}, map[string]map[grid.JobID]grid.Lien{}}
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
						delete(twin.granted, u) // what was spent and is in liens is remembered
					} else {
						twin.granted[u] = grid.Amount(n) * 1e6
					}
				}
				book.Grant(twin.granted)
				saved()
			},
			"lien": func(t *rapid.T) {
				u, j, rate, cores, span := user(), job(), float64(rapid.IntRange(0, 4).Draw(t, "rate"))/2, rapid.IntRange(1, 4).Draw(t, "cores"), hours("limit")
				why := book.PlaceLien(u, j, rate, cores, span)
				saved()
				granted, has := twin.granted[u]
				cost := grid.Amount(rate * float64(cores) * span.Seconds() / 3600 * 1e6)
				free := granted - twin.spent[u] - twin.inLiens(u)
				if before := twin.liens[u][j]; !before.Back {
					free += before.Amount
				}
				if refused := has && cost > max(free, 0); refused != (why != nil) {
					t.Fatalf("%s has a lien of %v placed on %v: %v", u, cost, free, why)
				}
				if !has || why != nil {
					return
				}
				if twin.liens[u] == nil {
					twin.liens[u] = map[grid.JobID]grid.Lien{}
				}
				if delete(twin.liens[u], j); cost > 0 {
					twin.liens[u][j] = grid.Lien{Job: j, Amount: cost, Rate: rate, Cores: cores}
				}
			},
			"settle": func(t *rapid.T) {
				u, j, ran := user(), job(), hours("ran")
				book.Settle(u, j, ran)
				saved()
				if l, is := twin.liens[u][j]; is {
					twin.spent[u] += min(l.Amount, grid.Amount(l.Rate*float64(l.Cores)*ran.Seconds()/3600*1e6))
					delete(twin.liens[u], j)
				}
			},
			"lost": func(*rapid.T) {
				u, j := user(), job()
				book.GiveBack(u, j)
				saved()
				if l, is := twin.liens[u][j]; is {
					l.Back = true
					twin.liens[u][j] = l
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
					if book.Limited(u) != has || known != (has || twin.spent[u] > 0 || len(twin.liens[u]) > 0) {
						t.Fatalf("%s: limited %v, known %v", u, book.Limited(u), known)
					}
					if is.Granted != granted || is.Spent != twin.spent[u] || is.InLiens() != twin.inLiens(u) || is.Free() != granted-twin.spent[u]-twin.inLiens(u) {
						t.Fatalf("%+v, not %v granted, %v spent, %v in liens", is, granted, twin.spent[u], twin.inLiens(u))
					}
				}
			},
		})
	})
}

// A lost job that has a lien again takes no room from others: what was given back makes room as before.
func TestFoundAgainMakesRoom(t *testing.T) {
	t.Parallel()
	book := New(nil)
	book.Grant(map[string]grid.Amount{"ann": 1e12})
	lien := func(n int) {
		if no := book.PlaceLien("ann", grid.JobID(fmt.Sprint(n)), 1, 1, grid.Hour); no != nil {
			t.Fatalf("for job %d: %v", n, no)
		}
	}
	for n := range maxLiens {
		lien(n)
		book.GiveBack("ann", grid.JobID(fmt.Sprint(n)))
	}
	lien(0)
	lien(maxLiens)
	if is, _ := book.Get("ann"); len(is.Liens) != maxLiens || is.Liens[0].Job != "2" || is.InLiens() != 2e6 {
		t.Errorf("%d, the first for %s, %v in liens", len(is.Liens), is.Liens[0].Job, is.InLiens())
	}
}

// Of jobs that are lost no more is remembered than fits: the oldest make room.
func TestLostJobsMakeRoom(t *testing.T) {
	t.Parallel()
	book := New(nil)
	book.Grant(map[string]grid.Amount{"ann": 1e12})
	for n := range maxLiens + 2 {
		id := grid.JobID(fmt.Sprint(n))
		if no := book.PlaceLien("ann", id, 1, 1, grid.Hour); no != nil {
			t.Fatal(no)
		}
		book.GiveBack("ann", id)
	}
	is, _ := book.Get("ann")
	if len(is.Liens) != maxLiens || is.Liens[0].Job != "2" || is.InLiens() != 0 {
		t.Errorf("%d, the first for %s, %v in liens", len(is.Liens), is.Liens[0].Job, is.InLiens())
	}
}
