package servers

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// S3 is a server of one bucket, in memory. Who does not sign by its keys is refused.
type S3 struct {
	Objects              *s3mem.Backend
	Bucket               string
	Endpoint             string
	AccessKey, SecretKey string
	Region               string
	Got                  *atomic.Int64 // times that an object was sent, or a range of one
}

// StartS3 runs one.
func StartS3(t testing.TB) S3 {
	t.Helper()
	s := S3{Objects: s3mem.New(), Bucket: "bucket", AccessKey: "key", SecretKey: "secret-" + word(t), Region: "us-east-1", Got: new(atomic.Int64)}
	must(t, s.Objects.CreateBucket(s.Bucket))
	inner := gofakes3.New(s.Objects).Server()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.signed(r) {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, "<Error><Code>SignatureDoesNotMatch</Code><Message>who are you</Message></Error>")
			return
		}
		if r.Method == http.MethodGet && strings.Count(strings.Trim(r.URL.Path, "/"), "/") > 0 {
			s.Got.Add(1)
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s.Endpoint = server.URL
	return s
}

// signed checks a signature of the fourth version, in a header:
//
//	Authorization: AWS4-HMAC-SHA256 Credential=KEY/DAY/REGION/s3/aws4_request, SignedHeaders=A;B, Signature=HEX
func (s S3) signed(r *http.Request) bool {
	fields := map[string]string{}
	rest, ok := strings.CutPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ")
	for part := range strings.SplitSeq(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		fields[name] = value
	}
	scope, mine := strings.CutPrefix(fields["Credential"], s.AccessKey+"/")
	if !ok || !mine {
		return false
	}
	names := strings.Split(fields["SignedHeaders"], ";")
	var headers strings.Builder
	for _, n := range names {
		value := strings.Join(r.Header.Values(n), ",")
		switch n {
		case "host":
			value = r.Host
		case "content-length":
			value = fmt.Sprint(r.ContentLength)
		}
		headers.WriteString(n + ":" + strings.TrimSpace(value) + "\n")
	}
	request := strings.Join([]string{r.Method, r.URL.EscapedPath(), canonical(r.URL.Query()), headers.String(), fields["SignedHeaders"], r.Header.Get("X-Amz-Content-Sha256")}, "\n")
	sum := sha256.Sum256([]byte(request))
	text := strings.Join([]string{"AWS4-HMAC-SHA256", r.Header.Get("X-Amz-Date"), scope, hex.EncodeToString(sum[:])}, "\n")
	key := []byte("AWS4" + s.SecretKey)
	for _, part := range append(strings.Split(scope, "/"), text) {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(part))
		key = h.Sum(nil)
	}
	return hmac.Equal([]byte(hex.EncodeToString(key)), []byte(fields["Signature"]))
}

// canonical is a query as it is signed: sorted, with blanks as %20.
func canonical(q url.Values) string {
	for _, values := range q {
		slices.Sort(values)
	}
	return strings.ReplaceAll(q.Encode(), "+", "%20")
}
