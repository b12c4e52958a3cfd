package core

// fingerprint tells apart what a batch system holds from one look to the next: FNV-1a, by words.
type fingerprint uint64

func newFingerprint() fingerprint { return 14695981039346656037 }

func (h *fingerprint) number(n int) { *h = (*h ^ fingerprint(n)) * 1099511628211 }

func (h *fingerprint) text(s string) {
	for i := range len(s) {
		h.number(int(s[i]))
	}
	h.number(-1) // its end
}

func (h *fingerprint) truth(b bool) {
	if b {
		h.number(1)
		return
	}
	h.number(0)
}
