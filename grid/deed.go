package grid

// Deed is an owner's signed word that it gave a job away. The first deed of a chain
// is signed by the job's home, each later one by the To of the one before; epochs
// ascend, all within one term. So a chain proves to anybody who knows the home's
// peer ID that the To of its last deed owns the job. What is signed is wire.DeedText.
type Deed struct {
	Epoch     Epoch // at which To owns
	To        PeerID
	Signature []byte
}

// Limits of a chain of deeds. A job whose chain is full is handed to its home
// alone, where a new chain begins.
const (
	MaxDeeds     = 64
	MaxSignature = 128 // bytes
)
