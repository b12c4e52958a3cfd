package grid

// Certificate is an owner's signed word that it gave a job away. The first certificate of a chain
// is signed by the job's home, each later one by the To of the one before; epochs
// ascend, all within one term. So a chain proves to anybody who knows the home's
// peer ID that the To of its last certificate owns the job. What is signed is wire.CertificateText.
type Certificate struct {
	Epoch     Epoch // at which To owns
	To        PeerID
	Signature []byte
}

// Limits of a chain of certificates. A job whose chain is full is handed to its home
// alone, where a new chain begins.
const (
	MaxCertificates = 64
	MaxSignature    = 128 // bytes
)
